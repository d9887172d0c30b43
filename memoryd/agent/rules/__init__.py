"""What a run may see, touch and spend, decided without IO."""
