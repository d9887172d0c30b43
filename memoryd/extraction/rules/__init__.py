"""What to save and whose words it is made of, decided without IO."""
