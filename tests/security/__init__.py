"""What an attacker tries, counted: `make test-security` prints tried and violations, one line each."""
