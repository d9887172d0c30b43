"""Retired memories: out of the way, but not gone.

Rules
- A memory that another one replaced, or that the person took back, moves to `.retired/` inside its
  memory directory, under its name. There no scan sees it, neither ours nor the client's.
- Its header says when it was retired and, if there is one, which memory took its place. That one
  names it, as `.retired/name.md`, in its own `supersedes`.
- If the name is taken in `.retired/`, `~2` and so on is appended: `name~2.md`.
- A move is three steps: the copy in `.retired/`, the memory that replaces it, the removal. A kill
  in between leaves copy and original. The move is finished if the memory that replaces it is there
  and names the copy; else it never happened, and the copy is dropped.
"""

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Final

from memoryd.memories.rules import headers, topics
from memoryd.memories.rules.topics import Topic
from memoryd.text.lazy_regex import late

RETIRED_FOLDER: Final = ".retired"
_PREFIX: Final = f"{RETIRED_FOLDER}/"
_NUMBERED = late(r"~\d+(?=\.md\Z)")
_FIELDS: Final = ("superseded_by", "retired")


def is_in_retired(file: str) -> bool:
    """Whether the file of a memory directory is in `.retired/`."""
    return file.startswith(_PREFIX)


def name_when_current(file: str) -> str:
    """The name that a file in `.retired/` had, and gets back; any other keeps its own."""
    return _NUMBERED.sub("", file.removeprefix(_PREFIX)) if is_in_retired(file) else file


def retired_name(file: str, taken: Container[str]) -> str:
    """A free name in `.retired/` for a memory; `taken` are the files there."""
    candidate, number = f"{_PREFIX}{file}", 1
    while candidate in taken:
        number += 1
        candidate = f"{_PREFIX}{file.removesuffix('.md')}~{number}.md"
    return candidate


def free_name(file: str, taken: Container[str]) -> str:
    """The name itself, or with a number if that is taken."""
    candidate, number = file, 1
    while candidate in taken:
        number += 1
        candidate = f"{file.removesuffix('.md')}_{number}.md"
    return candidate


def retired_text(text: str, *, superseded_by: str, day: str) -> str:
    """The memory with what its header says from now on."""
    fields = {"superseded_by": superseded_by or None, "retired": day}
    return headers.change(text, fields)


def revived_text(text: str) -> str:
    """The memory without the fields of a retired one."""
    if not any(headers.read(text)[0].get(field) for field in _FIELDS):
        return text
    return headers.change(text, dict.fromkeys(_FIELDS))


def is_copy(retired: str, original: str) -> bool:
    """Whether a retired text is this memory, and not another one of the same name."""
    one, other = topics.parse(retired), topics.parse(original)
    return (one.name, one.body.strip()) == (other.name, other.body.strip())


def with_links(text: str, moved: Mapping[str, str]) -> str:
    """A memory whose `supersedes` names the files where they are now."""
    names = topics.parse(text).supersedes
    after = tuple(moved.get(name, name) for name in names)
    return text if after == names else headers.change(text, {"supersedes": ", ".join(after)})


def superseded_in_place(
    replacing: Topic, current: Callable[[str], Topic | None], own: str
) -> list[str]:
    """The current files that this memory replaces, and those that these had replaced.

    `current` is what a file says, None if there is no such memory.

    Older stores left a replaced memory where it was: it must not come back with the one that
    replaced it gone.
    """
    found: list[str] = []
    waiting = list(replacing.supersedes)
    while waiting:
        file = waiting.pop(0)
        topic = current(file) if file != own and file not in found else None
        if topic is not None:
            found.append(file)
            waiting += topic.supersedes
    return found


def may_retire(topic: Topic, today: str) -> bool:
    """Whether a memory is retired where it is, or may retire another one."""
    names_current = any(not is_in_retired(name) for name in topic.supersedes)
    return names_current or topics.is_retired("", topic, frozenset(), today)


def move_is_wanted(retired: Topic, file: str, replacing: Iterable[str]) -> bool:
    """Whether to finish a move that a kill interrupted.

    `file` is the copy in `.retired/`, `replacing` what the memory that took its place names.
    """
    return retired.superseded_by != "" and file in replacing
