"""Topic files, headers, index and project roots as text, without IO."""
