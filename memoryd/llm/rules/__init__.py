"""Messages, prompts and prices, without IO."""
