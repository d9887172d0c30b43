"""Hooks, service and MCP entry: put in place, checked, removed."""
