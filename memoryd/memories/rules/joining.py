"""How the memories of one directory go into another one: by content, never over something else.

Rules
- A file whose bytes are in the other directory already, under any name, is not needed twice.
- A name that is taken there by another text gets a number; a retired one stays retired.
- Everything else keeps its name.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

from memoryd.memories.rules.retirement import (
    free_name,
    is_in_retired,
    name_when_current,
    retired_name,
)

JoinAction = Literal["move", "rename", "same"]


class JoinedFile(msgspec.Struct, frozen=True):
    """A file of the one directory, and what it is in the other."""

    file: str
    to: str
    action: JoinAction
    sha256: str


def joined(source: Mapping[str, str], target: Mapping[str, str]) -> list[JoinedFile]:
    """What becomes of each file of `source`; both map file names to hashes."""
    by_hash = {sha256: file for file, sha256 in target.items()}
    taken = {*target, *(name_when_current(file) for file in target)}
    found: list[JoinedFile] = []
    for file, sha256 in sorted(source.items()):
        if sha256 in by_hash:
            found.append(JoinedFile(file, by_hash[sha256], "same", sha256))
            continue
        to = _free(file, taken)
        taken |= {to, name_when_current(to)}
        found.append(JoinedFile(file, to, "move" if to == file else "rename", sha256))
    return found


def _free(file: str, taken: set[str]) -> str:
    if not is_in_retired(file):
        return free_name(file, taken)
    current = free_name(name_when_current(file), taken)
    return retired_name(current, taken)
