"""What callers are told about a person's machines."""

import msgspec

from memoryd.team.answers import LostLine
from memoryd.team.rules.entries import SkippedEntry


class DeviceLine(msgspec.Struct, frozen=True):
    name: str
    added: str
    is_this: bool


class DeviceList(msgspec.Struct, frozen=True, kw_only=True):
    """As far as it is known without asking the server.

    `reason`, `message` and `hint` say what is wrong, if anything is. `waiting` counts what belongs
    to projects that are not on this machine; `nameless` are projects that need a name to travel,
    `copies` those that have the same name as another one here.
    """

    is_added: bool
    is_on: bool
    server: str = ""
    devices: list[DeviceLine] = []
    epoch: int = 0
    is_connected: bool = False
    listens: bool = False
    reason: str = ""
    message: str = ""
    hint: str = ""
    warnings: list[str] = []
    last_sync: str = ""
    rows: int = 0
    unsent: int = 0
    waiting: dict[str, int] = {}
    nameless: list[str] = []
    copies: list[str] = []
    refused: list[SkippedEntry] = []
    skipped: list[SkippedEntry] = []
    conflicts: list[LostLine] = []


class DeviceInitAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """`before` is the version of the tables that was there, 0 for none."""

    server: str
    before: int
    version: int
    members: list[str]


class DeviceSyncAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """`refused` were not taken from the server, `skipped` not sent; each with the reason."""

    pulled: list[str]
    pushed: list[str]
    removed: list[str]
    conflicts: list[str]
    refused: list[SkippedEntry]
    skipped: list[SkippedEntry]
    waiting: dict[str, int]


class DeviceAddAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """`code` is for another machine; a machine that was added by one has none, but a first sync."""

    name: str
    server: str
    is_new: bool
    code: str = ""
    expires_seconds: int = 0
    devices: list[str] = []
    sync: DeviceSyncAnswer | None = None


class DeviceRevokeAnswer(msgspec.Struct, frozen=True, kw_only=True):
    revoked: str
    epoch: int
    devices: list[str]


class DeviceProjectAnswer(msgspec.Struct, frozen=True):
    root: str
    project: str
