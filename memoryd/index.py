"""MEMORY.md: one line per topic file, as a person sees it and as we keep it.

- A pointer is `- [Title](file.md) — one-line hook`. Only such lines are ours to change; headings,
  comments, links elsewhere and the order a person made survive.
- A new pointer goes above the first one there is, so that a cut takes the oldest.
- Loading keeps the first 200 lines, then the first 25,000 bytes up to a newline, and says so.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import unquote

import msgspec

from memoryd.invisible import strip_invisible

LINE_LIMIT: Final = 200
BYTE_LIMIT: Final = 25_000
HOOK_LINE_CHARACTERS: Final = 150

_POINTER = re.compile(r"\s*[-*+]\s+\[(?:[^\[\]\\]|\\.)*\]\(\s*<?([^()<>]*?)>?\s*\)")
_NOT_IN_A_TITLE = str.maketrans("[]", "()", "\\")
_FENCE = re.compile(r"\s*(```|~~~)")


class LoadedIndex(msgspec.Struct, frozen=True):
    """What a session gets to see of an index; `warning` is empty when it is all there."""

    text: str
    warning: str

    @property
    def is_cut(self) -> bool:
        return self.warning != ""


def pointer(title: str, file: str, hook: str) -> str:
    """One line, short enough for an index; the hook gives way first."""
    flat_title = _flat(title).translate(_NOT_IN_A_TITLE)[:80].strip() or file
    head = f"- [{flat_title}]({file})"
    flat_hook = _flat(hook)
    room = max(20, HOOK_LINE_CHARACTERS - len(head) - 3)
    if len(flat_hook) > room:
        flat_hook = flat_hook[: room - 1].rpartition(" ")[0].rstrip(",;:.") + "…"
    return f"{head} — {flat_hook}" if flat_hook else head


def pointed_file(line: str) -> str | None:
    """The topic file that an index line points to, if it is a pointer to one beside the index."""
    match = _POINTER.match(line)
    if match is None:
        return None
    target = unquote(match[1]).removeprefix("./")
    if not target.endswith(".md") or "://" in target or target.startswith(("/", "~", "#")):
        return None
    return target


def with_pointer(text: str, file: str, line: str) -> str:
    """The index with this pointer: in the old one's place, or above all others."""
    lines = _lines(text)
    places = _pointer_places(lines)
    old = next((at for at, target in places if target == file), None)
    if old is not None:
        lines[old] = line
        return _joined(lines)
    at = _place_for_new(lines)
    return _joined([*lines[:at], line, *lines[at:]])


def without_pointer(text: str, file: str) -> str:
    lines = _lines(text)
    gone = {at for at, target in _pointer_places(lines) if target == file}
    if not gone:
        return text
    return _joined([line for at, line in enumerate(lines) if at not in gone])


def repaired(text: str, files: Mapping[str, str], missing_order: Sequence[str]) -> str:
    """The index made true again.

    `files` maps every topic file to its pointer line. Pointers to other files and second pointers
    to one file go; a file without a pointer gets one, those first in `missing_order` on top.
    """
    lines = _lines(text)
    gone: set[int] = set()
    seen: set[str] = set()
    for at, target in _pointer_places(lines):
        if target in seen or target not in files:
            gone.add(at)
        seen.add(target)
    missing = [files[file] for file in missing_order if file not in seen]
    if not gone and not missing:
        return text
    kept = [line for at, line in enumerate(lines) if at not in gone]
    at = _place_for_new(kept)
    return _joined([*kept[:at], *missing, *kept[at:]])


def loaded(text: str) -> LoadedIndex:
    """The part of an index that a session loads, and a warning when that is not all of it."""
    lines = text.split("\n")
    total_lines = len(lines) - (lines[-1] == "")
    total_bytes = len(text.encode("utf-8", "replace"))
    kept = text if total_lines <= LINE_LIMIT else "\n".join(lines[:LINE_LIMIT]) + "\n"
    raw = kept.encode("utf-8", "replace")
    if len(raw) > BYTE_LIMIT:
        kept = _at_last_newline(raw[:BYTE_LIMIT])
    if kept == text:
        return LoadedIndex(text, "")
    shown = kept.count("\n") + (kept != "" and not kept.endswith("\n"))
    return LoadedIndex(
        kept,
        f"Only {shown} of {total_lines} lines of MEMORY.md ({len(kept.encode('utf-8', 'replace'))} "
        f"of {total_bytes} bytes) are loaded. Keep each line under about {HOOK_LINE_CHARACTERS} "
        "characters and move detail into the topic files.",
    )


def _at_last_newline(raw: bytes) -> str:
    end = raw.rfind(b"\n") + 1
    return (raw[:end] if end else raw).decode("utf-8", "ignore")


def _pointer_places(lines: Sequence[str]) -> list[tuple[int, str]]:
    """Line numbers and targets of the pointers that a reader sees."""
    targets = ((at, pointed_file(lines[at])) for at in _seen(lines))
    return [(at, target) for at, target in targets if target is not None]


def _place_for_new(lines: Sequence[str]) -> int:
    """Above the first pointer; else at the end, unless that lies in an open comment or fence."""
    places = _pointer_places(lines)
    if places:
        return places[0][0]
    return len(lines) if len(lines) in _seen([*lines, ""]) else 0


def _seen(lines: Sequence[str]) -> list[int]:
    """Numbers of the lines outside code fences and comments."""
    seen: list[int] = []
    in_fence = in_comment = False
    for at, line in enumerate(lines):
        if not in_comment and _FENCE.match(line):
            in_fence = not in_fence
        if not in_fence:
            in_comment = (in_comment or "<!--" in line) and "-->" not in line.rpartition("<!--")[2]
        if not in_fence and not in_comment:
            seen.append(at)
    return seen


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n" if lines else ""


def _flat(text: str) -> str:
    return " ".join(strip_invisible(text).split())
