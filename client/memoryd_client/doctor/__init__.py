"""Finds what is wrong on this machine, and says how to fix it."""
