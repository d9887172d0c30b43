"""What the store hands out: where memories lie, what a scan sees, what is on disk, what changed."""

import msgspec

from memoryd.memories.rules import topics
from memoryd.memories.rules.topics import Scope, Topic, TopicType
from memoryd.memories.version_table import Cause
from memoryd.system.folder import Mark


class MemoryDirectory(msgspec.Struct, frozen=True):
    """Where the memories of one scope lie.

    `beneath` is set for folders inside a repository: below it no link is followed.
    """

    path: str
    scope: Scope
    beneath: str | None = None


class Listed(msgspec.Struct, frozen=True):
    """A memory as a scan sees it: its header, not its body."""

    directory: MemoryDirectory
    file: str
    topic: Topic
    modified: float
    bytes: int
    retired: bool = False
    mark: Mark | None = None
    """None where the file was so young that a later change may bear the same times."""

    @property
    def path(self) -> str:
        return f"{self.directory.path}/{self.file}"


class Stored(msgspec.Struct, frozen=True):
    """A memory as it is on disk: the whole text and the version that names it."""

    directory: MemoryDirectory
    file: str
    text: str
    version: str
    modified: float
    data: bytes = b""
    number: int = 0
    """The version's number in the history, 0 where it has none yet."""
    mark: Mark | None = None
    """What to know the file again by, None for one of the past."""

    @property
    def path(self) -> str:
        return f"{self.directory.path}/{self.file}"

    @property
    def topic(self) -> Topic:
        return topics.parse(self.text)


class MemoryChanged(msgspec.Struct, frozen=True):
    """Told to whoever keeps something true by the store; `version` is empty after a removal."""

    directory: MemoryDirectory
    file: str
    version: str
    cause: Cause
    session_id: str = ""
    type: TopicType | None = None


class DirectoryFound(msgspec.Struct, frozen=True):
    """A project was asked for whose memory directory was not known before."""
