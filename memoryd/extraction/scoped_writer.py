"""Write and Edit of a model in two directories: the project's memories, and the person's own.

Rules
- A new note goes where `placing` puts it, whatever path the model chose inside the project's
  directory; the field `scope` in its header says what the model wants and is not kept.
- Only a note of the person's own words goes to the user scope. One that the check of its origin
  lowers stays in the project.
- A note of the user scope may be changed if it stays the person's and names nothing of a project.
- A name that is taken in the user scope gets a number: the model did not know of it.
"""

from posixpath import basename, join

import msgspec

from memoryd.agent.rules import access
from memoryd.agent.rules.access import Denied
from memoryd.agent.rules.tool_schemas import EditInput, WriteInput
from memoryd.agent.view import Page, View
from memoryd.agent.writer import MemoryWriter, WriteTarget, WrittenMemory
from memoryd.extraction.placing import Placing
from memoryd.memories.records import Stored
from memoryd.memories.rules import headers, topics
from memoryd.memories.rules.topics import Topic
from memoryd.memories.scopes import Project
from memoryd.memories.store import Store

_NOT_FOR_ALL = (
    "this note would be seen in every project, but it names something of this one or speaks of it;"
    " leave that out, or write it into the memory directory of the project"
)
_NOT_THEIRS = (
    "a note that every project sees holds only what the person said in so many words; write this"
    " one into the memory directory of the project"
)


class PlacedMemory(WrittenMemory, frozen=True):
    """A change to a memory of the user scope."""


class ScopedWriter:
    """`own` writes into the project's directory, `users` into the user scope. Blocks."""

    def __init__(
        self,
        project: Project,
        store: Store,
        placing: Placing,
        own: MemoryWriter,
        users: MemoryWriter,
    ) -> None:
        self._project = project
        self._store = store
        self._placing = placing
        self._own = own
        self._users = users
        self._user_root = View(project.root, project.user).memory_root

    def saw(self, page: Page) -> None:
        target: WriteTarget = self._users if self._is_users(page.path) else self._own
        target.saw(page)

    def was_shown(self, text: str) -> None:
        self._own.was_shown(text)  # both check against the same evidence

    def whole(self, write: WriteInput) -> WrittenMemory:
        if self._is_users(write.file_path):
            return self._checked(self._users.whole(_without_scope(write)))
        plain = _without_scope(write)
        made = self._own.whole(plain)
        if made.over is not None or not self._belongs_to_user(write, topics.parse(made.text)):
            return made
        path = join(self._project.user.path, self._free_name(basename(made.file)))
        moved = self._users.whole(msgspec.structs.replace(plain, file_path=path))
        return PlacedMemory(moved.file, moved.text, moved.over)

    def edited(self, edit: EditInput) -> WrittenMemory:
        if self._is_users(edit.file_path):
            return self._checked(self._users.edited(edit))
        return self._own.edited(edit)

    def put(self, change: WrittenMemory) -> Stored:
        target = self._users if isinstance(change, PlacedMemory) else self._own
        return target.put(change)

    def _belongs_to_user(self, write: WriteInput, topic: Topic) -> bool:
        if topic.supersedes:  # it takes the place of a memory of the project
            return False
        asked = str(headers.read(write.content)[0].get("scope", "")).strip()
        place = self._placing.directory_for(
            self._project, topic.type, _said_in(topic), trust=topic.trust, asked=asked
        )
        return place == self._project.user

    def _checked(self, change: WrittenMemory) -> PlacedMemory:
        topic = topics.parse(change.text)
        text = _said_in(topic)
        is_new = change.over is None
        is_private = not self._placing.may_be_users(self._project, text)
        is_bound = is_new and self._placing.is_bound(self._project, text, by_model=True)
        if is_private or is_bound:
            raise Denied("wrong-scope", _NOT_FOR_ALL)
        if topic.trust != "user-said" or topic.type not in {"user", "feedback"}:
            raise Denied("wrong-scope", _NOT_THEIRS)
        return PlacedMemory(change.file, change.text, change.over)

    def _is_users(self, path: str) -> bool:
        plain = access.normalized_path(path)
        folders = {self._project.user.path, self._user_root}
        return any(access.is_beneath(plain, folder) for folder in folders)

    def _free_name(self, file: str) -> str:
        taken = {one.file for one in self._store.scan(self._project.user)}
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
