"""Which of many short words are in a text, told with few searches.

Secrets are found at anchors, and most texts hold only a few of the hundred that there are. Those
that share a piece ("password", "passwd --stdin", "| pass") are looked for only if the piece is
there. The answer is exact: a word is in it if and only if it is in the text.
"""

from collections.abc import Iterable
from typing import Final

PIECE_LENGTHS: Final = (4, 3)


class Anchors:
    """A fixed set of anchors."""

    def __init__(self, words: Iterable[str]) -> None:
        self._groups = tuple(_grouped(sorted(set(words))))

    def present_in(self, text: str) -> frozenset[str]:
        """The anchors that a text holds, upper and lower case as they are."""
        return frozenset(
            [
                word
                for piece, words in self._groups
                if piece in text
                for word in words
                if word == piece or word in text
            ]
        )


def _grouped(words: list[str]) -> Iterable[tuple[str, tuple[str, ...]]]:
    """Pieces and the words that hold them; a word that shares none is its own piece."""
    for length in PIECE_LENGTHS:
        while True:
            shared: dict[str, list[str]] = {}
            for word in words:
                for piece in {word[at : at + length] for at in range(len(word) - length + 1)}:
                    shared.setdefault(piece, []).append(word)
            piece, members = max(
                shared.items(), key=lambda item: (len(item[1]), item[0]), default=("", [])
            )
            if len(members) < 2:
                break
            yield piece, tuple(members)
            words = [word for word in words if word not in members]
    for word in words:
        yield word, (word,)
