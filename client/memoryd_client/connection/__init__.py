"""One call to the daemon: where it is, what it answered, what went wrong."""
