"""A dream that the guard refused, applied all the same: a person has looked at it and wants it.

- It is a dream of its own in the book, with the lock and the undo that every dream has. A kill in
  the middle leaves the refused one as it was, to be accepted again.
- Nothing is applied but what was shown. A kept copy that somebody has touched is no good any more.
- Nothing is overwritten that the dream had not read. Where one of its files has changed since, it
  is refused as a whole. Memories that came since are kept, and so are their lines in the index.
"""

import anyio
import anyio.to_thread
import msgspec

from memoryd.base.errors import Conflict, NotFound, Refused
from memoryd.dreams.dream_table import Dream, Undoable
from memoryd.dreams.run import DreamRun, Means, sweep_copies
from memoryd.dreams.target import DreamTarget
from memoryd.dreams.working_copy import Files
from memoryd.memories.records import MemoryDirectory, Stored
from memoryd.memories.rules.topics import INDEX_FILE
from memoryd.memories.store import Store
from memoryd.system.folder import version_of
from memoryd.text.decode import decoded


class Kept(msgspec.Struct, frozen=True):
    """What a refused dream read, and what it made of that."""

    before: Files
    after: Files


def kept_result(means: Means, ground: DreamTarget, refused: Dream) -> Kept:
    """What is to be applied; Refused when it is not what was shown, Conflict when it is too old."""
    if refused.state != "refused":
        raise Refused(
            f"dream {refused.id} is {refused.state}",
            hint="only a dream that the guard refused can be accepted",
        )
    rows = means.book.files(refused.id)
    copy = MemoryDirectory(refused.summary.kept_at, refused.scope)
    after = {row.file: one for row in rows if (one := _read(means.store, copy, row.file))}
    if not rows or any(_version(after.get(row.file)) != row.after for row in rows):
        raise Refused(
            f"the copy of dream {refused.id} is gone or was changed",
            hint=f"dream again: {ground.command('--now')}",
        )
    changed = [row.file for row in rows if _was_changed(means.store, refused.place, row)]
    if changed:
        raise Conflict(
            f"changed since dream {refused.id}: {', '.join(changed)}",
            hint=f"it has not read what they say now; dream again: {ground.command('--now')}",
        )
    before = {row.file: one for row in rows if (one := _before(refused.place, row))}
    return Kept(before, after)


class Acceptance(DreamRun):
    """Applies what a refused dream made; costs nothing, since nobody dreams."""

    def __init__(self, means: Means, ground: DreamTarget, refused: Dream) -> None:
        super().__init__(means, ground, "accepted")
        self._refused = refused
        self._add(
            how=refused.summary.how,
            memories=refused.summary.memories,
            files=refused.summary.files,
            flags=refused.summary.flags,
            lost=refused.summary.lost,
            said=refused.summary.said,
            logs_read=refused.summary.logs_read,
        )

    async def _dream(self) -> None:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._accept)

    def _accept(self) -> None:
        kept = kept_result(self._means, self.ground, self._refused)
        self._tell_start()
        self._apply(kept.before, kept.after)
        self._means.book.mark_accepted(self._refused.id, by=self.id)
        sweep_copies(self._means)


def _read(store: Store, directory: MemoryDirectory, file: str) -> Stored | None:
    try:
        return store.read(directory, file)
    except NotFound:
        return None


def _version(stored: Stored | None) -> str | None:
    return stored.version if stored else None


def _was_changed(store: Store, directory: MemoryDirectory, row: Undoable) -> bool:
    """The index is no memory: one that moved on is mended instead."""
    was = None if row.before is None else version_of(row.before)
    return row.file != INDEX_FILE and _version(_read(store, directory, row.file)) != was


def _before(directory: MemoryDirectory, row: Undoable) -> Stored | None:
    if row.before is None:
        return None
    text = decoded(row.before)
    return Stored(directory, row.file, text, version_of(row.before), row.modified, row.before)
