"""Make gieok known to the agents that people use: registered in Claude Code, as a plugin, or as text to paste."""
