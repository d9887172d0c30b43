"""Texts that are rarely read, a few of them packed together: they take half of their room.

A shelf serves a handful of its thousands of texts at a time. Reading one of eight takes some
twenty microseconds.
"""

import zlib
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from memoryd.base.remembered import remembered

TOGETHER: Final = 8
_REMEMBERED: Final = 64

_decoder = msgspec.msgpack.Decoder(list[str])


def packs_of(texts: Sequence[str]) -> Iterator[bytes]:
    """So many texts in each pack, in their order; ValueError if one is not Unicode."""
    for start in range(0, len(texts), TOGETHER):
        yield zlib.compress(msgspec.msgpack.encode(texts[start : start + TOGETHER]))


@remembered(_REMEMBERED)
def unpacked(pack: bytes) -> list[str]:
    """The texts of a pack; not to be changed."""
    return _decoder.decode(zlib.decompress(pack))
