"""The structs of the store: where memories are, what a scan sees, what is on disk, what changed."""

import msgspec

from memoryd.base.file_stamp import FileStamp
from memoryd.memories.rules import topics
from memoryd.memories.rules.origins import Origin, with_origin
from memoryd.memories.rules.topics import Scope, Topic, TopicType
from memoryd.memories.version_table import Cause


class MemoryDirectory(msgspec.Struct, frozen=True):
    """Where the memories of one scope are.

    `beneath` is set for folders inside a repository: below that path links are not followed.
    """

    path: str
    scope: Scope
    beneath: str | None = None


class Listed(msgspec.Struct, frozen=True, gc=False):
    """A memory as a scan sees it: its header without its body."""

    directory: MemoryDirectory
    file: str
    topic: Topic
    modified: float
    bytes: int
    retired: bool = False
    stamp: FileStamp | None = None
    """None while the file is too young for its stamp to be trusted."""

    @property
    def path(self) -> str:
        return f"{self.directory.path}/{self.file}"


class Stored(msgspec.Struct, frozen=True):
    """A memory on disk: the whole text, and its hash as `version`."""

    directory: MemoryDirectory
    file: str
    text: str
    version: str
    modified: float
    data: bytes = b""
    number: int = 0
    """The number of this version in the memory's history, 0 if it has none yet."""
    stamp: FileStamp | None = None
    """None for a version from the history."""
    origin: Origin | None = None
    """Who wrote it, by the journal; None for a text that is not stored yet."""
    author: str = ""
    """The teammate who wrote it, if its origin is the team."""

    @property
    def path(self) -> str:
        return f"{self.directory.path}/{self.file}"

    @property
    def topic(self) -> Topic:
        """What it says; its trust is that of its origin, not what the header claims."""
        topic = topics.parse(self.text)
        return topic if self.origin is None else with_origin(topic, self.origin, self.author)


class MemoryChanged(msgspec.Struct, frozen=True):
    """Posted after every change to a topic file; `version` is its hash, empty after a removal.

    `retired_to` is the file in `.retired/` that it became, if that is why it is gone.
    """

    directory: MemoryDirectory
    file: str
    version: str
    cause: Cause
    session_id: str = ""
    type: TopicType | None = None
    retired_to: str = ""


class MemoryMoved(msgspec.Struct, frozen=True):
    """Posted when a memory has another path; what is known of it follows."""

    old_path: str
    new_path: str


class MemoryTrusted(msgspec.Struct, frozen=True):
    """Posted when it becomes known who wrote a file whose bytes did not change."""

    directory: MemoryDirectory
    file: str


class DirectoryFound(msgspec.Struct, frozen=True):
    """A project was looked up whose memory directory was not known before."""
