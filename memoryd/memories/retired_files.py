"""Moves memories into `.retired/` and back, on disk, with their history.

The policy is in `rules/retirement`. The history of a memory goes on under the name that it has
while it is current, so a move loses no version. The caller holds the directory's lock.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import msgspec

from memoryd.base.errors import Conflict, MemorydError, NotFound, Refused
from memoryd.base.timestamps import iso_time
from memoryd.memories.records import Listed, MemoryChanged, MemoryDirectory
from memoryd.memories.rules import retirement, topics
from memoryd.memories.rules.topics import INDEX_FILE, Topic
from memoryd.memories.scan import MarkdownFile, markdown_files, shown
from memoryd.memories.version_table import Cause, VersionTable
from memoryd.system.folder import Content, Folder
from memoryd.text.decode import decoded


class RetiringMemory(msgspec.Struct, frozen=True):
    """A memory on its way: its file, the copy in `.retired/`, and the bytes of both."""

    file: str
    to: str
    before: Content
    data: bytes


class RetiredFiles:
    def __init__(self, versions: VersionTable, now: Callable[[], float]) -> None:
        self._versions = versions
        self._now = now

    def listed(self, directory: MemoryDirectory, folder: Folder) -> list[Listed]:
        """The retired memories, in no order."""
        found = list(self._files(folder))
        headers = shown([topics.parse(text) for _, _, _, text in found])
        return [
            Listed(directory, file, topic, modified, size, retired=True)
            for (file, modified, size, _), topic in zip(found, headers, strict=True)
        ]

    def names(self, folder: Folder) -> frozenset[str]:
        return frozenset(one.path for one in self._entries(folder))

    def plan(
        self, folder: Folder, files: Sequence[str], *, superseded_by: str
    ) -> list[RetiringMemory]:
        """What moves where; nothing is written yet, and what is not a plain file stays."""
        taken = set(self.names(folder)) if files else set()
        moves: list[RetiringMemory] = []
        for file in files:
            with suppress(NotFound, Refused):
                before = folder.read(file)
                to = retirement.retired_name(file, taken)
                day = iso_time(self._now())[:10]
                text = retirement.retired_text(
                    decoded(before.data), superseded_by=superseded_by, day=day
                )
                moves.append(RetiringMemory(file, to, before, text.encode()))
                taken.add(to)
        return moves

    def copy(self, folder: Folder, moves: Sequence[RetiringMemory]) -> None:
        for one in moves:
            self._versions.origins.inherit(one.before.data, one.data)
            folder.write(one.to, one.data, over=None, modified=one.before.modified)

    def drop(self, folder: Folder, moves: Sequence[RetiringMemory]) -> None:
        """Takes the copies back."""
        for one in moves:
            with suppress(MemorydError):
                folder.remove(one.to, over=folder.read(one.to).version)

    def finish(
        self,
        directory: MemoryDirectory,
        folder: Folder,
        moves: Sequence[RetiringMemory],
        *,
        cause: Cause,
        session_id: str = "",
    ) -> list[MemoryChanged]:
        """Removes the originals; one that was changed meanwhile stays, without its copy.

        Returns what to post.
        """
        changes: list[MemoryChanged] = []
        for one in moves:
            self._record(directory, one.file, one.before.data, "outside", "")
            try:
                folder.remove(one.file, over=one.before.version)
            except (Conflict, NotFound):
                self.drop(folder, [one])
                continue
            self._record(directory, one.file, one.data, cause, session_id)
            changes.append(
                MemoryChanged(directory, one.file, "", cause, session_id, retired_to=one.to)
            )
        return changes

    def finish_interrupted(
        self, directory: MemoryDirectory, folder: Folder
    ) -> tuple[int, list[MemoryChanged]]:
        """Finishes or takes back the moves that a kill left half done; how many, what to post."""
        count = 0
        changes: list[MemoryChanged] = []
        for file, _, _, _ in list(self._files(folder)):
            try:
                copy = folder.read(file)
                original = folder.read(retirement.name_when_current(file))
            except MemorydError:
                continue
            if not retirement.is_copy(decoded(copy.data), decoded(original.data)):
                continue
            count += 1
            name = retirement.name_when_current(file)
            move = RetiringMemory(name, file, original, copy.data)
            if self._is_wanted(folder, topics.parse(decoded(copy.data)), file):
                changes += self.finish(directory, folder, [move], cause="restore")
            else:
                self.drop(folder, [move])
        return count, changes

    def bring_back(
        self, directory: MemoryDirectory, folder: Folder, file: str, taken: frozenset[str]
    ) -> str:
        """Moves a memory back, under its name if that is free; returns the name."""
        retired = folder.read(file)
        name = retirement.free_name(retirement.name_when_current(file), taken | {INDEX_FILE})
        data = self._before_it_was_retired(directory, file, retired)
        self._versions.origins.inherit(retired.data, data)
        folder.write(name, data, over=None, modified=retired.modified)
        self._record(directory, name, data, "restore", "")
        folder.remove(file, over=retired.version)
        return name

    def version_number(self, directory: MemoryDirectory, file: str, version: str) -> int:
        """The number of a retired file's version in its memory's history, 0 if it has none."""
        name = retirement.name_when_current(file)
        found = self._versions.versions(directory.path, name)
        return next((one.version for one in found if one.sha256 == version), 0)

    def copy_of(self, folder: Folder, file: str, before: bytes) -> bytes | None:
        """What `.retired/` holds of this memory, if that is where it went."""
        usual = f"{retirement.RETIRED_FOLDER}/{file}"  # looked at first: there may be many
        return self._copy_in(folder, [usual], before) or self._copy_in(
            folder,
            [one for one in self.names(folder) if retirement.name_when_current(one) == file],
            before,
        )

    def _copy_in(self, folder: Folder, names: Sequence[str], before: bytes) -> bytes | None:
        for name in names:
            with suppress(MemorydError):
                data = folder.read(name).data
                if retirement.is_copy(decoded(data), decoded(before)):
                    return data
        return None

    def _before_it_was_retired(
        self, directory: MemoryDirectory, file: str, retired: Content
    ) -> bytes:
        """The exact bytes from the history if they say the same, else without the added fields."""
        text = decoded(retired.data)
        name = retirement.name_when_current(file)
        for one in self._versions.versions(directory.path, name):
            if one.sha256 and one.cause != "refused" and one.sha256 != retired.version:
                data = self._versions.content(directory.path, name, one.version)
                then = decoded(data)
                if not topics.parse(then).retired and retirement.is_copy(text, then):
                    return data
        return retirement.revived_text(text).encode()

    def _is_wanted(self, folder: Folder, copy: Topic, file: str) -> bool:
        if not copy.superseded_by:
            return False
        for place in (copy.superseded_by, f"{retirement.RETIRED_FOLDER}/{copy.superseded_by}"):
            with suppress(MemorydError):
                replacing = topics.parse(decoded(folder.read(place).data))
                return retirement.move_is_wanted(copy, file, replacing.supersedes)
        return False

    def _files(self, folder: Folder) -> Iterator[tuple[str, float, int, str]]:
        """Name, time, size and first lines of each file in `.retired/`."""
        for one in self._entries(folder):
            text = one.head()
            if text is not None:
                yield one.path, one.stat.st_mtime, one.stat.st_size, text

    def _entries(self, folder: Folder) -> Iterator[MarkdownFile]:
        try:
            handle = folder.descend(retirement.RETIRED_FOLDER)
        except MemorydError:  # there is none, or it is a link
            return
        with Folder(folder.path, handle):
            yield from markdown_files(handle, frozenset(), f"{retirement.RETIRED_FOLDER}/")

    def _record(
        self, directory: MemoryDirectory, file: str, data: bytes, cause: Cause, session_id: str
    ) -> None:
        self._versions.record(
            directory.path, file, data, at=self._now(), cause=cause, session_id=session_id
        )
