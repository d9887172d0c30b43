"""The few memories that matter for a query."""
