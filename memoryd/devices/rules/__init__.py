"""What sealed rows hold, what machines and projects are called, and who wins; pure."""
