"""Clients inside the real editors and shells: `make test-editors`."""
