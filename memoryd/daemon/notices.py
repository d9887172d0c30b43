"""Carries what happened to whoever needs to know: subscribers, and the parts of the daemon."""

import asyncio
from collections.abc import Callable

from memoryd.api.subscriptions import Subscriptions
from memoryd.base import events
from memoryd.memories.records import MemoryChanged
from memoryd.memories.scopes import Scopes
from memoryd.transcripts.rules.turns import Compacted
from memoryd.transcripts.tail import Listener
from memoryd.transcripts.turn_table import QueuedTurn


class Ears(Listener):
    """Passes on what the tail has found, to as many as want to hear it."""

    def __init__(self) -> None:
        self.of_turns: list[Callable[[QueuedTurn], None]] = []
        self.of_compactions: list[Callable[[Compacted], None]] = []
        self.of_changes: list[Callable[[], None]] = []

    def on_turn(self, filed: QueuedTurn) -> None:
        for ear in self.of_turns:
            ear(filed)

    def on_compaction(self, compacted: Compacted) -> None:
        for ear in self.of_compactions:
            ear(compacted)

    def on_change(self) -> None:
        for ear in self.of_changes:
            ear()


class Telling:
    """Carries the notices of the store, which come from any thread, to the loop."""

    def __init__(self, hub: Subscriptions, scopes: Scopes) -> None:
        self.listeners: list[Callable[[MemoryChanged], None]] = []
        self._hub = hub
        self._scopes = scopes
        self._loop = asyncio.get_running_loop()

    def on_loop(self, callback: Callable[[], None]) -> Callable[[], None]:
        """The same, to be called from any thread."""

        def called() -> None:
            self._loop.call_soon_threadsafe(callback)

        return called

    def publish(self, event: events.Event) -> None:
        """From any thread, in order."""
        self._loop.call_soon_threadsafe(self._hub.publish, event)

    def changed(self, change: MemoryChanged) -> None:
        self._hub.publish(_event_of(change, self._scopes.owner(change.directory)))
        for listener in self.listeners:
            listener(change)


def _event_of(change: MemoryChanged, project: str) -> events.Event:
    path = f"{change.directory.path}/{change.file}"
    scope = change.directory.scope
    if not change.version:
        return events.MemoryForgotten(project=project, path=path, scope=scope, cause=change.cause)
    return events.MemorySaved(
        project=project,
        path=path,
        type=change.type or "",
        scope=scope,
        cause=change.cause,
        session_id=change.session_id,
    )
