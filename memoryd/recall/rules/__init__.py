"""Index, scores and rendering, decided without IO."""
