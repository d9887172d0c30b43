"""What state.db holds in few bytes, read back; its checksum tells damage that SQLite cannot see."""

import zlib


def unpacked(data: bytes) -> bytes | None:
    """None if it is damaged."""
    try:
        return zlib.decompress(data)
    except zlib.error:
        return None
