"""A list of memories in JSON, of which only what is new is encoded.

Somebody who lists memories often does so again. Most of them are then the same objects, as a scan
gives them, and what is said of one holds until it is a day older. So the text is held until the
daemon forgets (`base/remembered`), and used as it is or in parts.
"""

from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

import msgspec

from memoryd.base.remembered import Slot
from memoryd.base.timestamps import SECONDS_A_DAY
from memoryd.memories.records import Listed

_encode: Final = msgspec.json.Encoder().encode


class _Encoded(NamedTuple):
    """What was said of these memories at a moment; each part takes so many bytes, and a comma."""

    found: list[Listed]
    at: float
    until: float
    text: bytes
    sizes: "array[int]"

    def known(self, now: float) -> dict[int, bytes]:
        """The parts that are still true, by the ids of their memories, which are held here."""
        return {
            id(one): self.text[begin : end - 1]
            for one, (begin, end) in zip(self.found, self._places(), strict=True)
            if _is_as_old(one.modified, self.at, now)
        }

    def _places(self) -> Iterator[tuple[int, int]]:
        return pairwise(accumulate(self.sizes, initial=1))


class EncodedList:
    """`header` says what a list shows of a memory at a moment. Safe from any thread."""

    def __init__(self, header: Callable[[Listed, float], msgspec.Struct]) -> None:
        self._header = header
        self._last = Slot[_Encoded]()

    def encoded(self, found: list[Listed], now: float) -> bytes:
        """An array of their headers."""
        last = self._last.value
        if last is not None and last.at <= now < last.until and last.found == found:
            return last.text
        parts = self._parts(found, now, last)
        text = b"[%b]" % b",".join(parts)
        sizes = array("I", [len(part) + 1 for part in parts])
        # Until the first of them is a day older; at once if one is about to be.
        until = now + min(((one.modified - now) % SECONDS_A_DAY for one in found), default=0.0)
        self._last.value = _Encoded(list(found), now, until, text, sizes)
        return text

    def _parts(self, found: Sequence[Listed], now: float, last: _Encoded | None) -> list[bytes]:
        known = dict[int, bytes]() if last is None else last.known(now)
        return [known.get(id(one)) or _encode(self._header(one, now)) for one in found]


def _is_as_old(modified: float, then: float, now: float) -> bool:
    """Whether its age is told alike at both times: in full days, and whether it is over one."""
    return (then - modified) // SECONDS_A_DAY == (now - modified) // SECONDS_A_DAY and (
        modified - then
    ) // SECONDS_A_DAY == (modified - now) // SECONDS_A_DAY
