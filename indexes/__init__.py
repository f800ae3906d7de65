"""Storage and first-stage retrieval. Knows nothing of settings, layers or agents: everything comes as arguments."""
