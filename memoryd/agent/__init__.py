"""The agent that works for us in a cage: its loop, and the six tools it has."""
