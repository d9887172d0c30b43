"""How large an answer of a model server may be, as it is sent and once it is unpacked.

A server that never ends its answer, or sends a small one that unpacks to gigabytes, must not fill
the memory. Unpacking stops at the limit; an encoding that cannot be checked is refused.
"""

import zlib
from typing import Final

BODY_LIMIT_BYTES: Final = 16 * 1024 * 1024
ACCEPTED_ENCODINGS: Final = "gzip, deflate"


class BodyTooLarge(Exception):
    """The answer is too large, or packed in a way that cannot be checked."""


class BodyMeter:
    """Counts the pieces of one body, unpacked; `take` raises BodyTooLarge at the limit."""

    def __init__(self, encoding: str, limit_bytes: int = BODY_LIMIT_BYTES) -> None:
        self._left = limit_bytes
        self._unpack = None
        match encoding.strip().lower():
            case "" | "identity":
                pass
            case "gzip" | "deflate":
                self._unpack = zlib.decompressobj(zlib.MAX_WBITS | 32)
            case _:
                raise BodyTooLarge("the answer is packed in an unknown way")

    def take(self, piece: bytes) -> None:
        size = len(piece) if self._unpack is None else self._unpacked_size(piece)
        self._left -= size
        if self._left < 0:
            raise BodyTooLarge("the answer is too large")

    def _unpacked_size(self, piece: bytes) -> int:
        if self._unpack is None or self._unpack.eof:
            return len(piece)
        try:
            return len(self._unpack.decompress(piece, self._left + 1))
        except zlib.error:  # raw deflate, or damaged: the client says so when it unpacks it
            return 1000 * len(piece)
