"""When to dream, what to merge and what not to apply, decided without IO."""
