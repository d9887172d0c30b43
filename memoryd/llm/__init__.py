"""Talks to a model server: client, budget, retries, spending."""
