"""The thin half of memoryd: asks the daemon over its socket, with the standard library alone."""

__version__ = "0.1.0"
