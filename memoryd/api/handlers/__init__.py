"""One module per family of methods."""
