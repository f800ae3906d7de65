"""Readers of what people and agents wrote: files in, drafts of memories out."""
