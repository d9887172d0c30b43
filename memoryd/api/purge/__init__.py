"""Removes a memory from everywhere and proves it."""
