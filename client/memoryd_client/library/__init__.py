"""The Python client: a method for each method of the socket, and the types of the answers."""
