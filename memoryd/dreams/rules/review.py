"""What a dream would change, and whether it loses so much that it must not be applied.

- A memory is lost when its file is gone, when almost nothing is left of its text, or when it is
  rewritten or retired and most of its words are neither in its new text nor in another memory that
  the dream wrote.
- A dream that loses more than the allowed share of the current memories is refused as a whole,
  whether rules or a model made it.
- A file that changed meanwhile is left alone, and so is every change that removes words: they may
  have moved into that file.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Final, Literal

import msgspec

from memoryd.base.pacing import Pace, at_once
from memoryd.base.remembered import remembered
from memoryd.memories.rules import headers, topics
from memoryd.memories.rules.retirement import is_in_retired, name_when_current, revived_text
from memoryd.memories.rules.topics import INDEX_FILE, Topic
from memoryd.text.masking.mask import presentable
from memoryd.text.terms import terms_of

FileAction = Literal["new", "changed", "retired", "removed", "index"]

LEAST_KEPT: Final = 0.5
LEAST_LEFT: Final = 0.1
DIFF_LINES: Final = 2000
DIFF_CHARACTERS: Final = 20_000
# Before and after a large dream: a text is asked for its loss, and for the order of writing.
_REMEMBERED_TEXTS: Final = 4096

Texts = Mapping[str, str]
Parse = Callable[[str], Topic]


class FileDiff(msgspec.Struct, frozen=True):
    """What happens to one file; `diff` is empty where the text did not change."""

    file: str
    action: FileAction = msgspec.field(name="deed")  # the name on the socket and in the database
    added: int = 0
    removed: int = 0
    diff: str = ""


class Loss(msgspec.Struct, frozen=True):
    """Which of the current memories would be lost, and how many there are."""

    lost: tuple[str, ...]
    memories: int

    @property
    def percent(self) -> float:
        return 100.0 * len(self.lost) / self.memories if self.memories else 0.0

    def is_too_much(self, max_percent: float) -> bool:
        return bool(self.lost) and self.percent > max_percent


def under_own_names(before: Texts, after: Texts) -> tuple[Texts, Texts]:
    """The same texts, where a memory that moves to `.retired/` or back keeps its name."""
    moved = {file for file in before.keys() | after.keys() if before.get(file) != after.get(file)}

    def named(texts: Texts) -> dict[str, str]:
        found = {file: text for file, text in texts.items() if not is_in_retired(file)}
        for file in sorted(moved & texts.keys() - found.keys()):
            found.setdefault(name_when_current(file), texts[file])
        return found

    return named(before), named(after)


def diffs(
    before: Texts,
    after: Texts,
    today: str,
    *,
    present: Callable[[str], str] = presentable,
    parse: Parse = topics.parse,
    pace: Pace = at_once,
) -> tuple[FileDiff, ...]:
    """Every file that differs or is newly retired, by name; the index last.

    `present` and `parse` may remember what they have seen.
    """
    files = {file for file in before.keys() | after.keys() if before.get(file) != after.get(file)}
    retired = believed(before, today, parse) - believed(after, today, parse)
    # What had ended was not believed before, but it moves only now.
    retired |= {file for file in files & before.keys() if parse(after.get(file, "")).retired}
    ordered = sorted(files | retired, key=lambda file: (file == INDEX_FILE, file))
    return tuple(_diff(file, before, after, retired, present) for file in pace(ordered))


def loss(
    before: Texts,
    after: Texts,
    today: str,
    ended: Collection[str] = (),
    *,
    parse: Parse = topics.parse,
    pace: Pace = at_once,
) -> Loss:
    """The current memories that the dream would lose, without those that `ended` by their words."""
    believed_before = believed(before, today, parse) - frozenset(ended)
    believed_after = believed(after, today, parse)
    changed = {file for file, text in after.items() if before.get(file) != text}
    moved = frozenset[str]().union(*(_words(after[file]) for file in changed & believed_after))
    lost = [
        file
        for file in pace(sorted(believed_before))
        if (file in changed or file not in believed_after)
        and _is_lost(before[file], after.get(file), moved, parse, stays=file in believed_after)
    ]
    return Loss(tuple(lost), len(believed_before))


def removes_words(before: str | None, after: str | None) -> bool:
    return before is not None and not _words(before) <= _words(after or "")


def in_safe_order(before: Texts, changed: Collection[str], after: Texts) -> list[str]:
    """Additions before removals, so that words that move are in both files for a moment."""
    return sorted(
        changed, key=lambda file: (removes_words(before.get(file), after.get(file)), file)
    )


def believed(texts: Texts, today: str, parse: Parse = topics.parse) -> frozenset[str]:
    """The memories that are not retired."""
    parsed = {file: _header(text, parse) for file, text in texts.items() if file != INDEX_FILE}
    superseded = frozenset(old for topic in parsed.values() for old in topic.supersedes)
    return frozenset(
        file
        for file, topic in parsed.items()
        if not topics.is_retired(file, topic, superseded, today)
    )


def _header(text: str, parse: Parse) -> Topic:
    """What a memory says about being retired; most do not mention it, and are not parsed."""
    says_so = "supersedes" in text or "retired" in text or "valid_until" in text
    return parse(text) if says_so else Topic()


def _is_lost(
    before: str, after: str | None, moved: frozenset[str], parse: Parse, *, stays: bool
) -> bool:
    if after is None or _is_emptied(parse(before), parse(after)):
        return True
    # A retired memory stays on disk, but is not recalled: its words must be in another one.
    return not _is_kept(_words(before), moved | _words(after) if stays else moved)


def _is_emptied(old: Topic, new: Topic) -> bool:
    return len(new.body.strip()) < LEAST_LEFT * len(old.body.strip())


def _is_kept(words: frozenset[str], found: frozenset[str]) -> bool:
    return not words or len(words & found) >= LEAST_KEPT * len(words)


@remembered(_REMEMBERED_TEXTS)
def _words(text: str) -> frozenset[str]:
    return frozenset(terms_of(headers.body_of(text)))


def _diff(
    file: str,
    before: Texts,
    after: Texts,
    retired: Collection[str],
    present: Callable[[str], str],
) -> FileDiff:
    from difflib import unified_diff  # noqa: PLC0415 - only a dream needs it

    old, new = before.get(file), after.get(file)
    action: FileAction = "changed"
    if file == INDEX_FILE:
        action = "index"
    elif old is None:
        action = "new"
    elif new is None:
        action = "removed"
    elif file in retired:
        action = "retired"
    if action == "retired":
        new = revived_text(new or "")  # that it says so itself is not a change of what it says
    # Diffs are shown and stored. The whole text is masked: a secret may span several lines.
    old_lines, new_lines = present(old or "").splitlines(), present(new or "").splitlines()
    if len(old_lines) + len(new_lines) > DIFF_LINES:
        return FileDiff(file, action, len(new_lines), len(old_lines), "(too long to show)\n")
    lines = list(unified_diff(old_lines, new_lines, file, file, lineterm="", n=2))
    added = sum(line.startswith("+") for line in lines[2:])
    removed = sum(line.startswith("-") for line in lines[2:])
    if not lines and old != new:
        return FileDiff(file, action, 0, 0, "(only masked or invisible text changed)\n")
    return FileDiff(file, action, added, removed, _cut("\n".join(lines)))


def _cut(text: str) -> str:
    if len(text) <= DIFF_CHARACTERS:
        return text
    return text[:DIFF_CHARACTERS].rpartition("\n")[0] + "\n(cut)"
