"""Applies a dream that the guard refused: a person has reviewed it and wants it.

- The acceptance is a dream of its own in the table, with a lock and an undo like any other. A kill
  in the middle leaves the refused dream as it was, to be accepted again.
- Only what was shown is applied. A kept copy that was changed or removed is no longer valid.
- Nothing is overwritten that the dream has not read. If one of its files changed since, all of it
  is refused. Memories that were added since are kept, with their lines in the index.
"""

import anyio
import anyio.to_thread
import msgspec

from memoryd.base.errors import Conflict, NotFound, Refused
from memoryd.dreams.copied_files import Files
from memoryd.dreams.dream_table import Dream, DreamTable, Undoable
from memoryd.dreams.run import DreamRun
from memoryd.dreams.target import DreamTarget
from memoryd.dreams.working_copy import WorkingCopies
from memoryd.memories.records import MemoryDirectory, Stored
from memoryd.memories.rules.topics import INDEX_FILE
from memoryd.memories.store import Store
from memoryd.system.folder import version_of
from memoryd.text.decode import decoded


class KeptResult(msgspec.Struct, frozen=True):
    """What a refused dream read, and what it made of that."""

    before: Files
    after: Files


async def accept_refused(
    run: DreamRun, refused: Dream, *, store: Store, table: DreamTable, copies: WorkingCopies
) -> None:
    """The work of an acceptance; it costs nothing, since the refused dream was paid for."""
    summary = refused.summary
    run.summarize(
        how=summary.how,
        memories=summary.memories,
        files=summary.files,
        flags=summary.flags,
        lost=summary.lost,
        said=summary.said,
        logs_read=summary.logs_read,
    )

    def apply() -> None:
        kept = kept_result(refused, run.target, store, table)
        run.announce_start()
        run.apply(kept.before, kept.after)
        table.mark_accepted(refused.id, by=run.id)
        copies.remove(refused.id)

    with anyio.CancelScope(shield=True):
        await anyio.to_thread.run_sync(apply)


def kept_result(refused: Dream, target: DreamTarget, store: Store, table: DreamTable) -> KeptResult:
    """What to apply; Refused if it is not what was shown, Conflict if memories changed since."""
    if refused.state != "refused":
        raise Refused(
            f"dream {refused.id} is {refused.state}",
            hint="only a dream that the guard refused can be accepted",
        )
    rows = table.files(refused.id)
    copy = MemoryDirectory(refused.summary.kept_at, refused.scope)
    after = {row.file: one for row in rows if (one := _read(store, copy, row.file))}
    again = f"start a new dream: {target.command('--now')}"
    if not rows or any(_version(after.get(row.file)) != row.after for row in rows):
        raise Refused(f"the copy of dream {refused.id} is gone or was changed", hint=again)
    changed = [row.file for row in rows if _has_changed(store, refused.memory, row)]
    if changed:
        raise Conflict(f"changed since dream {refused.id}: {', '.join(changed)}", hint=again)
    before = {row.file: one for row in rows if (one := _before(refused.memory, row))}
    return KeptResult(before, {file: _reviewed(one) for file, one in after.items()})


def _reviewed(one: Stored) -> Stored:
    """The person has seen these very bytes."""
    return msgspec.structs.replace(one, origin="confirmed") if one.origin == "found" else one


def _read(store: Store, directory: MemoryDirectory, file: str) -> Stored | None:
    try:
        return store.read(directory, file)
    except NotFound:
        return None


def _version(stored: Stored | None) -> str | None:
    return stored.version if stored else None


def _has_changed(store: Store, directory: MemoryDirectory, row: Undoable) -> bool:
    """A changed index is not a conflict: it is repaired instead."""
    was = None if row.before is None else version_of(row.before)
    return row.file != INDEX_FILE and _version(_read(store, directory, row.file)) != was


def _before(directory: MemoryDirectory, row: Undoable) -> Stored | None:
    if row.before is None:
        return None
    text = decoded(row.before)
    return Stored(directory, row.file, text, version_of(row.before), row.modified, row.before)
