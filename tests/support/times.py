"""The moment that tests call now, so that no test depends on the real clock."""

NOW = 1_800_000_000.0
