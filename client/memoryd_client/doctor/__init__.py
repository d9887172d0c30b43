"""What is wrong on this machine, and what to type."""
