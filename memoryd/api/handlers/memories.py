"""Saves, edits, forgets, restores and looks up memories over the socket.

A failed change is logged here; a successful one is announced by the store.
"""

import time
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import anyio
import anyio.to_thread
import msgspec
import structlog

from memoryd.api.handlers.move import ScopeRequests
from memoryd.api.rules import memory_params
from memoryd.base.errors import InvalidInput, MemorydError, NotFound
from memoryd.base.timestamps import iso_time, moment
from memoryd.extraction.exclusions import Exclusions, without_secrets
from memoryd.memories.catalog import Catalog, Header, Moved, Saved
from memoryd.memories.records import Listed
from memoryd.memories.rules import topics
from memoryd.memories.rules.topics import TYPED, Scope, Topic
from memoryd.memories.trusting import TrustAnswer, Trusting
from memoryd.memories.versions import Versions

WRITERS: Final = 8
LISTERS: Final = 2

Answer = TypeVar("Answer", Saved, Moved)

log = structlog.get_logger(__name__)


class VersionLine(msgspec.Struct, frozen=True):
    version: int
    at: str
    cause: str
    session_id: str
    sha256: str
    bytes: int


class HistoryAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    versions: list[VersionLine]
    content: str | None = None


class MemoryListAnswer(msgspec.Struct, frozen=True):
    """Newest first. With a `limit`, `total` is how many there are on all pages."""

    memories: list[Header]
    total: int | msgspec.UnsetType = msgspec.UNSET


