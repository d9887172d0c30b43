"""Which sentences a person meant to be kept: rules and phrase tables."""
