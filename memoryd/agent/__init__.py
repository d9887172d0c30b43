"""The model's loop and its caged tools: the security border."""
