"""What the person sees and does while they search. Pure: the terminal and the daemon are outside.

- The selection stays on the same memory when the list changes, if it is still there.
- Nothing that a memory says reaches the terminal as an escape sequence.
- A wide terminal has the preview beside the list, a high one below it, a small one none.
"""

import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from memoryd_client.cli.render import printable
from memoryd_client.connection.memory_header import Memory
from memoryd_client.search.columns import cut, end_of, folded, padded, width_of
from memoryd_client.search.keys import Key
from memoryd_client.search.matching import matching, row_of

Outcome = Literal["chosen", "cancelled", "edit"]
Style = Literal["", "bold", "dim", "reverse"]

PROMPT: Final = "memory> "
HELP: Final = "Enter choose  Ctrl-E edit  Esc cancel"
HEADER: Final = re.compile(r"\A---\n.*?^---\n+", re.DOTALL | re.MULTILINE)
BORDER: Final = " │ "
PAGE: Final = 10
BESIDE_COLUMNS: Final = 90
BELOW_ROWS: Final = 14


class Line(NamedTuple):
    """A line of the screen; what is `beside` has no style."""

    text: str
    style: Style = ""
    beside: str = ""


class Picker:
    def __init__(self, query: str = "") -> None:
        self.query = query
        self.note = ""
        self._memories: Sequence[Memory] = ()
        self._recalled: Sequence[str] = ()
        self._found: list[Memory] = []
        self._at = 0

    @property
    def selected(self) -> Memory | None:
        return self._found[self._at] if self._found else None

    def show(self, memories: Sequence[Memory]) -> None:
        """These are the memories that there are."""
        self._memories = memories
        self._search()

    def recalled(self, query: str, paths: Sequence[str]) -> None:
        """What the daemon found; too late if another query was typed meanwhile."""
        if query == self.query:
            self._recalled = paths
            self._search()

    def key(self, key: Key) -> Outcome | None:
        match key.name:
            case "":
                self._type(self.query + key.text)
            case "backspace":
                self._type(self.query[:-1])
            case "clear":
                self._type("")
            case "word-back":
                self._type(self.query.rstrip().rpartition(" ")[0])
            case "up" | "page-up":
                self._at = max(self._at - (PAGE if "page" in key.name else 1), 0)
            case "down" | "page-down":
                step = PAGE if "page" in key.name else 1
                self._at = max(min(self._at + step, len(self._found) - 1), 0)
            case "enter" if self._found:
                return "chosen"
            case "edit" if self._found:
                return "edit"
            case "cancel":
                return "cancelled"
        return None

    def view(self, columns: int, rows: int, preview: str) -> list[Line]:
        """The whole screen, no line wider and no more lines than it has."""
        room = max(rows - 3, 1)
        beside = columns >= BESIDE_COLUMNS
        below = not beside and rows >= BELOW_ROWS
        height = room // 2 if below else room
        width = columns // 2 if beside else columns
        listed = self._lines(width, height)
        if beside:
            texts = folded(plain(preview), columns - width - len(BORDER))[:height]
            texts += [""] * (height - len(texts))
            middle = [
                line._replace(text=padded(line.text, width), beside=BORDER + text)
                for line, text in zip(listed, texts, strict=True)
            ]
        else:
            middle = listed
        if below:
            shown = folded(plain(preview), columns)[: room - height - 1]
            middle += [Line("─" * columns, "dim"), *map(Line, shown)]
        head = [self._prompt(columns), Line(cut(self._count(), columns), "dim")]
        whole = [*head, *middle][: max(rows - 1, 1)]
        whole += [Line("")] * (rows - 1 - len(whole))
        return [*whole, Line(cut(self.note or HELP, columns), "bold" if self.note else "dim")][
            :rows
        ]

    def cursor(self, columns: int) -> int:
        """The column behind what was typed, from 1."""
        return min(width_of(self._prompt(columns).text) + 1, columns)

    def _prompt(self, columns: int) -> Line:
        room = columns - len(PROMPT) - 1
        return Line(PROMPT + end_of(self.query, room) if room > 0 else end_of(self.query, columns))

    def _count(self) -> str:
        return f"{len(self._found)} of {len(self._memories)}"

    def _lines(self, width: int, height: int) -> list[Line]:
        first = max(min(self._at - height // 2, len(self._found) - height), 0)
        lines = [
            Line(cut(f"> {row_of(one)}", width), "reverse")
            if place == self._at
            else Line(cut(f"  {row_of(one)}", width))
            for place, one in enumerate(self._found[first : first + height], first)
        ]
        return lines + [Line("")] * (height - len(lines))

    def _type(self, query: str) -> None:
        self.query = query
        self._recalled = ()
        self._at = 0
        self._found = []
        self._search()

    def _search(self) -> None:
        kept = self.selected
        self._found = matching(self.query, self._memories, self._recalled)
        paths = [one.path for one in self._found]
        if kept is not None and self._at > 0 and kept.path in paths:
            self._at = paths.index(kept.path)
        self._at = max(min(self._at, len(paths) - 1), 0)


def plain(text: str) -> str:
    """The text without its header, as a terminal may show it."""
    return printable(HEADER.sub("", text, count=1)).replace("\t", "  ")
