"""What decides in team memory: who wins, what may be shared, what a server is called."""
