"""What the host takes."""

MOST_CHARACTERS = 9_500
"""Claude Code takes 10,000 of context; what is longer it puts into a file and shows the agent a piece of it."""
