"""What `privacy.exclude` takes out of a transcript: whole projects, and calls about single files.

A call that names an excluded file keeps its tool's name and nothing else; its result is left out
with it (`turns`). What the assistant says about the file in its own words is not recognised.
"""

from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from memoryd.text.private import PRIVATE
from memoryd.transcripts.rules.blocks import Block
from memoryd.transcripts.rules.entries import TranscriptEntry


class PrivateNames(Protocol):
    """What the settings exclude."""

    def project(self, cwd: str) -> bool:
        """Whether nothing that happens in this directory is read."""

    def files(self, names: Sequence[str], cwd: str) -> bool:
        """Whether one of these is an excluded file."""


class _NothingPrivate:
    def project(self, _cwd: str) -> bool:
        return False

    def files(self, _names: Sequence[str], _cwd: str) -> bool:
        return False


NOTHING_PRIVATE: Final[PrivateNames] = _NothingPrivate()


def without_private_calls(entry: TranscriptEntry, private: PrivateNames) -> TranscriptEntry:
    """The entry with only the names of tools where they touch an excluded file."""
    if not any(block.names for block in entry.blocks):
        return entry
    cwd = entry.place.cwd
    blocks = tuple(
        _emptied(block) if block.names and private.files(block.names, cwd) else block
        for block in entry.blocks
    )
    return msgspec.structs.replace(entry, blocks=blocks)


def _emptied(block: Block) -> Block:
    return msgspec.structs.replace(block, text=PRIVATE, gist="", writes="", names=())
