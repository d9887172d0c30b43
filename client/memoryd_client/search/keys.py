"""Bytes of a terminal as keys. Pure: what is not whole yet waits for more bytes."""

from typing import Final, NamedTuple

NAMES: Final = {
    b"\r": "enter",
    b"\n": "enter",
    b"\x7f": "backspace",
    b"\x08": "backspace",
    b"\x03": "cancel",
    b"\x07": "cancel",
    b"\x15": "clear",
    b"\x17": "word-back",
    b"\x10": "up",
    b"\x0e": "down",
    b"\x0b": "up",
    b"\x05": "edit",
    b"\x1b[A": "up",
    b"\x1bOA": "up",
    b"\x1b[B": "down",
    b"\x1bOB": "down",
    b"\x1b[5~": "page-up",
    b"\x1b[6~": "page-down",
}
ESCAPE: Final = 0x1B
LONGEST_SEQUENCE: Final = 32


class Key(NamedTuple):
    """A named key, or, if it has no name, the text that was typed."""

    name: str
    text: str = ""


class Keys:
    def __init__(self) -> None:
        self._rest = b""

    @property
    def is_waiting(self) -> bool:
        """Whether an escape sequence began; if nothing follows, it was the key Esc."""
        return bool(self._rest)

    def feed(self, data: bytes) -> list[Key]:
        self._rest += data
        found = []
        while self._rest:
            size = length_of_first(self._rest)
            if size == 0:
                break
            first, self._rest = self._rest[:size], self._rest[size:]
            key = key_of(first)
            if key is not None:
                found.append(key)
        return found

    def flush(self) -> list[Key]:
        """Nothing followed: a lone Esc cancels, half a letter is dropped."""
        rest, self._rest = self._rest, b""
        return [Key("cancel")] if rest == b"\x1b" else []


def length_of_first(data: bytes) -> int:
    """How many bytes the first key has; 0 if it is not whole."""
    first = data[0]
    if first == ESCAPE:
        return length_of_sequence(data)
    if first < 0xC0:
        return 1
    size = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    follows = data[1:size]
    whole = all(0x80 <= one < 0xC0 for one in follows)
    return (size if len(follows) == size - 1 else 0) if whole else 1


def length_of_sequence(data: bytes) -> int:
    """An escape sequence ends with a letter or ~; Alt with a key is two bytes."""
    if len(data) == 1:
        return 0
    if data[1:2] == b"O":
        return 3 if len(data) >= 3 else 0
    if data[1:2] != b"[":
        return 1 if data[1] == ESCAPE else 2
    for place in range(2, min(len(data), LONGEST_SEQUENCE)):
        if 0x40 <= data[place] <= 0x7E:
            return place + 1
    return len(data) if len(data) >= LONGEST_SEQUENCE else 0


def key_of(data: bytes) -> Key | None:
    """None for what has no meaning here."""
    if data in NAMES:
        return Key(NAMES[data])
    if data == b"\x1b":
        return Key("cancel")
    text = data.decode("utf-8", "ignore")
    return Key("", text) if text.isprintable() and text else None
