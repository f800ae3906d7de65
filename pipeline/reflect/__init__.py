"""From diary entries to rules: what repeats across entries is proposed for the file that every session reads."""
