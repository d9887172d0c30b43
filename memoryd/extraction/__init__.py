"""Finished turns become memories: batching, rules, model, provenance."""
