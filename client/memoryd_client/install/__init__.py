"""Installs, checks and removes the service, the hooks and the MCP server."""
