"""Which memories fit a query, by words and by meaning."""
