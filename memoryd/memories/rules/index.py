"""MEMORY.md: one line per topic file, and how it is kept up to date.

- A pointer is `- [Title](file.md) — one-line hook`. Only such lines are ours to change; headings,
  comments, links elsewhere and a person's order survive. Elsewhere includes everything above the
  index or below `team/` or `logs/`: the store does not list it, so it cannot know what is gone.
- A link to a part, `file.md#part`, counts as a pointer, and is not changed while the file exists.
- A file name is percent-encoded where Markdown would read it as something else.
- A new pointer goes above the first one, so that a cut takes the oldest. In an index that is ours
  alone, or has nothing but pointers, memories that are older than all that it lists go below.
- What we inject of an index leaves out the pointers to memories of unknown origin. If the index
  itself is of unknown origin, only its order counts: each line is made again from its memory.
- Loading keeps the first 200 lines, then the first 25,000 bytes up to a newline, and says so.
- A dream may leave memories out to stay within that. One line then says how many, and since when:
  only memories that are newer get a pointer of their own again. Recall finds them all.
"""

import re
from collections.abc import Container, Mapping, Sequence
from itertools import takewhile
from typing import Final
from urllib.parse import unquote

import msgspec

from memoryd.base.remembered import remembered
from memoryd.base.timestamps import iso_time, seconds_of
from memoryd.text.decode import decoded
from memoryd.text.invisible import strip_invisible
from memoryd.text.lazy_regex import late
from memoryd.text.shorten import cut_at_line_bytes, cut_at_word, one_line

LINE_LIMIT: Final = 200
# A line has about a hundred bytes: this is room for some 300,000 memories.
FILE_LIMIT_BYTES: Final = 32 * 1024 * 1024
BYTE_LIMIT: Final = 25_000
HOOK_LINE_CHARACTERS: Final = 150
_REMEMBERED_LINES: Final = 16_384

# Possessive, so that white space between two parts can be matched in one way only.
_POINTER = late(r"\s*[-*+]\s+\[(?:[^\[\]\\]|\\.)*\]\(\s*+<?+([^()<>\n]*+)>?+\s*+\)")
# The four letters look like blanks; a leading `./` would be dropped by readers.
_UNSAFE_IN_A_LINK = late(r"[^\w/.,+@=-]|[\u115f\u1160\u3164\uffa0]|\A\.(?=/)")
_NOT_TOPICS = ("team/", "logs/")
_NOT_IN_A_TITLE = str.maketrans("[]", "()", "\\")
_FENCE = late(r"\s*(```|~~~)")
_UNLISTED = late(r"- \d+ more memor(?:y is|ies are) not listed here since (\S+):")


class _Place(msgspec.Struct, frozen=True):
    """A line that points to a file, or with `is_part` to a section of it."""

    at: int
    file: str
    is_part: bool

    @property
    def is_ours(self) -> bool:
        """Whether the store would list the file if it existed."""
        return ".." not in self.file.split("/") and not self.file.startswith(_NOT_TOPICS)


class IndexSize(msgspec.Struct, frozen=True):
    lines: int
    bytes: int


class LoadedIndex(msgspec.Struct, frozen=True):
    """What a session loads of an index; `warning` is empty if that is all of it."""

    text: str
    warning: str

    @property
    def is_cut(self) -> bool:
        return self.warning != ""


def pointer(title: str, file: str, hook: str) -> str:
    """One line, short enough for an index; the hook is shortened first.

    `whole_pointers` reads the same file name back from it.
    """
    head = f"- [{_short_title(title) or _short_title(file)}]({link_to(file)})"
    short_hook = cut_at_word(_flat(hook), max(20, HOOK_LINE_CHARACTERS - len(head) - 3))
    return f"{head} — {short_hook}" if short_hook else head


def link_to(file: str) -> str:
    """A file's name as a link of ours has it."""
    return _UNSAFE_IN_A_LINK.sub(_percent_encoded, file)


def whole_pointers(lines: Sequence[str]) -> dict[int, str]:
    """The files that visible lines point to as a whole, by line number."""
    return {place.at: place.file for place in _pointer_places(lines) if not place.is_part}


