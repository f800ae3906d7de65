"""Hooks of coding agents: JSON on stdin, JSON on stdout, exit code 0, silence on stderr, and a bound on time."""
