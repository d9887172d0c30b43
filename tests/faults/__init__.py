"""What can break around the daemon, tried and counted: `make test-faults`."""
