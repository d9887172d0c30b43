"""Parses one instruction file: which of its text is served, and which files it imports.

Rules:
- A comment that begins a line is for people and is not served. One that is never closed is text.
- Code is never changed and never searched for imports: fenced blocks (closed or not), blocks
  indented by four, spans between equal runs of backticks.
- `@path` imports a file if it begins a word. The path ends at white space; punctuation that ends a
  sentence or closes a bracket is not part of it, nor is a `#fragment`. Whether the path is a file
  is not decided here: if it is not, it stays text.
- A header may name `paths`, the files that a rule is for: a list, `[a, b]`, or `a, b`.
- All of it is one pass over the text. It comes with a repository and may be hostile.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from memoryd.memories.rules import headers
from memoryd.text.invisible import strip_invisible
from memoryd.text.lazy_regex import late

IMPORTS_LIMIT: Final = 500

_COMMENT, _COMMENT_END = "<!--", "-->"
_CONTAINER = r"(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*"
_FENCE = late(rf"{_CONTAINER}(`{{3,}}(?=[^`]*$)|~{{3,}})")
_FENCE_END = late(r"[ \t>]*(`{3,}|~{3,})[ \t]*$")
_LIST_ITEM = late(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_BLANK = late(r"[ \t]*")
_BACKTICKS = late(r"`+")
_MENTION = late(r"(?<![^\s(\[\"'*])@((?:[\w./~-]|\\ )(?:[^\s`\\]|\\ )*)")
_COMMA = late(r",(?![^{}]*\})")
_AFTER_A_PATH: Final = ".,;:!?)]}>\"'*"


class InstructionDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it is served; `globs` is None if its header does not limit it to some files."""

    header: str = ""
    body: str = ""
    imports: tuple[str, ...] = ()
    globs: tuple[str, ...] | None = None
    characters: int = 0

    @property
    def whole(self) -> str:
        return self.header + self.body


class _Line(msgspec.Struct, frozen=True):
    text: str
    is_code: bool = False


def parse_instructions(text: str) -> InstructionDocument:
    """Accepts any text; never raises."""
    clean = strip_invisible(text).replace("\r\n", "\n")
    parts = headers.sections(clean)
    body = parts.rest if parts.block is None else parts.rest.partition("\n")[2]
    lines = list(_without_comments(body.split("\n")))
    return InstructionDocument(
        header=clean[: len(clean) - len(body)],
        body="\n".join(line.text for line in lines),
        imports=_imports(lines),
        globs=_globs(clean),
        characters=len(text),
    )


def without_comments(text: str) -> str:
    """The text as it is served, for a file that imports nothing."""
    return "\n".join(line.text for line in _without_comments(text.split("\n")))


def prose_lines(text: str) -> Iterator[str]:
    """The lines of a text that is served, without blocks of code."""
    return (line.text for line in _without_comments(text.split("\n")) if not line.is_code)


def _without_comments(lines: list[str]) -> Iterator[_Line]:
    last_end = max((at for at, line in enumerate(lines) if _COMMENT_END in line), default=-1)
    code = _Code()
    in_comment = False
    for at, line in enumerate(lines):
        if not in_comment and code.holds(line):
            yield _Line(line, is_code=True)
            continue
        here, in_comment = _past_comments(line, in_comment=in_comment, is_last=at >= last_end)
        if not in_comment and (here == 0 or line[here:].strip()):
            yield _Line(line[here:])


def _past_comments(line: str, *, in_comment: bool, is_last: bool) -> tuple[int, bool]:
    """Where the text of a line begins after its leading comments, and whether one continues below.

    `is_last`: no later line ends a comment, so one that begins here is text.
    """
    here = 0
    while True:
        start = here
        if not in_comment:
            blank = _BLANK.match(line, here)
            start = blank.end() if blank else here
            if not line.startswith(_COMMENT, start):
                return here, False
            # `<!-->` is a whole comment to a browser: the end may share two dashes.
            start += 2
        end = line.find(_COMMENT_END, start)
        if end < 0:
            return here, in_comment or not is_last
        here, in_comment = end + len(_COMMENT_END), False


class _Code:
    """Decides line by line what is in a block of code."""

    def __init__(self) -> None:
        self._fence = ""
        self._in_list = False
        self._may_indent = True

    def holds(self, line: str) -> bool:
        """Whether the next line is code; the fences themselves are."""
        if self._fence:
            end = _FENCE_END.match(line)
            if end is not None and end[1].startswith(self._fence):
                self._fence = ""
            return True
        if fence := _FENCE.match(line):
            self._fence = fence[1]
            return True
        return self._is_indented(line)

    def _is_indented(self, line: str) -> bool:
        if not line.strip():
            self._may_indent = True
            return False
        is_indented = line.expandtabs(4).startswith("    ")
        if _LIST_ITEM.match(line) and (self._in_list or not is_indented):
            self._in_list = True
        elif self._may_indent and line[0] not in " \t":
            self._in_list = False
        # After a paragraph an indented line continues it; in a list, it belongs to an item.
        self._may_indent = is_indented and self._may_indent and not self._in_list
        return self._may_indent


def _imports(lines: Iterable[_Line]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for paragraph in _paragraphs(lines):
        for mention in _MENTION.finditer(_without_spans(paragraph)):
            path = mention[1].replace("\\ ", " ").partition("#")[0].rstrip(_AFTER_A_PATH)
            if path and len(found) < IMPORTS_LIMIT:
                found[path] = None
    return tuple(found)


def _paragraphs(lines: Iterable[_Line]) -> Iterator[str]:
    """Runs of lines that a code span may cross."""
    run: list[str] = []
    for line in lines:
        if not line.is_code and line.text.strip():
            run.append(line.text)
        elif run:
            yield "\n".join(run)
            run = []
    yield "\n".join(run)


def _without_spans(paragraph: str) -> str:
    """The paragraph with a backtick in place of each code span, so that no word begins after it."""
    runs = [(run.start(), run.end()) for run in _BACKTICKS.finditer(paragraph)]
    ends: dict[int, int] = {}
    next_of_its_length: list[int | None] = []
    for at in range(len(runs) - 1, -1, -1):
        length = runs[at][1] - runs[at][0]
        next_of_its_length.append(ends.get(length))
        ends[length] = at
    next_of_its_length.reverse()
    pieces: list[str] = []
    here = at = 0
    while at < len(runs):
        end = next_of_its_length[at]
        if end is not None:
            pieces.append(paragraph[here : runs[at][0]])
            here, at = runs[end][1], end
        at += 1
    return "`".join([*pieces, paragraph[here:]])


def _globs(text: str) -> tuple[str, ...] | None:
    value = headers.read(text)[0].get("paths", "")
    if isinstance(value, dict):
        return ()
    if isinstance(value, str):
        inner = value[1:-1] if value.startswith("[") and value.endswith("]") else value
        value = _COMMA.split(inner)
    globs = tuple(item for item in (glob.strip().strip("\"'") for glob in value) if item)
    return globs or None
