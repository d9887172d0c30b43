"""Write and Edit of a model in several directories: the project's, its group's, the person's own.

Rules
- A new note goes where `placing` puts it, whatever path the model chose inside the project's
  directory; the field `scope` in its header says what the model wants and is not kept.
- Only a note of the person's own words goes to a wider scope. One that the check of its origin
  lowers stays in the project.
- A note of a wider scope may be changed if it stays the person's; one of the user scope must name
  nothing of a project.
- A name that is taken in a wider scope gets a number: the model did not know of it.
"""

from collections.abc import Mapping
from posixpath import basename, join

import msgspec

from memoryd.agent.rules import access
from memoryd.agent.rules.access import Denied
from memoryd.agent.rules.tool_schemas import EditInput, WriteInput
from memoryd.agent.view import Page, View
from memoryd.agent.writer import MemoryWriter, WrittenMemory
from memoryd.extraction.placing import Placing
from memoryd.memories.records import MemoryDirectory, Stored
from memoryd.memories.rules import headers, topics
from memoryd.memories.rules.topics import Topic
from memoryd.memories.scopes import Project
from memoryd.memories.store import Store

_NOT_FOR_ALL = (
    "this note would be seen in every project, but it names something of this one or speaks of it;"
    " leave that out, or write it into the memory directory of the project"
)
_NOT_THEIRS = (
    "a note that other projects see holds only what the person said in so many words; write this"
    " one into the memory directory of the project"
)


class PlacedMemory(WrittenMemory, frozen=True):
    """A change to a memory of a wider scope, whose directory is `path`."""

    path: str = ""


class ScopedWriter:
    """`wider` are writers by the path of their directory, beside the project's `own`. Blocks."""

    def __init__(
        self,
        project: Project,
        store: Store,
        placing: Placing,
        own: MemoryWriter,
        wider: Mapping[MemoryDirectory, MemoryWriter],
    ) -> None:
        self._project = project
        self._store = store
        self._placing = placing
        self._own = own
        self._wider = {directory.path: (directory, writer) for directory, writer in wider.items()}
        self._roots = {
            folder: directory.path
            for directory in wider
            for folder in (directory.path, View(project.root, directory).memory_root)
        }

    def saw(self, page: Page) -> None:
        path = self._wider_path(page.path)
        (self._wider[path][1] if path else self._own).saw(page)

    def was_shown(self, text: str) -> None:
        self._own.was_shown(text)  # all check against the same evidence

    def whole(self, write: WriteInput) -> WrittenMemory:
        plain = _without_scope(write)
        if path := self._wider_path(write.file_path):
            return self._checked(path, self._wider[path][1].whole(plain))
        made = self._own.whole(plain)
        place = self._place_of(write, topics.parse(made.text))
        if made.over is not None or place.path not in self._wider:
            return made
        target = join(place.path, self._free_name(place, basename(made.file)))
        moved = self._wider[place.path][1].whole(msgspec.structs.replace(plain, file_path=target))
        return PlacedMemory(moved.file, moved.text, moved.over, place.path)

    def edited(self, edit: EditInput) -> WrittenMemory:
        if path := self._wider_path(edit.file_path):
            return self._checked(path, self._wider[path][1].edited(edit))
        return self._own.edited(edit)

    def put(self, change: WrittenMemory) -> Stored:
        if isinstance(change, PlacedMemory):
            return self._wider[change.path][1].put(change)
        return self._own.put(change)

    def _place_of(self, write: WriteInput, topic: Topic) -> MemoryDirectory:
        if topic.supersedes:  # it takes the place of a memory of the project
            return self._project.memory
        asked = str(headers.read(write.content)[0].get("scope", "")).strip()
        return self._placing.directory_for(
            self._project, topic.type, _said_in(topic), trust=topic.trust, asked=asked
        )

    def _checked(self, path: str, change: WrittenMemory) -> PlacedMemory:
        topic = topics.parse(change.text)
        if topic.trust != "user-said":
            raise Denied("wrong-scope", _NOT_THEIRS)
        if self._wider[path][0].scope == "user":
            self._check_for_all(topic, is_new=change.over is None)
        return PlacedMemory(change.file, change.text, change.over, path)

    def _check_for_all(self, topic: Topic, *, is_new: bool) -> None:
        text = _said_in(topic)
        is_private = not self._placing.may_be_users(self._project, text)
        is_bound = is_new and self._placing.is_bound(self._project, text, by_model=True)
        if is_private or is_bound:
            raise Denied("wrong-scope", _NOT_FOR_ALL)
        if topic.type not in {"user", "feedback"}:
            raise Denied("wrong-scope", _NOT_THEIRS)

    def _wider_path(self, path: str) -> str:
        """The directory of a wider scope that a path is in; empty if it is in none."""
        plain = access.normalized_path(path)
        found = (at for folder, at in self._roots.items() if access.is_beneath(plain, folder))
        return next(found, "")

    def _free_name(self, directory: MemoryDirectory, file: str) -> str:
        taken = {one.file for one in self._store.scan(directory)}
        stem, number, name = file.removesuffix(".md"), 1, file
        while name in taken:
            number += 1
            name = f"{stem}_{number}.md"
        return name


def _said_in(topic: Topic) -> str:
    """In a title, capital letters do not mark names."""
    return f"{topic.name.lower()}\n{topic.description}\n{topic.body}"


def _without_scope(write: WriteInput) -> WriteInput:
    if "scope" not in headers.read(write.content)[0]:
        return write
    text = headers.change(write.content, {"scope": None})
    return msgspec.structs.replace(write, content=text)
