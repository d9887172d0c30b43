"""Calls to the daemon: where it listens, what it answers, what can go wrong."""
