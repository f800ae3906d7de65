"""Memories out of the stores of other tools. They are only read; what they are called: `kinds`."""