def pointed_files(lines: Sequence[str]) -> dict[int, str]:
    """The files that visible lines point to, as a whole or in part, by line number."""
    return {place.at: place.file for place in _pointer_places(lines)}


def has_only_pointers(text: str) -> bool:
    """Whether nothing else is in an index: no heading and no comment that a person wrote."""
    lines = _lines(text)
    return len(pointed_files(lines)) == sum(bool(line.strip()) for line in lines)


def with_pointer(text: str, file: str, line: str) -> str:
    """The index with this pointer: in place of the old one, or above all others.

    If it has only links to parts of the file, they suffice and the index stays as it is.
    """
    lines = _lines(text)
    places = [place for place in _pointer_places(lines) if place.file == file]
    old = next((place.at for place in places if not place.is_part), None)
    if old is not None:
        lines[old] = line
        return _joined(lines)
    if places:
        return text
    at = _place_for_new(lines)
    return _joined([*lines[:at], line, *lines[at:]])


def with_pointers(text: str, pointers: Mapping[str, str]) -> str:
    """The index where each of these files that has a pointer gets this one."""
    if not pointers:
        return text
    lines = _lines(text)
    for at, file in whole_pointers(lines).items():
        lines[at] = pointers.get(file, lines[at])
    return _joined(lines)


def repaired(
    text: str, files: Mapping[str, str], missing_order: Sequence[str], *, oldest_last: bool = False
) -> str:
    """The index, corrected.

    `files` maps every existing topic file to its pointer line. Pointers to topic files that are
    gone, and second pointers to one file, are removed; pointers to places where topics cannot be,
    and links to parts of existing files, stay. A file without a pointer gets one, in the order of
    `missing_order` from the top. With `oldest_last`, `files` are in that order too, and those after
    all that have a pointer get theirs below them.
    """
    lines = _lines(text)
    places = _pointer_places(lines)
    gone = _stale(places, files)
    pointed = {place.file for place in places}
    missing = [file for file in missing_order if file not in pointed]
    if not gone and not missing:
        return text
    kept = [line for at, line in enumerate(lines) if at not in gone]
    below = _older(files, pointed) if oldest_last else frozenset()
    end = max((place.at for place in _pointer_places(kept)), default=len(kept) - 1) + 1
    kept[end:end] = [files[file] for file in missing if file in below]
    at = _place_for_new(kept)
    kept[at:at] = [files[file] for file in missing if file not in below]
    return _joined(kept)


def without_files(text: str, files: Container[str]) -> str:
    """The index without the pointers to these files."""
    lines = _lines(text)
    gone = {place.at for place in _pointer_places(lines) if place.file in files}
    return text if not gone else _joined([line for at, line in enumerate(lines) if at not in gone])


def made_anew(text: str, pointers: Mapping[str, str]) -> str:
    """Only the pointers to these files, in the order of the index, each as it is given."""
    files = dict.fromkeys(place.file for place in _pointer_places(_lines(text)))
    return _joined([pointers[file] for file in files if file in pointers])


def unlisted_line(count: int, since: float) -> str:
    """What an index says of the memories that it leaves out."""
    words = "memory is" if count == 1 else "memories are"
    found = "recall and `memoryd list` find them" if count > 1 else "recall finds it"
    return f"- {count} more {words} not listed here since {iso_time(since)}: {found}"


def is_unlisted_line(line: str) -> bool:
    return _UNLISTED.match(line) is not None


def unlisted_since(text: str) -> float:
    """Until when a memory without a pointer was left out on purpose; 0 if all are listed."""
    lines = text.split("\n")
    found = (_UNLISTED.match(lines[at]) for at in _visible(lines))
    return max((seconds_of(one[1]) or 0.0 for one in found if one), default=0.0)


def end_of_head(data: bytes) -> int:
    """Where the lines end that a session loads at most: the rest need not be looked at."""
    at = -1
    for _ in range(LINE_LIMIT):
        at = data.find(b"\n", at + 1)
        if at < 0:
            return len(data)
    return at + 1


