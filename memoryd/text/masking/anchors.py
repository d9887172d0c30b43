"""Which of many short words are in a text, told in one pass for all of them.

Secrets are found at anchors, and most texts hold only a few of the hundreds that there are. The
answer is exact: a word is in it if and only if it is in the text.

1. Each word has a piece, three of its characters in a row: one that other words share, or a rare
   one.
2. The pieces are in sixteen groups. Tables say for each character, one bit for each group, whether
   a piece of the group has it as its first, its second or its third. Where the three agree in a
   bit a piece may begin. The text is one large number there, so that few steps of the interpreter
   compare all its places.
3. At the places that are left the words of the piece are compared.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from math import prod
from re import Match, Pattern
from typing import Final

_PIECE: Final = 3
_GROUPS: Final = 16
_GROUPS_IN_A_TABLE: Final = 8
# How many of a thousand characters are this one; each other sign is rarer.
_PER_MILLE: Final = dict(
    zip(
        " etaoinsrhldcumfpgwybvk",
        (
            180,
            103,
            75,
            65,
            62,
            57,
            57,
            53,
            50,
            50,
            34,
            33,
            22,
            22,
            20,
            20,
            16,
            16,
            15,
            15,
            14,
            12,
            8,
        ),
        strict=True,
    )
)
_RARE_PER_MILLE: Final = 5
# So many places of a million are searched in vain rather than that there is another piece.
_PIECE_PER_MILLION: Final = 30
_MARKED: Final = bytes(min(1, at) for at in range(256))


class Anchors:
    """A fixed set of anchors."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words: Final = frozenset(words)
        given = sorted(self.words)
        self._foreign = tuple(word for word in given if not word.isascii())
        self._short = tuple(word for word in given if word.isascii() and len(word) < _PIECE)
        held = _by_piece([word for word in given if word.isascii() and len(word) >= _PIECE])
        self._tables = _tables(held)
        self._words = {
            piece: tuple((word, word.index(piece)) for word in words)
            for piece, words in held.items()
        }

    def present_in(self, text: str) -> frozenset[str]:
        """The anchors that a text holds, upper and lower case as they are."""
        found = {word for word in self._short if word in text}
        if not text.isascii():
            found.update([word for word in self._foreign if word in text])
        if places := self._places(text):
            self._compare(text, places, found)
        return frozenset(found)

    def _places(self, text: str) -> int:
        """A number of which each byte is a place of the text: not 0 where a piece may begin."""
        # A byte for each character, so that a place in it is a place in the text.
        data = text.encode("ascii", "replace")
        following, last = data[1:], data[2:]
        places = 0
        for firsts, seconds, thirds in self._tables:
            places |= (
                int.from_bytes(data.translate(firsts), "little")
                & int.from_bytes(following.translate(seconds), "little")
                & int.from_bytes(last.translate(thirds), "little")
            )
        return places

    def _compare(self, text: str, places: int, found: set[str]) -> None:
        """Adds the words that are at the places."""
        words = self._words
        marks = places.to_bytes(len(text), "little").translate(_MARKED)
        at = marks.find(1)
        while at >= 0:
            piece = text[at : at + _PIECE]
            if piece in words:
                for word, before in words[piece]:
                    if word not in found and at >= before and text.startswith(word, at - before):
                        found.add(word)
            at = marks.find(1, at + 1)


def matches_at(words: Iterable[str], pattern: Pattern[str], text: str) -> Iterator[Match[str]]:
    """What `finditer` finds with a pattern of which every match begins with one of the words."""
    done = 0
    for match in sorted(_all_matches_at(words, pattern, text), key=Match.start):
        if match.start() >= done:
            done = match.end()
            yield match


def _all_matches_at(words: Iterable[str], pattern: Pattern[str], text: str) -> Iterator[Match[str]]:
    for word in words:
        at = text.find(word)
        while at >= 0:
            if match := pattern.match(text, at):
                yield match
            at = text.find(word, at + 1)


def _by_piece(words: list[str]) -> dict[str, list[str]]:
    """The words at the pieces by which they are found."""
    shared = Counter(piece for word in words for piece in set(_pieces_of(word)))
    cost = {piece: (_per_million(piece) + _PIECE_PER_MILLION) / shared[piece] for piece in shared}
    held: dict[str, list[str]] = {}
    for word in sorted(words, key=len):
        pieces = _pieces_of(word)
        known = [piece for piece in pieces if piece in held]
        held.setdefault(min(known or pieces, key=cost.__getitem__), []).append(word)
    return held


def _pieces_of(word: str) -> list[str]:
    return [word[at : at + _PIECE] for at in range(len(word) - _PIECE + 1)]


def _per_million(piece: str) -> float:
    return prod(map(_per_mille, piece)) / 1000


def _per_mille(letter: str) -> int:
    return _PER_MILLE.get(letter, _RARE_PER_MILLE)


def _tables(pieces: Iterable[str]) -> list[tuple[bytes, bytes, bytes]]:
    """In which groups each character is, as the first, second and third; a bit for each group."""
    groups = [_Group() for _ in range(_GROUPS)]
    for piece in sorted(pieces, key=_per_million, reverse=True):
        min(groups, key=lambda group: group.growth(piece)).add(piece)
    return [
        _tables_of(groups[at : at + _GROUPS_IN_A_TABLE])
        for at in range(0, _GROUPS, _GROUPS_IN_A_TABLE)
    ]


class _Group:
    """Pieces; `letters` are their first, second and third characters, `shares` how common."""

    def __init__(self) -> None:
        self.letters: tuple[set[str], set[str], set[str]] = (set(), set(), set())
        self._shares = [0] * _PIECE

    def growth(self, piece: str) -> int:
        """At how many more of a thousand million places one may begin with this piece."""
        return prod(self._with(piece)) - prod(self._shares)

    def add(self, piece: str) -> None:
        self._shares = self._with(piece)
        for letters, letter in zip(self.letters, piece, strict=True):
            letters.add(letter)

    def _with(self, piece: str) -> list[int]:
        return [
            share if letter in letters else share + _per_mille(letter)
            for share, letters, letter in zip(self._shares, self.letters, piece, strict=True)
        ]


def _tables_of(groups: list[_Group]) -> tuple[bytes, bytes, bytes]:
    first, second, third = (bytearray(256) for _ in range(_PIECE))
    for number, group in enumerate(groups):
        for table, letters in zip((first, second, third), group.letters, strict=True):
            for letter in letters:
                table[ord(letter)] |= 1 << number
    return bytes(first), bytes(second), bytes(third)
