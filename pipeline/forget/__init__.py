"""Forgetting: what the user wants gone leaves every file of the home, stays away, and is looked for afterwards."""
