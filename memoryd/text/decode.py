"""Bytes that should be UTF-8 as text."""


def decoded(data: bytes) -> str:
    """Never fails: what is not UTF-8 becomes replacement characters."""
    return data.decode("utf-8", "replace")
