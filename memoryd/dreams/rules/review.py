"""What a dream would change, and whether so much would be lost that it is not applied.

- A memory is lost when its file is gone, when nearly nothing is left of its text, or when it is
  rewritten or retired and most of its words are found neither in what became of it nor in another
  memory that the dream wrote.
- A dream that loses more than the allowed share of the memories that were believed before is
  refused as a whole. It does not matter who dreamt.
- Where somebody else changed a file meanwhile, that file is left alone, and so is every change that
  takes words away: they may have moved into the file that is left.
"""

import difflib
from collections.abc import Collection, Mapping
from typing import Final, Literal

import msgspec

from memoryd.memories.rules import topics
from memoryd.memories.rules.topics import INDEX_FILE, Topic
from memoryd.text.masking.mask import presentable
from memoryd.text.shorten import cut_at_line
from memoryd.text.terms import terms_of

FileAction = Literal["new", "changed", "retired", "removed", "index"]

LEAST_KEPT: Final = 0.5
LEAST_LEFT: Final = 0.1
DIFF_LINES: Final = 2000
DIFF_CHARACTERS: Final = 20_000

Texts = Mapping[str, str]


class FileDiff(msgspec.Struct, frozen=True):
    """One file's part in a dream; `diff` is empty where the text did not change."""

    file: str
    deed: FileAction
    added: int = 0
    removed: int = 0
    diff: str = ""


class Loss(msgspec.Struct, frozen=True):
    """What would be lost of the memories that were believed."""

    lost: tuple[str, ...]
    memories: int

    @property
    def percent(self) -> float:
        return 100.0 * len(self.lost) / self.memories if self.memories else 0.0

    def is_too_much(self, max_percent: float) -> bool:
        return bool(self.lost) and self.percent > max_percent


def diffs(before: Texts, after: Texts, today: str) -> tuple[FileDiff, ...]:
    """Every file that differs, and every memory that is newly retired, by name; the index last."""
    retired = believed(before, today) - believed(after, today)
    files = {file for file in before.keys() | after.keys() if before.get(file) != after.get(file)}
    ordered = sorted(files | retired, key=lambda file: (file == INDEX_FILE, file))
    return tuple(_diff(file, before, after, retired) for file in ordered)


def loss(before: Texts, after: Texts, today: str) -> Loss:
    """Of the memories believed before, those that the dream would lose."""
    believed_before, believed_after = believed(before, today), believed(after, today)
    changed = {file for file, text in after.items() if before.get(file) != text}
    moved = frozenset[str]().union(*(_words(after[file]) for file in changed & believed_after))
    lost = [
        file
        for file in sorted(believed_before)
        if (file in changed or file not in believed_after)
        and _is_lost(before[file], after.get(file), moved, stays=file in believed_after)
    ]
    return Loss(tuple(lost), len(believed_before))


def takes_words_away(before: str | None, after: str | None) -> bool:
    return before is not None and not _words(before) <= _words(after or "")


def in_safe_order(before: Texts, changed: Collection[str], after: Texts) -> list[str]:
    """The changed files with those that only add first, so that what moves is there twice."""
    return sorted(
        changed, key=lambda file: (takes_words_away(before.get(file), after.get(file)), file)
    )


def believed(texts: Texts, today: str) -> frozenset[str]:
    """The memories that are not retired."""
    parsed = {file: topics.parse(text) for file, text in texts.items() if file != INDEX_FILE}
    superseded = frozenset(old for topic in parsed.values() for old in topic.supersedes)
    return frozenset(
        file
        for file, topic in parsed.items()
        if not topics.is_retired(file, topic, superseded, today)
    )


def _is_lost(before: str, after: str | None, moved: frozenset[str], *, stays: bool) -> bool:
    if after is None or _is_emptied(topics.parse(before), topics.parse(after)):
        return True
    # A retired one is on disk still, but what nobody recalls must be said elsewhere.
    return not _is_kept(_words(before), moved | _words(after) if stays else moved)


def _is_emptied(old: Topic, new: Topic) -> bool:
    return len(new.body.strip()) < LEAST_LEFT * len(old.body.strip())


def _is_kept(words: frozenset[str], found: frozenset[str]) -> bool:
    return not words or len(words & found) >= LEAST_KEPT * len(words)


def _words(text: str) -> frozenset[str]:
    return frozenset(terms_of(topics.parse(text).body))


def _diff(file: str, before: Texts, after: Texts, retired: Collection[str]) -> FileDiff:
    old, new = before.get(file), after.get(file)
    deed: FileAction = "changed"
    if file == INDEX_FILE:
        deed = "index"
    elif old is None:
        deed = "new"
    elif new is None:
        deed = "removed"
    elif file in retired:
        deed = "retired"
    # A diff is shown and kept; whole texts are masked, since a secret may have several lines.
    old_lines, new_lines = presentable(old or "").splitlines(), presentable(new or "").splitlines()
    if len(old_lines) + len(new_lines) > DIFF_LINES:
        return FileDiff(file, deed, len(new_lines), len(old_lines), "(too long to be shown)\n")
    lines = list(difflib.unified_diff(old_lines, new_lines, file, file, lineterm="", n=2))
    added = sum(line.startswith("+") for line in lines[2:])
    removed = sum(line.startswith("-") for line in lines[2:])
    if not lines and old != new:
        return FileDiff(file, deed, 0, 0, "(only what is not shown has changed)\n")
    return FileDiff(
        file, deed, added, removed, cut_at_line("\n".join(lines), DIFF_CHARACTERS, "(cut)")
    )
