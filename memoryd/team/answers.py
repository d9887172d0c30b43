"""What callers are told about team memory."""

import msgspec

from memoryd.team.rules.entries import SkippedEntry


class LostLine(msgspec.Struct, frozen=True):
    """A change made here that lost; `memoryd restore FILE N` brings it back."""

    file: str
    at: str
    author: str
    version: int


class TeamStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How a project stands with its team, as far as it is known without asking the server.

    `reason`, `message` and `hint` say what is wrong, if anything is. `suggested` are private
    memories that by their type are for the team.
    """

    is_joined: bool
    project: str = ""
    server: str = ""
    is_connected: bool = False
    listens: bool = False
    reason: str = ""
    message: str = ""
    hint: str = ""
    warnings: list[str] = []
    accept: str = ""
    last_sync: str = ""
    entries: int = 0
    entry_cap: int = 0
    waiting: list[str] = []
    held: list[SkippedEntry] = []
    skipped: list[SkippedEntry] = []
    refused: list[SkippedEntry] = []
    left_out: list[str] = []
    removals: list[str] = []
    conflicts: list[LostLine] = []
    suggested: list[str] = []


class SyncAnswer(msgspec.Struct, frozen=True, kw_only=True):
    pulled: list[str]
    pushed: list[str]
    removed: list[str]
    conflicts: list[str]
    waiting: list[str]
    held: list[SkippedEntry]
    skipped: list[SkippedEntry]
    refused: list[SkippedEntry]
    entries: int


class InitAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """`before` is the version of the tables that was there, 0 for none."""

    project: str
    server: str
    before: int
    version: int
    members: list[str]
    removed: list[str]


class JoinAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """`problem` and `hint` say why the first sync has to wait, if it has to."""

    project: str
    server: str
    problem: str = ""
    hint: str = ""
    sync: SyncAnswer | None = None


class LeaveAnswer(msgspec.Struct, frozen=True):
    """The files stay where they are."""

    project: str
    files: int


class SharedAnswer(msgspec.Struct, frozen=True):
    """Where a memory is now; `is_waiting` if the server does not know yet."""

    path: str
    version: int
    is_waiting: bool


class LogLine(msgspec.Struct, frozen=True):
    """One version on the server; `action` is saved or removed."""

    at: str
    author: str
    file: str
    action: str
    bytes: int


class LogAnswer(msgspec.Struct, frozen=True):
    project: str
    versions: list[LogLine]
