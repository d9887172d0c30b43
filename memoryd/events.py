"""All that can happen in the daemon and be told to a subscriber.

An event says what, where and how much, never the text of a memory or of a transcript.
"""

import msgspec


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """`project` is the root of the project it is about, empty where it is about none."""

    project: str = ""


class MemorySaved(Event, frozen=True, kw_only=True, tag="memory/saved"):
    path: str
    type: str
    scope: str
    cause: str
    session_id: str = ""


class MemoryForgotten(Event, frozen=True, kw_only=True, tag="memory/forgotten"):
    path: str
    scope: str
    cause: str


class DaemonStopping(Event, frozen=True, kw_only=True, tag="daemon/stopping"):
    pass


def kind_of(event: Event) -> str:
    return str(event.__struct_config__.tag)
