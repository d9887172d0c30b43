"""What an attacker tries, counted; `make test-security` prints a line for each class."""
