"""The protocol as data: framing, envelope, params."""
