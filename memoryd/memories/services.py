"""What every area of the daemon is built from: each has a `build(services)`."""

import time
from collections.abc import Callable, Mapping

import msgspec

from memoryd.base.config import Settings
from memoryd.base.paths import Places
from memoryd.memories.identities import Identities
from memoryd.memories.inbox_table import InboxTable
from memoryd.memories.instruction_reader import InstructionReader
from memoryd.memories.moving import Mover
from memoryd.memories.project_names import NameReader
from memoryd.memories.rules.private_paths import PrivatePaths
from memoryd.memories.scopes import Scopes
from memoryd.memories.session_switches import SessionSwitches
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system.background import Background
from memoryd.system.database import Database
from memoryd.system.notices import Notices


class Services(msgspec.Struct, frozen=True, kw_only=True):
    """`problems` says what is wrong with the settings; empty if they are all in use."""

    places: Places
    settings: Settings
    env: Mapping[str, str]
    database: Database
    versions: VersionTable
    scopes: Scopes
    store: Store
    mover: Mover
    names: NameReader
    inbox: InboxTable
    instructions: InstructionReader
    session_switches: SessionSwitches
    notices: Notices
    identities: Identities
    background: Background
    now: Callable[[], float] = time.time
    private: PrivatePaths = msgspec.field(default_factory=PrivatePaths)
    problems: list[str] = msgspec.field(default_factory=list)
