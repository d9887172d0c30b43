"""Which few memories matter: a shelf is one searchable directory."""
