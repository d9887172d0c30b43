"""The thin half of memoryd: asks the daemon over its socket, with the standard library alone."""
