"""Bytes to lines to entries to turns, without IO."""
