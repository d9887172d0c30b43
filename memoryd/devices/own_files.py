"""The files of this machine that travel: what is there, what is sent, what is taken. Blocking.

- A file is known by its hash and its row's name. A checkpoint is a file too.
- What comes is written byte for byte over the version that was planned with. What it replaces is in
  the history, and so is its own line there: when and why it was written, on whichever machine.
- A removal travels if it was made with memoryd or by an agent; a file that another program deleted
  is missing on this machine only.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final, get_args

import msgspec

from memoryd.base.errors import Conflict, MemorydError, NotFound
from memoryd.base.timestamps import seconds_of
from memoryd.devices.own_places import OwnPlace
from memoryd.devices.rules.payloads import RowKind, RowPayload, RowPlace, why_not_named
from memoryd.memories.records import Stored
from memoryd.memories.rules.retirement import is_in_retired, name_when_current
from memoryd.memories.store import Store
from memoryd.memories.version_table import Cause, VersionTable
from memoryd.sessions.checkpoints import Checkpoints
from memoryd.system.folder import version_of
from memoryd.team.local_files import LocalFiles

# A file that is gone for another reason stays where it is on the other machines.
_TRAVELS: Final = frozenset({"user", "agent", "dream", "extraction", "move", "restore", "adopted"})
_CAUSES: Final = frozenset(get_args(Cause))


class OwnFile(msgspec.Struct, frozen=True):
    """A file here, by its hash."""

    here: OwnPlace
    place: RowPlace
    sha256: str


class OwnFiles:
    def __init__(
        self,
        store: Store,
        versions: VersionTable,
        checkpoints: Checkpoints,
        now: Callable[[], float],
    ) -> None:
        self._store = store
        self._versions = versions
        self._checkpoints = checkpoints
        self._now = now
        self._hashes = LocalFiles(store, versions, now)

    # --- what is here ---------------------------------------------------------------------------

    def found_in(self, here: OwnPlace) -> Iterator[OwnFile]:
        """Every file of a place whose name can travel."""
        for file, sha256 in self._hashes.hashes(here.directory).items():
            yield OwnFile(here, place_of(here, "memory", file), sha256)
        for one in self._store.retired(here.directory):
            with suppress(MemorydError):
                stored = self._store.read(here.directory, one.file)
                yield OwnFile(here, place_of(here, "memory", one.file), stored.version)
        for kept in self._checkpoints.list(here.root) if here.root else ():
            text = self._checkpoint(here, kept.name)
            if text is not None:
                yield OwnFile(here, place_of(here, "checkpoint", kept.name), version_of(text))

    def payload(self, one: OwnFile, counter: int, clock_off: float) -> RowPayload | None:
        """What is sent of a file as it is now; None if it is not what was planned with any more."""
        here, path = one.here, one.place.path
        if one.place.kind == "checkpoint":
            text = self._checkpoint(here, path)
            if text is None or version_of(text) != one.sha256:
                return None
            at = self._checkpoint_time(here, path) - clock_off
            return RowPayload(
                place=one.place, counter=counter, text=text, at=at, commit=here.commit
            )
        try:
            stored = self._store.recorded(here.directory, path)
        except MemorydError:
            return None
        if stored.version != one.sha256:
            return None
        at, cause = self._head_of(one, stored)
        return RowPayload(
            place=one.place,
            counter=counter,
            text=stored.data,
            at=at - clock_off,
            cause=cause,
            origin=stored.origin or "found",
            author=stored.author,
            commit=here.commit,
        )

    def removal(
        self, here: OwnPlace, place: RowPlace, counter: int, clock_off: float
    ) -> RowPayload:
        """What is sent of a file that was removed: when, why, and what it said last."""
        name = name_when_current(place.path)
        versions = self._versions.versions(here.directory.path, name)
        at, cause, last = self._now(), "", None
        if versions and place.kind == "memory" and not is_in_retired(place.path):
            at, cause = versions[0].at, versions[0].cause
            texts = [one for one in versions if one.sha256 and one.cause != "refused"]
            if texts:
                with suppress(NotFound):
                    number = texts[0].version
                    last = self._versions.content(here.directory.path, name, number)
        return RowPayload(
            place=place,
            counter=counter,
            text=None,
            at=at - clock_off,
            cause=cause,
            commit=here.commit,
            last=last,
        )

    def was_removed(self, here: OwnPlace, place: RowPlace) -> bool:
        """Whether a file that is gone was removed on purpose, here."""
        if place.kind == "checkpoint":
            return self._checkpoints.has_folder(here.root)
        name = name_when_current(place.path)
        if is_in_retired(place.path) and self._store.listed(here.directory, name) is not None:
            return True  # it was brought back
        retired = self._store.retired(here.directory)
        if name == place.path and any(name_when_current(one.file) == name for one in retired):
            return True
        newest = self._versions.versions(here.directory.path, name)[:1]
        if not newest:  # its history went elsewhere with it
            return name == place.path
        return not newest[0].sha256 and newest[0].cause in _TRAVELS

    # --- what comes -----------------------------------------------------------------------------

    def changed_at(self, one: OwnFile) -> float:
        """When a file was written here."""
        if one.place.kind == "checkpoint":
            return self._checkpoint_time(one.here, one.place.path)
        stored = self._store.recorded(one.here.directory, one.place.path)
        return self._head_of(one, stored)[0]

    def take(self, here: OwnPlace, payload: RowPayload, local: str, clock_off: float) -> int:
        """Writes or removes one file; returns the number of the version that it replaced.

        Conflict if it is not what was planned with any more.
        """
        place = payload.place
        if reason := why_not_named(place):
            raise Conflict(reason)
        if place.kind == "checkpoint":
            self._take_checkpoint(here, payload, local)
            return 0
        directory, file = here.directory, place.path
        with self._store.together(directory):
            before = self._before(here, file, local)
            self._note_origin(payload)
            if payload.text is None:
                self._remove(here, payload, before, clock_off)
            else:
                at = payload.at + clock_off
                self._store.put_back(
                    directory,
                    file,
                    payload.text,
                    over=before.version if before else None,
                    cause="sync",
                    modified=at,
                )
                if not is_in_retired(file):
                    cause = _cause_of(payload)
                    self._versions.made_elsewhere(directory.path, file, at=at, cause=cause)
        return before.number if before else 0

    def has_had(self, one: OwnFile, sha256: str) -> bool:
        """Whether a text is in the history of a file here."""
        name = name_when_current(one.place.path)
        versions = self._versions.versions(one.here.directory.path, name)
        return any(known.sha256 == sha256 for known in versions)

    def keep_aside(self, one: OwnFile, payload: RowPayload, clock_off: float) -> int:
        """A change from another machine that loses: into the history, before what stays."""
        if one.place.kind == "checkpoint":
            self._checkpoint_aside(one.here, one.place.path, payload.text)
            return 0
        data = payload.text if payload.text is not None else payload.last
        if data is None or is_in_retired(one.place.path):
            return 0
        directory, file = one.here.directory, one.place.path
        with self._store.together(directory):
            mine = self._store.recorded(directory, file)
            if mine.version != one.sha256:
                raise Conflict(f"{file} was changed meanwhile")
            self._note_origin(payload)
            number = self._record(one.here, payload, data, clock_off)
            self._versions.record(directory.path, file, mine.data, at=self._now(), cause="restore")
        return number

    def put_aside(self, one: OwnFile) -> None:
        """A checkpoint of this machine that loses gets a name of its own."""
        self._checkpoint_aside(one.here, one.place.path, self._checkpoint(one.here, one.place.path))

    def finish(self, here: OwnPlace) -> None:
        """The index matches the files again."""
        with self._store.together(here.directory):
            self._store.update_index(here.directory)

    # --- inside ---------------------------------------------------------------------------------

    def _before(self, here: OwnPlace, file: str, local: str) -> Stored | None:
        try:
            before = self._store.recorded(here.directory, file)
        except NotFound:
            before = None
        if (before.version if before else "") != local:
            raise Conflict(f"{file} was changed meanwhile")
        return before

    def _remove(
        self, here: OwnPlace, payload: RowPayload, before: Stored | None, clock_off: float
    ) -> None:
        file = payload.place.path
        if before is None:
            # Forgotten before it ever was here: its history still comes.
            is_new = self._versions.newest(here.directory.path, file) is None
            if payload.last is not None and is_new and not is_in_retired(file):
                self._record(here, payload, payload.last, clock_off)
                self._versions.record(
                    here.directory.path, file, None, at=payload.at + clock_off, cause="sync"
                )
            return
        self._store.put_back(here.directory, file, None, over=before.version, cause="sync")

    def _record(self, here: OwnPlace, payload: RowPayload, data: bytes, clock_off: float) -> int:
        """The line of the history, as it is where it was written."""
        file = payload.place.path
        if is_in_retired(file):
            return 0
        return self._versions.record(
            here.directory.path, file, data, at=payload.at + clock_off, cause=_cause_of(payload)
        )

    def _note_origin(self, payload: RowPayload) -> None:
        data = payload.text if payload.text is not None else payload.last
        if data is None or payload.origin == "found":
            return
        if payload.origin == "team":
            self._versions.origins.note_team(version_of(data), payload.author)
        else:
            self._versions.origins.note(data, payload.origin)

    def _head_of(self, one: OwnFile, stored: Stored) -> tuple[float, str]:
        versions = self._versions.versions(
            one.here.directory.path, name_when_current(one.place.path)
        )
        for version in versions:
            if version.sha256 == stored.version:
                # Another program's change was found later than it was made.
                is_found = version.cause == "outside"
                at = min(version.at, stored.modified) if is_found else version.at
                return at, version.cause
        return stored.modified, ""

    def _checkpoint(self, here: OwnPlace, name: str) -> bytes | None:
        try:
            return self._checkpoints.get(here.root, name)[1].encode()
        except MemorydError:
            return None

    def _checkpoint_time(self, here: OwnPlace, name: str) -> float:
        with suppress(MemorydError):
            return seconds_of(self._checkpoints.get(here.root, name)[0].saved) or 0.0
        return 0.0

    def _take_checkpoint(self, here: OwnPlace, payload: RowPayload, local: str) -> None:
        name = payload.place.path
        before = self._checkpoint(here, name)
        if (version_of(before) if before is not None else "") != local:
            raise Conflict(f"the checkpoint {name} was changed meanwhile")
        if payload.text is not None:
            self._checkpoints.save(here.root, name, payload.text.decode())
        elif before is not None:
            self._checkpoints.remove(here.root, name)

    def _checkpoint_aside(self, here: OwnPlace, name: str, text: bytes | None) -> None:
        """There is no history of checkpoints: the other one gets a name of its own."""
        if text is not None:
            self._checkpoints.save(here.root, other_name(name), text.decode())


def other_name(name: str) -> str:
    return f"{name[:50]} other"


def place_of(here: OwnPlace, kind: RowKind, path: str) -> RowPlace:
    return RowPlace(kind, "project" if here.project else "user", here.project, path)


def _cause_of(payload: RowPayload) -> Cause:
    """Why it was written there; a removal's last text came with the sync."""
    known = payload.cause if payload.text is not None and payload.cause in _CAUSES else "sync"
    cause: Cause = msgspec.convert(known, Cause)
    return cause
