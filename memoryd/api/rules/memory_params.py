"""What may be asked about memories, and about the sub-agents that have some of their own."""

from typing import Annotated, Literal

import msgspec


class MemoryListParams(msgspec.Struct, frozen=True):
    cwd: str
    scope: Literal["project", "group", "user", "team", "agent"] | None = None
    type: Literal["user", "feedback", "project", "reference"] | None = None
    retired: bool = False
    as_of: str | None = None
    forgotten: bool = False
    agent: str = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] | None = None
    after: str = ""
    """The path of the last memory of the page before."""


class MemoryGetParams(msgspec.Struct, frozen=True):
    cwd: str
    path: str
    agent: str = ""


class MemorySaveParams(msgspec.Struct, frozen=True):
    cwd: str
    name: str
    description: str
    type: Literal["user", "feedback", "project", "reference"]
    body: str
    scope: Literal["auto", "project", "group", "user", "team", "agent"] = "project"
    supersedes: str | None = None
    by: Literal["user", "agent"] = "user"
    anyway: bool = False
    session_id: str = ""
    agent: str = ""
    where: Literal["user", "project", "local"] | None = None


class MemoryMoveParams(msgspec.Struct, frozen=True):
    """`anyway` moves it although it names something of a project."""

    cwd: str
    path: str
    scope: Literal["project", "group", "user", "team"]
    anyway: bool = False
    by: Literal["user", "agent"] = "user"
    agent: str = ""


class MemoryEditParams(msgspec.Struct, frozen=True):
    """`content` is the whole file, `version` the number of the version that it was made from."""

    cwd: str
    path: str
    content: str
    version: int
    anyway: bool = False
    by: Literal["user", "agent"] = "user"
    agent: str = ""


class MemoryTrustParams(msgspec.Struct, frozen=True):
    """Without `paths` or `all`, confirms nothing and lists what waits."""

    cwd: str
    paths: list[str] = []
    all: bool = False
    by: Literal["user", "agent"] = "user"
    agent: str = ""


class MemoryWhyParams(msgspec.Struct, frozen=True):
    cwd: str
    path: str
    agent: str = ""


class MemoryForgetParams(msgspec.Struct, frozen=True):
    cwd: str
    path: str
    by: Literal["user", "agent"] = "user"
    agent: str = ""


class MemoryPurgeParams(msgspec.Struct, frozen=True):
    """Removes a memory for good, from everywhere."""

    cwd: str
    path: str
    by: Literal["user", "agent"] = "user"


class MemoryHistoryParams(msgspec.Struct, frozen=True):
    """`version` asks for the text of that version too."""

    cwd: str
    path: str
    version: int | None = None
    agent: str = ""


class MemoryRestoreParams(msgspec.Struct, frozen=True):
    cwd: str
    path: str
    version: int | None = None
    agent: str = ""


class AgentListParams(msgspec.Struct, frozen=True):
    cwd: str


class AgentSnapshotParams(msgspec.Struct, frozen=True):
    """Without `where`, of the agent's own memory."""

    cwd: str
    agent: str
    where: Literal["user", "project", "local"] | None = None
