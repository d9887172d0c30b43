"""The history of a project's memories: what each said before, and how to restore it."""

from contextlib import suppress

import msgspec

from memoryd.base.errors import Conflict, InvalidInput, NotFound
from memoryd.memories.agents import FindsProject
from memoryd.memories.catalog import By, Catalog, Saved
from memoryd.memories.records import Listed, MemoryDirectory
from memoryd.memories.rules import headers, topics
from memoryd.memories.rules.retirement import is_in_retired, name_when_current, revived_text
from memoryd.memories.rules.topics import Topic
from memoryd.memories.store import Store
from memoryd.memories.version_table import Version, VersionTable
from memoryd.text.decode import decoded
from memoryd.text.masking.mask import presentable

_RETIRING = ("valid_until", "superseded_by", "retired")


class MemoryPlace(msgspec.Struct, frozen=True):
    """A file that is or was a memory."""

    directory: MemoryDirectory
    file: str


class Versions:
    def __init__(
        self, scopes: FindsProject, catalog: Catalog, store: Store, versions: VersionTable
    ) -> None:
        self._scopes = scopes
        self._catalog = catalog
        self._store = store
        self._versions = versions

    def history(self, cwd: str, named: str) -> list[Version]:
        """Every version, newest first, including a current one that another program wrote."""
        place = self.find(cwd, named)
        with suppress(NotFound):  # forgotten: only its history is left
            self._store.recorded(place.directory, place.file)
        return self._versions.versions(place.directory.path, name_when_current(place.file))

    def text(self, cwd: str, named: str, version: int) -> str:
        """The text of a version, as it may be shown."""
        place = self.find(cwd, named)
        name = name_when_current(place.file)
        data = self._versions.content(place.directory.path, name, version)
        return presentable(decoded(data))

    def edit(self, cwd: str, named: str, text: str, version: int, *, by: By = "user") -> Saved:
        """Writes what somebody made of a version; Conflict if there is a newer one by now.

        The header must stay one that we can read. The text is their word from here on.
        """
        one = self._catalog.find(cwd, named)
        before = self._store.recorded(one.directory, one.file)
        read = next(
            (known for known in self.history(cwd, one.path) if known.version == version), None
        )
        if read is None:
            raise NotFound(f"{one.file} has no version {version}", hint=f"memoryd show {one.file}")
        _check_header(one.file, before.topic, topics.parse(text))
        trust = "user-said" if by == "user" else "agent-concluded"
        after = topics.parse(text)
        if after.trust != trust and (after.trust or before.topic.trust or by == "agent"):
            text = headers.change(text, {"trust": trust})
        try:
            stored = self._store.write(one.directory, one.file, text, over=read.sha256, cause=by)
        except Conflict as error:
            raise Conflict(
                f"{one.file} was changed meanwhile; it stays as it is",
                hint=f"memoryd history {one.file} shows both texts",
            ) from error
        return Saved(stored.path, stored.number)

    def restore(self, cwd: str, named: str, version: int | None) -> Saved:
        """Makes an earlier version the current one.

        Without a version: a forgotten memory gets its last text back, a retired one becomes active
        again, under its old name if that is free, any other goes one step back.
        """
        place = self.find(cwd, named)
        if is_in_retired(place.file):
            place = self._bring_back(place)
            if version is None:
                return self._saved(place)
        present = self._present(place)
        if version is None and present is not None and present.retired:
            return self._unretire(place, present)
        chosen = version if version is not None else self._step_back(place, present)
        data = self._versions.content(place.directory.path, place.file, chosen)
        if topics.parse(decoded(data)).retired:
            data = revived_text(decoded(data)).encode()
        over = self._store.read(place.directory, place.file).version if present else None
        stored = self._store.restore(place.directory, place.file, data, over=over)
        return Saved(stored.path, stored.number)

    def find(self, cwd: str, named: str) -> MemoryPlace:
        """Looks among the current memories, then among those that are gone."""
        try:
            one = self._catalog.find(cwd, named)
        except NotFound:
            wanted = named.rpartition("/")[2].removesuffix(".md")
            for directory in self._scopes.project(cwd).directories:
                for file in self._versions.files(directory.path):
                    if file.removesuffix(".md") == wanted or f"{directory.path}/{file}" == named:
                        return MemoryPlace(directory, file)
            if gone := self._forgotten_as(cwd, named):
                return MemoryPlace(gone.directory, gone.file)
            raise
        return MemoryPlace(one.directory, one.file)

    def forgotten(self, cwd: str) -> list[Listed]:
        """Memories that were forgotten, the last one first; `modified` says when that was."""
        found = [
            one
            for directory in self._scopes.project(cwd).directories
            for file in self._versions.files(directory.path)
            if (one := self._last_of_forgotten(directory, file)) is not None
        ]
        return sorted(found, key=lambda one: -one.modified)

    def _last_of_forgotten(self, directory: MemoryDirectory, file: str) -> Listed | None:
        """The last text of a file whose newest version is its removal."""
        versions = self._versions.versions(directory.path, file)
        kept = [one for one in versions if one.cause != "refused"]
        texts = [one for one in kept if one.sha256]
        if not texts or kept[0].sha256 or file == topics.INDEX_FILE:
            return None
        data = self._versions.content(directory.path, file, texts[0].version)
        topic = topics.parse(presentable(decoded(data)))
        return Listed(directory, file, topic, kept[0].at, len(data))

    def _forgotten_as(self, cwd: str, named: str) -> Listed | None:
        """What `forget` may have been told: a title, or a part of a file name; None if unsure."""
        gone = self.forgotten(cwd)
        wanted = named.casefold()
        by_title = [
            one for one in gone if topics.title_of(one.topic, one.file).casefold() == wanted
        ]
        by_part = [one for one in gone if len(wanted) >= 3 and wanted in one.file]
        found = by_title or by_part
        if len(found) > 1:
            choices = ", ".join(one.path for one in found)
            raise InvalidInput(
                f"{named!r} matches several forgotten memories", hint=f"use one of {choices}"
            )
        return found[0] if found else None

    def _present(self, place: MemoryPlace) -> Listed | None:
        return next(
            (one for one in self._store.scan(place.directory) if one.file == place.file), None
        )

    def _step_back(self, place: MemoryPlace, present: Listed | None) -> int:
        versions = [
            one
            for one in self._versions.versions(place.directory.path, place.file)
            if one.sha256 and one.cause != "refused"
        ]
        now = self._store.read(place.directory, place.file).version if present else ""
        for one in versions:
            if one.sha256 != now and not self._says_retired(place, one):
                return one.version
        raise InvalidInput(
            f"{place.file} has no earlier version", hint=f"memoryd history {place.file}"
        )

    def _says_retired(self, place: MemoryPlace, version: Version) -> bool:
        """A version that only says that it was retired is not a step in what it says."""
        data = self._versions.content(place.directory.path, place.file, version.version)
        return topics.parse(decoded(data)).retired != ""

    def _bring_back(self, place: MemoryPlace) -> MemoryPlace:
        """Out of `.retired/`; first, so that a kill cannot retire it again, out of `supersedes`."""
        self._release(place)
        return MemoryPlace(
            place.directory, self._store.bring_back(place.directory, place.file).file
        )

    def _unretire(self, place: MemoryPlace, present: Listed) -> Saved:
        """One that was never moved: without the fields that make it retired."""
        self._release(place)
        fields = [field for field in _RETIRING if getattr(present.topic, field)]
        if fields:
            self._change(place.directory, place.file, dict.fromkeys(fields))
        return self._saved(place)

    def _release(self, place: MemoryPlace) -> None:
        """Removes it from the `supersedes` of current memories."""
        for one in self._store.scan(place.directory):
            if place.file in one.topic.supersedes:
                left = ", ".join(old for old in one.topic.supersedes if old != place.file)
                self._change(place.directory, one.file, {"supersedes": left or None})

    def _saved(self, place: MemoryPlace) -> Saved:
        stored = self._store.recorded(place.directory, place.file)
        return Saved(stored.path, stored.number)

    def _change(self, directory: MemoryDirectory, file: str, fields: dict[str, str | None]) -> None:
        old = self._store.read(directory, file)
        text = headers.change(old.text, fields)
        self._store.write(directory, file, text, over=old.version, cause="restore")


def _check_header(file: str, before: Topic, after: Topic) -> None:
    """What a memory had before, it must still have."""
    if not after.body.strip():
        raise InvalidInput(
            "there is no text left below the header", hint=f"to remove it: memoryd forget {file}"
        )
    if before.has_header and not after.has_header:
        raise InvalidInput(
            "the header cannot be read", hint="it is the lines between --- and ---, key: value"
        )
    if before.name and not after.name:
        raise InvalidInput("the header has no name", hint="add a line such as name: Use tabs")
    if before.type and not after.type:
        kinds = ", ".join(topics.TYPES)
        raise InvalidInput("the header has no valid type", hint=f"the type is one of {kinds}")