class MemoryRequests:
    def __init__(
        self,
        catalog: Catalog,
        versions: Versions,
        trusting: Trusting,
        exclusions: Exclusions,
        scopes: ScopeRequests,
        writers: anyio.CapacityLimiter,
        listers: anyio.CapacityLimiter,
    ) -> None:
        self._catalog = catalog
        self._versions = versions
        self._trusting = trusting
        self._exclusions = exclusions
        self._scopes = scopes
        self._writers = writers
        self._listers = listers

    async def save(self, params: memory_params.MemorySaveParams) -> Saved:
        return await self._write("save", params.by, lambda: self._save(params))

    async def move(self, params: memory_params.MemoryMoveParams) -> Moved:
        return await self._write("move", params.by, lambda: self._scopes.move(params))

    async def edit(self, params: memory_params.MemoryEditParams) -> Saved:
        return await self._write("edit", params.by, lambda: self._edit(params))

    async def trust(self, params: memory_params.MemoryTrustParams) -> TrustAnswer:
        return await anyio.to_thread.run_sync(
            lambda: self._trusting.confirm(
                params.cwd, params.paths, everything=params.all, by=params.by
            )
        )

    async def remember(self, cwd: str, text: str, *, session_id: str) -> Saved:
        """Saves what a person typed in a session, word for word."""
        return await self._write("save", "user", lambda: self._remember(cwd, text, session_id))

    async def forget(self, params: memory_params.MemoryForgetParams) -> Saved:
        return await self._write(
            "forget",
            params.by,
            lambda: self._catalog.forget(params.cwd, params.path, by=params.by),
        )

    async def restore(self, params: memory_params.MemoryRestoreParams) -> Saved:
        return await self._write(
            "restore",
            "restore",
            lambda: self._versions.restore(params.cwd, params.path, params.version),
        )

    def history(self, params: memory_params.MemoryHistoryParams) -> HistoryAnswer:
        found = [
            VersionLine(
                one.version, iso_time(one.at), one.cause, one.session_id, one.sha256, one.bytes
            )
            for one in self._versions.history(params.cwd, params.path)
        ]
        text = None
        if params.version is not None:
            text = self._versions.text(params.cwd, params.path, params.version)
        return HistoryAnswer(found, text)

    async def list(self, params: memory_params.MemoryListParams) -> msgspec.Raw:
        """A `MemoryListAnswer`, encoded: a long one would hold the event loop up."""
        return await anyio.to_thread.run_sync(self._list, params, limiter=self._listers)

    def _list(self, params: memory_params.MemoryListParams) -> msgspec.Raw:
        if params.forgotten:
            found = [
                one
                for one in self._versions.forgotten(params.cwd)
                if params.scope in {None, one.directory.scope}
                and params.type in {None, one.topic.type}
            ]
        else:
            found = self._catalog.found(
                params.cwd,
                scope=params.scope,
                type_=params.type,
                retired=params.retired,
                as_of=moment(params.as_of) if params.as_of else None,
            )
        begin = _place_after(params.after, found) if params.after else 0
        end = None if params.limit is None else begin + params.limit
        shown = self._catalog.encoded(found[begin:end])
        total = b"" if params.limit is None else b',"total":%d' % len(found)
        return msgspec.Raw(b'{"memories":%b%b}' % (shown, total))

    async def _write(self, action: str, cause: str, write: Callable[[], Answer]) -> Answer:
        began = time.monotonic()
        try:
            async with self._writers:
                return await anyio.to_thread.run_sync(write)
        except MemorydError as error:
            ms = round((time.monotonic() - began) * 1000, 1)
            # Who asked for what cannot be is told so, and it is no problem of the daemon's.
            tell = log.info if isinstance(error, InvalidInput | NotFound) else log.warning
            tell("memory-write-failed", action=action, cause=cause, reason=error.kind, ms=ms)
            raise

    def _remember(self, cwd: str, text: str, session_id: str) -> Saved:
        from memoryd.extraction.rules.memory_types import type_of  # noqa: PLC0415 - its patterns take a while
        from memoryd.extraction.rules.statements import described, titled  # noqa: PLC0415 - as above

        text = without_secrets(text)
        scope = self._scopes.place(cwd, type_of(text), text, by="user")
        self._exclusions.check(cwd, text, scope=scope, by="user", anyway=False)
        topic = Topic(
            name=titled(text),
            description=described(text),
            type=type_of(text),
            body=f"{text}\n",
            created=iso_time(time.time()),
            source=session_id,
            trust="user-said",
        )
        return self._catalog.save(cwd, topic, scope=scope, supersedes=None)

    def _save(self, params: memory_params.MemorySaveParams) -> Saved:
        scope = self._scope_to_save(params)
        self._exclusions.check(
            params.cwd, params.body, scope=scope, by=params.by, anyway=params.anyway
        )
        topic = Topic(
            name=without_secrets(params.name),
            description=without_secrets(params.description),
            type=params.type,
            body=without_secrets(params.body),
            created=iso_time(time.time()),
            source=params.session_id or (TYPED if scope == "user" else ""),
            trust="user-said" if params.by == "user" else "agent-concluded",
        )
        return self._catalog.save(
            params.cwd,
            topic,
            scope=scope,
            supersedes=params.supersedes,
            by=params.by,
            session_id=params.session_id,
        )

    def _scope_to_save(self, params: memory_params.MemorySaveParams) -> Scope:
        """The scope that was asked for; `auto` is that of what it replaces, or where it holds."""
        if params.agent:
            return "agent"
        text = f"{params.name.lower()}\n{params.description}\n{params.body}"
        if params.scope == "auto" and params.supersedes:
            return self._catalog.find(params.cwd, params.supersedes).directory.scope
        if params.scope == "auto":
            return self._scopes.place(params.cwd, params.type, params.body, by=params.by)
        if params.scope == "user":
            self._scopes.check(params.cwd, text, by=params.by, anyway=params.anyway)
        return params.scope

    def _edit(self, params: memory_params.MemoryEditParams) -> Saved:
        memory = self._catalog.find(params.cwd, params.path)
        body = topics.parse(params.content).body
        if body.strip():
            self._exclusions.check(
                params.cwd, body, scope=memory.directory.scope, by=params.by, anyway=params.anyway
            )
        if memory.directory.scope == "user":
            self._scopes.check_change(params, memory)
        text = without_secrets(params.content)
        return self._versions.edit(params.cwd, memory.path, text, params.version, by=params.by)


def _place_after(path: str, found: Sequence[Listed]) -> int:
    for place, one in enumerate(found, start=1):
        if one.path == path:
            return place
    raise NotFound(
        f"{path!r} is not in this list", hint="start again with the first page, without after"
    )