def size_of(data: bytes) -> IndexSize:
    return IndexSize(data.count(b"\n") + (data != b"" and not data.endswith(b"\n")), len(data))


def loaded(text: str, whole: IndexSize | None = None) -> LoadedIndex:
    """The part of an index that a session loads, with a warning if that is not all.

    `whole` is the size of the index, if `text` is only its head; the warning says it.
    """
    data = text.encode("utf-8", "replace")
    end = end_of_head(data)
    if end == len(data) <= BYTE_LIMIT and whole is None:
        return LoadedIndex(text, "")
    kept = cut_at_line_bytes(decoded(data[:end]), BYTE_LIMIT)
    shown, size = size_of(kept.encode("utf-8", "replace")), whole or size_of(data)
    return LoadedIndex(
        kept,
        f"Only {shown.lines} of {size.lines} lines of MEMORY.md ({shown.bytes} of {size.bytes}"
        f" bytes) are loaded. Keep each line under about {HOOK_LINE_CHARACTERS} characters and"
        " move detail into the topic files.",
    )


def _older(files: Mapping[str, str], pointed: Container[str]) -> frozenset[str]:
    """The files after all that have a pointer; none if there are no such."""
    older = frozenset(takewhile(lambda file: file not in pointed, reversed(list(files))))
    return older if len(older) < len(files) else frozenset()


def _stale(places: Sequence[_Place], files: Container[str]) -> set[int]:
    """The lines that point to a missing file, or again to one that an earlier line points to."""
    gone: set[int] = set()
    whole: set[str] = set()
    for place in places:
        if place.is_ours and (place.file not in files or place.file in whole):
            gone.add(place.at)
        elif not place.is_part:
            whole.add(place.file)
    return gone


def _place(at: int, line: str) -> _Place | None:
    found = _pointed_at(line)
    return None if found is None else _Place(at, *found)


@remembered(_REMEMBERED_LINES)
def _pointed_at(line: str) -> tuple[str, bool] | None:
    """The file that a line points to, and whether to a part of it."""
    match = _POINTER.match(line)
    if match is None:
        return None
    link = match[1].strip()
    if "://" in link or link.startswith(("/", "~", "#")):
        return None
    path, mark, _ = link.partition("#")
    is_part = mark != "" and path.endswith(".md")
    # Not always `path`: people do not percent-encode a name like `C#.md`.
    file = (path if is_part else link).removeprefix("./")
    if "%" in file:
        file = unquote(file)
    if not file.endswith(".md") or file.startswith("/"):
        return None
    return file, is_part


def _pointer_places(lines: Sequence[str]) -> list[_Place]:
    """The pointers outside comments and code."""
    places = (_place(at, lines[at]) for at in _visible(lines))
    return [place for place in places if place is not None]


def _place_for_new(lines: Sequence[str]) -> int:
    """Above the first pointer; else at the end, unless that is in an open comment or fence."""
    places = _pointer_places(lines)
    if places:
        return places[0].at
    return len(lines) if len(lines) in _visible([*lines, ""]) else 0


def _visible(lines: Sequence[str]) -> list[int]:
    """The numbers of the lines outside code fences and comments."""
    visible: list[int] = []
    in_fence = in_comment = False
    for at, line in enumerate(lines):
        if not in_comment and _FENCE.match(line):
            in_fence = not in_fence
        if not in_fence:
            in_comment = (in_comment or "<!--" in line) and "-->" not in line.rpartition("<!--")[2]
        if not in_fence and not in_comment:
            visible.append(at)
    return visible


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n" if lines else ""


def _short_title(title: str) -> str:
    return _flat(title.translate(_NOT_IN_A_TITLE))[:80].strip()


def _percent_encoded(match: re.Match[str]) -> str:
    # Not urllib's quote: it keeps `~`, which at the start means a home folder.
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))


def _flat(text: str) -> str:
    """On one line, and without a comment that would hide the lines below."""
    return one_line(strip_invisible(text)).replace("<!--", "<! --")
