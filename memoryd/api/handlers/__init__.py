"""What answers a family of methods, one module each."""
