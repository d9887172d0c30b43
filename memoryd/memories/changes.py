"""What a change of a memory looks like to subscribers and in the log."""

from memoryd.base.events import Event, MemoryForgotten, MemorySaved
from memoryd.memories.records import MemoryChanged


def event_of(change: MemoryChanged, project: str) -> Event:
    path, scope = f"{change.directory.path}/{change.file}", change.directory.scope
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
