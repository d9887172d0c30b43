"""How the words of one memory are recognised in other texts, to remove them and to prove it.

Rules
- A text shows a trace if it has RUN_WORDS consecutive words of the memory, or all words of a
  shorter sentence of it. Case, punctuation and line ends do not matter.
- The memory's file name is a trace too: it is made from its title.
- A text is cleaned by whole lines. A run may cross line ends: then all its lines go.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from memoryd.text.lazy_regex import late

RUN_WORDS: Final = 6
LEAST_CHARACTERS: Final = 6
LINES_JOINED: Final = 3

_WORD: Final = late(r"\w+")
_SENTENCE: Final = late(r"[.!?;:。！？]+(?:\s|$)|\n|\*\*(?:Why|How to apply):\*\*")  # noqa: RUF001 - wide

Words = tuple[str, ...]


class Traces:
    """`texts` are every version of what the memory says, `names` the names of its files."""

    def __init__(self, texts: Iterable[str], names: Iterable[str] = ()) -> None:
        self.names = frozenset(names)
        runs: set[Words] = set()
        phrases: set[str] = set()
        for sentence in (one for text in texts for one in _SENTENCE.split(text)):
            words = words_of(sentence)
            if sum(map(len, words)) < LEAST_CHARACTERS:
                continue
            phrases.add(sentence.strip())
            runs |= {*_runs(words, RUN_WORDS)} if len(words) > RUN_WORDS else {tuple(words)}
        self._runs = frozenset(runs)
        self._sizes = sorted({len(run) for run in runs})
        self.phrases = tuple(sorted({one for text in phrases for one in _phrases(text)}))
        """Pieces of it as they were written, for a search in raw bytes."""

    def found_in(self, text: str) -> bool:
        if any(name in text for name in self.names):
            return True
        words = words_of(text)
        return any(run in self._runs for size in self._sizes for run in _runs(words, size))

    def without(self, text: str) -> tuple[str, int]:
        """The text without the lines that show a trace, and how many these were."""
        if not self.found_in(text):
            return text, 0
        lines = text.splitlines(keepends=True)
        gone: set[int] = set()
        for joined in range(1, LINES_JOINED + 1):
            for first in range(len(lines) - joined + 1):
                span = range(first, first + joined)
                if gone.isdisjoint(span) and self.found_in("".join(lines[n] for n in span)):
                    gone |= {*span}
        return "".join(line for n, line in enumerate(lines) if n not in gone), len(gone)


def _phrases(sentence: str) -> Iterable[str]:
    words = sentence.split()
    size = min(RUN_WORDS - 1, len(words))
    return (" ".join(words[first : first + size]) for first in range(len(words) - size + 1))


def words_of(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _runs(words: Sequence[str], size: int) -> Iterable[Words]:
    return (tuple(words[first : first + size]) for first in range(len(words) - size + 1))
