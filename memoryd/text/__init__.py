"""Pure language: masking, invisible characters, prose, dates, terms."""
