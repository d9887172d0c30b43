"""The socket: connections, subscriptions, and one match over every request."""
