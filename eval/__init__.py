"""The instrument: quality, tokens and latency of gieok on labelled sets, on a machine, on one's own memories."""
