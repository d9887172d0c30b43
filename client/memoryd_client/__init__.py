"""The client half of memoryd: talks to the daemon over its socket, standard library only."""
