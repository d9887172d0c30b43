"""What to do about a snapshot of an agent's memory that came with a repository.

Rules
- No snapshot, nothing. No memory of the agent's own yet: the snapshot is copied, if that memory is
  inside the project. A repository puts nothing into the home, where every project would see it.
- A snapshot that is newer than the one taken last, or than the memory if none was ever taken, is
  told to the agent once. Nothing is overwritten.
- A snapshot is dated by `updatedAt` in `snapshot.json`; one without a valid date is none.
"""

from typing import Literal

import msgspec

from memoryd.base.timestamps import seconds_of

SNAPSHOT_FILE = "snapshot.json"

SnapshotStep = Literal["nothing", "copy", "tell"]


class SnapshotMarks(msgspec.Struct, frozen=True):
    """The dates of the snapshot that was taken last and of the one that was told of last."""

    taken: float | None = None
    told: float | None = None


class _Snapshot(msgspec.Struct, frozen=True, rename="camel"):
    updated_at: str = ""


def updated_at(data: bytes) -> float | None:
    """When a snapshot was made; None if the file does not say."""
    try:
        return seconds_of(msgspec.json.decode(data, type=_Snapshot).updated_at) or None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def next_step(
    made: float | None, newest: float | None, marks: SnapshotMarks, *, is_inside: bool = True
) -> SnapshotStep:
    """`newest` is when the agent's memory was last changed, None if it has none.

    `is_inside` if that memory is in the project.
    """
    if made is None:
        return "nothing"
    if newest is None and is_inside:
        return "copy"
    known = marks.taken if marks.taken is not None else newest or 0.0
    return "tell" if made > known and marks.told != made else "nothing"
