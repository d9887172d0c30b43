"""Which of many short words are in a text, told in one pass for all of them.

Secrets are found at anchors, and most texts hold only a few of the hundreds that there are. The
answer is exact: a word is in it if and only if it is in the text.
"""

from collections.abc import Iterable, Iterator
from re import Match, Pattern
from typing import Final

from ahocorasick_rs import BytesAhoCorasick, Implementation

# A text of nothing but anchors must not become millions of places at once.
_AT_ONCE_BYTES: Final = 64 * 1024


class Anchors:
    """A fixed set of anchors."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words: Final = frozenset(words)
        self._numbered = sorted(self.words)
        patterns = [_in_bytes(word) for word in self._numbered]
        self._longest = max(map(len, patterns), default=0)
        self._search = BytesAhoCorasick(patterns, implementation=Implementation.DFA)

    def present_in(self, text: str) -> frozenset[str]:
        """The anchors that a text holds, upper and lower case as they are."""
        data = _in_bytes(text)
        found: set[int] = set()
        for start in range(0, len(data), _AT_ONCE_BYTES):
            part = data[start : start + _AT_ONCE_BYTES + self._longest]
            places = self._search.find_matches_as_indexes(part, overlapping=True)
            found.update([number for number, _, _ in places])
        return frozenset([self._numbered[number] for number in found])


def _in_bytes(text: str) -> bytes:
    """As UTF-8, in which a character is never found inside of others; half a pair is one too."""
    return text.encode("utf-8", "surrogatepass")


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
