"""Follows the agent's JSONL files and cuts them into turns, each once."""
