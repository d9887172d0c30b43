"""The event that subscribers and the log see for a changed memory."""

from memoryd.base.events import Event, MemoryForgotten, MemoryRetired, MemorySaved
from memoryd.memories.records import MemoryChanged


def event_of(change: MemoryChanged, project: str) -> Event:
    path, scope = f"{change.directory.path}/{change.file}", change.directory.scope
    if change.retired_to:
        return MemoryRetired(
            project=project,
            path=f"{change.directory.path}/{change.retired_to}",
            was=path,
            scope=scope,
            cause=change.cause,
            session_id=change.session_id,
        )
    if not change.version:
        return MemoryForgotten(project=project, path=path, scope=scope, cause=change.cause)
    return MemorySaved(
        project=project,
        path=path,
        type=change.type or "",
        scope=scope,
        cause=change.cause,
        session_id=change.session_id,
    )
