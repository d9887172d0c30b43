"""MEMORY.md on disk, made to match its folder."""

from collections.abc import Callable, Mapping
from typing import Final

from memoryd.base.errors import Conflict
from memoryd.memories.records import Listed
from memoryd.memories.rules import index, topics
from memoryd.memories.rules.topics import INDEX_FILE, Topic
from memoryd.system.cancellation import uncancellable
from memoryd.system.folder import Folder
from memoryd.text.decode import decoded

INDEX_TRIES: Final = 5


def match_index(
    folder: Folder, scan: Callable[[], list[Listed]], changed: Mapping[str, str]
) -> bool:
    """Makes MEMORY.md match the folder, without losing another writer's change.

    Existing lines keep their wording, since a person may have edited them, except `changed`.
    """
    for _ in range(INDEX_TRIES):
        with uncancellable():  # the topic file is written, so its line must be too
            alive = [one for one in scan() if not one.retired]
        current = folder.current(INDEX_FILE)
        before = decoded(current.data) if current else ""
        lines = {one.file: pointer_of(one.file, one.topic) for one in alive}
        since = index.unlisted_since(before)
        after = index.repaired(before, lines, [one.file for one in alive if one.modified > since])
        for file in changed.keys() & lines.keys():
            after = index.with_pointer(after, file, changed[file])
        if after == before:
            return False
        try:
            folder.write(INDEX_FILE, after.encode(), over=current.version if current else None)
        except Conflict:
            continue
        return True
    return False


def pointer_of(file: str, topic: Topic) -> str:
    return index.pointer(topics.title_of(topic, file), file, topic.description)
