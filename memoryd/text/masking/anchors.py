"""Which of many short words are in a text, told in one pass for all of them.

Secrets are found at anchors, and most texts hold only a few of the hundreds that there are. The
answer is exact: a word is in it if and only if it is in the text.

1. Each word has a piece, three of its characters in a row: one that other words share, or a rare
   one.
2. The pieces are in sixteen groups. Tables say for each character, one bit for each group, whether
   a piece of the group has it as its first, its second or its third. Where the three agree in a
   bit a piece may begin. The text is one large number there, so that few steps of the interpreter
   compare all its places.
3. At the places that are left, the words that agree with the piece and with the characters next to
   it are compared; which those are is kept for the characters that were met lately.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import accumulate
from math import prod
from re import Match, Pattern
from typing import Final

_PIECE: Final = 3
_GROUPS: Final = 16
_GROUPS_IN_A_TABLE: Final = 8
# How many of a thousand characters are each of these; of all others fewer.
_COMMON: Final = (
    *((" ", 180), ("e", 103), ("t", 75), ("a", 65), ("o", 62), ("in", 57), ("s", 53), ("rh", 50)),
    *(("ld", 34), ("cu", 22), ("mf", 20), ("pg", 16), ("wy", 15), ("b", 14), ("v", 12), ("k", 8)),
)
_PER_MILLE: Final = {letter: share for letters, share in _COMMON for letter in letters}
_RARE_PER_MILLE: Final = 5
# Three characters that prose and code are full of, with _ for a blank, and how many each is of a
# million.
_OFTEN: Final = """
    the ing and ent ion hat for one ect ver her pro rea ate tio tha not all ess ers rec con wit ith
    ine sel elf sta tur age ort ter rom cal com out ame res lin urn tor ile str por are ext ted his
    ere eve hin thi you fil ore nce int red ret est ead our der ses _th he_ _an nd_ _a_ _re is_ ng_
    _in ed_ at_ es_ _to er_ _is or_ _se _of _no on_ _fo _it _co _st _wh _be _if if_ _im _de _=_
"""
_OFTEN_PER_MILLION: Final = 2000
_TRIED: Final = 5
# So many places of a million are searched in vain rather than that there is another piece.
_PIECE_PER_MILLION: Final = 30
# The characters beside a piece, and how many such surroundings are kept.
_BEFORE: Final = 2
_AROUND: Final = _BEFORE + _PIECE + 2
_KEPT: Final = 4096
# So that around every place there are as many characters.
_BEGINNING, _END = "\0" * (_BEFORE + 1), "\0" * _AROUND
# A place ends a line.
_MARKED: Final = bytes(10 if at else 0 for at in range(256))


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
            piece: tuple((word, *_shown(word, word.index(piece))) for word in words)
            for piece, words in held.items()
        }
        # What may be around a place: words, or none of them.
        self._kept: dict[str, tuple[tuple[str, bool], ...]] = {}
        self._vain: set[str] = set()

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
        marks = places.to_bytes(len(text), "little").translate(_MARKED)
        # Each gap ends with a place, and the padding makes that the start of what is around it.
        ends = accumulate(map(len, marks.splitlines(keepends=True)))
        padded = f"{_BEGINNING}{text}{_END}"
        for around in {padded[end : end + _AROUND] for end in ends} - self._vain:
            words = self._kept.get(around) or self._words_at(around)
            for word, is_seen in words:
                if is_seen or (word not in found and word in text):
                    found.add(word)

    def _words_at(self, around: str) -> tuple[tuple[str, bool], ...]:
        """The words that may be around a piece, and whether all of the word is seen there."""
        if len(self._kept) + len(self._vain) >= _KEPT:
            self._kept, self._vain = {}, set()
        piece = around[_BEFORE : _BEFORE + _PIECE]
        words = tuple(
            (word, shown == word)
            for word, shown, start in self._words.get(piece, ())
            if around.startswith(shown, start)
        )
        if words:
            self._kept[around] = words
        else:
            self._vain.add(around)
        return words


def _shown(word: str, before: int) -> tuple[str, int]:
    """What of a word can be seen around its piece, and where there."""
    hidden = max(0, before - _BEFORE)
    start = max(0, _BEFORE - before)
    return word[hidden : hidden + _AROUND - start], start


def matches_at(
    words: Iterable[str], pattern: Pattern[str], text: str, lowered: str | None = None
) -> Iterator[Match[str]]:
    """What `finditer` finds with a pattern of which every match begins with one of the words.

    If upper and lower case do not matter, the words are looked for in the lower-case text.
    """
    done = 0
    found = _all_matches_at(words, pattern, text, text if lowered is None else lowered)
    for match in sorted(found, key=Match.start):
        if match.start() >= done:
            done = match.end()
            yield match


def _all_matches_at(
    words: Iterable[str], pattern: Pattern[str], text: str, lowered: str
) -> Iterator[Match[str]]:
    for word in words:
        at = lowered.find(word)
        while at >= 0:
            if match := pattern.match(text, at):
                yield match
            at = lowered.find(word, at + 1)


def _by_piece(words: list[str]) -> dict[str, list[str]]:
    """The words at the pieces by which they are found."""
    pieces = {word: set(_pieces_of(word)) for word in words}
    shared = Counter(piece for word in words for piece in pieces[word])
    held: dict[str, list[str]] = {}
    while pieces:
        word = min(pieces, key=len)
        best = min(pieces[word], key=lambda piece: (_cost(piece) / shared[piece], piece))
        held[best] = [word for word, ones in pieces.items() if best in ones]
        for word in held[best]:
            shared.subtract(pieces.pop(word))
    return held


def _cost(piece: str) -> float:
    often = _OFTEN_PER_MILLION if piece in _often() else 0
    return _per_million(piece) + _PIECE_PER_MILLION + often


@cache
def _often() -> frozenset[str]:
    return frozenset(one.replace("_", " ") for one in _OFTEN.split())


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
        growths = sorted((group.growth(piece), at) for at, group in enumerate(groups))
        best = min(growths[:_TRIED], key=lambda one: one[0] + groups[one[1]].often(piece))
        groups[best[1]].add(piece)
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

    def often(self, piece: str) -> int:
        """At how many more of them something begins that is often in texts."""
        first, second, third = (
            letters | {letter} for letters, letter in zip(self.letters, piece, strict=True)
        )
        count = sum(one[0] in first and one[1] in second and one[2] in third for one in _often())
        return count * _OFTEN_PER_MILLION * 1000

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
