"""Secrets in text, found by shape, by name and by context."""
