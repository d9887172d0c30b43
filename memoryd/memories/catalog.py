"""The memories of a project in all its scopes, as callers name and see them.

Any caller may be a model, and anyone may have written the files: everything shown here is masked
and free of invisible characters. The files and the history keep every byte.
"""

import builtins
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Literal

import msgspec

from memoryd.base.errors import InvalidInput, NotFound
from memoryd.base.timestamps import iso_time
from memoryd.memories.agents import FindsProject
from memoryd.memories.encoded_list import EncodedList
from memoryd.memories.records import Listed, MemoryDirectory
from memoryd.memories.rules import topics
from memoryd.memories.rules.retirement import name_when_current
from memoryd.memories.rules.topics import INDEX_FILE, Scope, Topic, TopicType
from memoryd.memories.store import Store
from memoryd.text.masking.mask import presentable

By = Literal["user", "agent"]
_MODIFIED = attrgetter("modified")


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What a list shows of a memory."""

    path: str
    file: str
    name: str
    description: str
    type: TopicType | None
    scope: Scope
    modified: str
    age: str
    stale: bool
    bytes: int
    retired: bool
    superseded_by: str
    """The file that took its place; empty for most."""


class WholeMemory(Header, frozen=True, kw_only=True):
    """A memory with its text as it may be shown; `version` is its number in the history.

    `author` is the teammate who wrote it, if one did.
    """

    content: str
    version: int
    author: str


class Saved(msgspec.Struct, frozen=True):
    path: str
    version: int


class Moved(msgspec.Struct, frozen=True):
    """Where a memory is now and where it was; `source` and `scope` are scopes."""

    path: str
    version: int
    file: str
    scope: Scope
    source: Scope


class Catalog:
    def __init__(self, scopes: FindsProject, store: Store, now: Callable[[], float]) -> None:
        self._scopes = scopes
        self._store = store
        self._now = now
        self._encoded = EncodedList(self._header)

    def list(
        self,
        cwd: str,
        *,
        scope: Scope | None = None,
        type_: TopicType | None = None,
        retired: bool = False,
        as_of: float | None = None,
    ) -> list[Header]:
        """What a list shows of the memories that are `found`."""
        return self.headers(self.found(cwd, scope=scope, type_=type_, retired=retired, as_of=as_of))

    def found(
        self,
        cwd: str,
        *,
        scope: Scope | None = None,
        type_: TopicType | None = None,
        retired: bool = False,
        as_of: float | None = None,
    ) -> builtins.list[Listed]:
        """Newest first; retired ones only on request; `as_of`: the memories at that time."""
        project = self._scopes.project(cwd)
        directories = (project.directory(scope),) if scope else project.directories
        scans = [self._scan(directory, as_of, with_retired=retired) for directory in directories]
        found = [
            one
            for scan in scans
            for one in scan
            if (retired or not one.retired) and (type_ is None or type_ == one.topic.type)
        ]
        is_one_scan = as_of is None and not retired and sum(map(bool, scans)) <= 1
        if not is_one_scan:  # which is in this order
            found.sort(key=_MODIFIED, reverse=True)
        return found

    def get(self, cwd: str, named: str) -> WholeMemory:
        one = self.find(cwd, named)
        stored = self._store.recorded(one.directory, one.file)
        header = msgspec.structs.asdict(self._header(one, self._now()))
        return WholeMemory(
            **header,
            content=presentable(stored.text),
            version=stored.number,
            author=presentable(stored.author),
        )

    def save(
        self,
        cwd: str,
        topic: Topic,
        *,
        scope: Scope,
        supersedes: str | None,
        by: By = "user",
        session_id: str = "",
    ) -> Saved:
        """Saves a memory on request, possibly in place of an older one."""
        directory = self._scopes.project(cwd).directory(scope)
        if supersedes is not None:
            old = self.find(cwd, supersedes)
            if old.directory != directory:
                raise InvalidInput(
                    f"{old.file} is in the {old.directory.scope} scope, not in {scope}",
                    hint=f"save the new one in the same scope: --scope {old.directory.scope}",
                )
            topic = msgspec.structs.replace(topic, supersedes=(old.file,))
        stored = self._store.save(directory, topic, cause=by, session_id=session_id)
        return Saved(stored.path, stored.number)

    def forget(self, cwd: str, named: str, *, by: By = "user") -> Saved:
        """Removes a memory; the version in the answer brings it back."""
        one = self.find(cwd, named)
        return Saved(one.path, self._store.forget(one.directory, one.file, cause=by))

    def find(self, cwd: str, named: str) -> Listed:
        """The memory with this path, file name, title or part of a file name, in this order.

        Of a current and a retired memory that match equally well, it is the current one.
        NotFound if none matches; InvalidInput if several match equally well.
        """
        project = self._scopes.project(cwd)
        current = [one for place in project.directories for one in self._store.scan(place)]
        retired = [one for place in project.directories for one in self._store.retired(place)]
        for matches in (_by_path, _by_file, _by_stem, _by_title, _by_part):
            found = [one for one in current if matches(one, named)]
            found = found or [one for one in retired if matches(one, named)]
            if len(found) == 1:
                return found[0]
            if found:
                choices = ", ".join(told_apart(found))
                raise InvalidInput(
                    f"{named!r} matches several memories", hint=f"use one of {choices}"
                )
        if named.rpartition("/")[2] == INDEX_FILE:
            raise InvalidInput(
                f"{INDEX_FILE} is the index, not a memory", hint="memoryd list shows the memories"
            )
        raise NotFound(f"there is no memory {named!r} here", hint="memoryd list shows them")

    def _scan(
        self, directory: MemoryDirectory, as_of: float | None, *, with_retired: bool
    ) -> builtins.list[Listed]:
        if as_of is not None:
            return self._store.scan_at(directory, as_of)
        current = self._store.scan(directory)
        return current + self._store.retired(directory) if with_retired else current

    def headers(self, found: Iterable[Listed]) -> builtins.list[Header]:
        """What a list shows of these memories."""
        now = self._now()
        return [self._header(one, now) for one in found]

    def encoded(self, found: builtins.list[Listed]) -> bytes:
        """`headers` in JSON."""
        return self._encoded.encoded(found, self._now())

    def _header(self, one: Listed, now: float) -> Header:
        topic, file, modified = one.topic, one.file, one.modified
        return Header(
            path=f"{one.directory.path}/{file}",
            file=file,
            name=topic.name or topics.title_of(topic, file),
            description=topic.description,
            type=topic.type,
            scope=one.directory.scope,
            modified=iso_time(modified),
            age=topics.age_in_words(modified, now),
            stale=topics.is_stale(modified, now),
            bytes=one.bytes,
            retired=one.retired,
            superseded_by=topic.superseded_by,
        )


def _by_path(one: Listed, named: str) -> bool:
    return named in {one.path, f"{one.directory.path}/{name_when_current(one.file)}"}


def _by_file(one: Listed, named: str) -> bool:
    names = {one.file, name_when_current(one.file)}
    return named in names or named in {_with_scope(one.directory, name) for name in names}


def _by_stem(one: Listed, named: str) -> bool:
    return f"{named}.md" == name_when_current(one.file)


def told_apart(found: Sequence[Listed]) -> list[str]:
    """How a person can name each of these: by its file, or by its path if that is not enough."""
    files = [one.file for one in found]
    return files if len(set(files)) == len(files) else [one.path for one in found]


def _by_title(one: Listed, named: str) -> bool:
    return named.casefold() == topics.title_of(one.topic, one.file).casefold()


def _by_part(one: Listed, named: str) -> bool:
    return len(named) >= 3 and named.casefold() in name_when_current(one.file)


def _with_scope(directory: MemoryDirectory, file: str) -> str:
    return f"{directory.scope}/{file}"
