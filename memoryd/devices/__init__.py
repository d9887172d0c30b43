"""A person's own machines: the same memories on each, through a database that cannot read them."""
