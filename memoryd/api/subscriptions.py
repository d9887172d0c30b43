"""Passes events to subscribers without ever waiting for one.

Each subscriber has a bounded queue. If it runs full, the subscriber is disconnected, so it knows
that it missed events, and the daemon continues. There is room for a limited number of subscribers:
an event costs time for each.
"""

from collections.abc import AsyncIterator
from typing import Final

import anyio
import msgspec

from memoryd.base.errors import Unavailable
from memoryd.base.events import Event, kind_of
from memoryd.system.early_log import EarlyLog

QUEUE_EVENTS: Final = 256
MOST_SUBSCRIBERS: Final = 100

log = EarlyLog(__name__)


class SubscribedAnswer(msgspec.Struct, frozen=True):
    subscribed: bool


class Subscription:
    """Events of these kinds (None: all) about this project (None: any), as they happen."""

    def __init__(self, kinds: frozenset[str] | None, project: str | None) -> None:
        self._kinds = kinds
        self._project = project
        self._send, self._receive = anyio.create_memory_object_stream[Event](QUEUE_EVENTS)
        self._unsent = 0
        self._all_sent = anyio.Event()
        self._all_sent.set()

    def wants(self, event: Event) -> bool:
        if self._kinds is not None and kind_of(event) not in self._kinds:
            return False
        return self._project is None or event.project in {"", self._project}

    def offer(self, event: Event) -> bool:
        """Queues the event; returns whether the subscriber keeps up."""
        try:
            self._send.send_nowait(event)
        except (anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._send.close()
            return False
        if self._unsent == 0:
            self._all_sent = anyio.Event()
        self._unsent += 1
        return True

    async def drain(self) -> None:
        """Returns when every event was sent, or the subscriber has left."""
        await self._all_sent.wait()

    async def __aiter__(self) -> AsyncIterator[Event]:
        async with self._receive:
            async for event in self._receive:
                yield event
                self._unsent -= 1  # the reader is back for the next one, so this one was sent
                if self._unsent == 0:
                    self._all_sent.set()

    def close(self) -> None:
        self._send.close()
        self._receive.close()
        self._all_sent.set()


class Subscriptions:
    def __init__(self) -> None:
        self._subscriptions: set[Subscription] = set()

    def subscribe(self, kinds: frozenset[str] | None, project: str | None) -> Subscription:
        if len(self._subscriptions) >= MOST_SUBSCRIBERS:
            raise Unavailable(
                f"there are {MOST_SUBSCRIBERS} subscribers already",
                hint="end one of them, then try again",
            )
        subscription = Subscription(kinds, project)
        self._subscriptions.add(subscription)
        return subscription

    def leave(self, subscription: Subscription) -> None:
        self._subscriptions.discard(subscription)
        subscription.close()

    async def drain(self) -> None:
        """Returns when each subscriber has received what was published, or has left."""
        for subscription in list(self._subscriptions):
            await subscription.drain()

    def publish(self, event: Event) -> None:
        """Must be called on the event loop's thread."""
        for subscription in list(self._subscriptions):
            if subscription.wants(event) and not subscription.offer(event):
                log.warning("subscriber-cut-off", waiting_events=QUEUE_EVENTS)
                self._subscriptions.discard(subscription)
