"""Consolidation: gates, a working copy, review, apply, undo."""
