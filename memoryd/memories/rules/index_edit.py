"""One line of an index changed without reading the others again.

An index of 20,000 lines takes a tenth of a second to read. What it points to is therefore kept
(`IndexPointers`, valid for exactly the bytes it was made from), and a change touches only bytes.
The result is that of `index.repaired` and `index.with_pointer` for an index that matches its
folder. Where that is not certain, None says so, and the caller reads it all: an index with comments
or code, one without pointers, bytes that are not UTF-8, a link that is written in an unusual way.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from memoryd.memories.rules import index

_MAY_HIDE_LINES: Final = (b"<!--", b"```", b"~~~")


class IndexPointers:
    """How many lines point to each file, and at which byte the first of them begins."""

    def __init__(self, counts: Counter[str], first: int) -> None:
        self.counts = counts
        self.first = first


def pointers_in(data: bytes) -> IndexPointers | None:
    """What an index points to; None if its lines cannot be changed one by one."""
    if any(mark in data for mark in _MAY_HIDE_LINES):
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    lines = text.split("\n")
    files = index.pointed_files(lines)
    if not files or lines[-1] != "":
        return None
    first = len("\n".join([*lines[: min(files)], ""]).encode())
    return IndexPointers(Counter(files.values()), first)


def with_line(data: bytes, known: IndexPointers, file: str, line: str) -> bytes | None:
    """The index with this pointer: in place of the old one, or above all others."""
    added = f"{line}\n".encode()
    if known.counts[file] == 0:
        known.counts[file] = 1
        return _spliced(data, known.first, known.first, added)
    places = _lines_to(data, known, file)
    if places is None or len(places) != 1:
        return None
    start, end = places[0]
    if not index.whole_pointers([data[start : end - 1].decode()]):  # only to a part of it
        return None
    return _spliced(data, start, end, added)


def without_lines(data: bytes, known: IndexPointers, file: str) -> bytes | None:
    """The index without pointers to this file."""
    if known.counts[file] == 0:
        return data
    places = _lines_to(data, known, file)
    # The first pointer marks where new ones go: with it gone, that has to be found again.
    if places is None or any(start == known.first for start, _ in places):
        return None
    del known.counts[file]
    for start, end in reversed(places):
        data = _spliced(data, start, end, b"")
    return data


def _spliced(data: bytes, start: int, end: int, between: bytes) -> bytes:
    """Joined once: an index may have megabytes."""
    view = memoryview(data)
    return b"".join((view[:start], between, view[end:]))


def _lines_to(data: bytes, known: IndexPointers, file: str) -> list[tuple[int, int]] | None:
    """Where the lines begin and end that point to a file; None unless all of them are found."""
    found = [
        (start, end)
        for start, end in _lines_with(data, f"]({index.link_to(file)}".encode())
        if index.pointed_files([data[start : end - 1].decode()]) == {0: file}
    ]
    return found if len(found) == known.counts[file] else None


def _lines_with(data: bytes, text: bytes) -> Iterator[tuple[int, int]]:
    at = data.find(text)
    while at >= 0:
        end = data.find(b"\n", at) + 1
        yield data.rfind(b"\n", 0, at) + 1, end
        at = data.find(text, end)
