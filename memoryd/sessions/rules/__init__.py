"""Which instructions, guidance and notes a session gets, decided without IO."""
