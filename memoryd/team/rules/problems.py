"""What went wrong with the team's database, in words, with the next step.

The server's own words are never passed on: they may quote a text. Its five-letter code says enough.
"""

from typing import Final

import msgspec

from memoryd.base.errors import Unavailable
from memoryd.team.rules.address import ServerAddress

NEEDED_DRIVER: Final = "pip install 'memoryd[team]', then restart the daemon"
CLOCK_SECONDS: Final = 300.0
# A transaction that lost against another one; it is tried again.
RETRIED: Final = frozenset({"40001", "40P01"})
# The reasons of what is over sooner or later without anybody doing something here.
CAN_WAIT: Final = frozenset({"unreachable", "busy", "disk"})
# What an engine without a feature answers: no such function, not supported, a syntax error.
UNKNOWN_TO_ENGINE: Final = frozenset({"42883", "0A000", "42601"})


class TeamProblem(Unavailable):
    """Team memory cannot be used right now; `reason` is one word for it."""

    def __init__(self, message: str, hint: str, reason: str) -> None:
        super().__init__(message, hint)
        self.reason = reason


class _Words(msgspec.Struct, frozen=True):
    reason: str
    message: str
    hint: str


_BY_STATE: Final = {
    "28P01": _Words(
        "password",
        "{server} refused the password of {user}",
        "put the right one into ~/.pgpass: {host}:{port}:{database}:{user}:PASSWORD",
    ),
    "28000": _Words(
        "password",
        "{server} does not let {user} in",
        "ask its administrator for a login for {user} from this machine (pg_hba.conf)",
    ),
    "3D000": _Words(
        "database",
        "there is no database {database} on {host}",
        "correct team.dsn, or let its administrator create it: createdb {database}",
    ),
    "3F000": _Words(
        "schema",
        "{server} has no tables of memoryd yet",
        "somebody who may create a schema there runs: memoryd team init, or for your own machines:"
        " memoryd device init --member {user}",
    ),
    "42P01": _Words(
        "schema",
        "{server} has no tables of memoryd yet, or not all of them",
        "somebody who may create a schema there runs: memoryd team init, or for your own machines:"
        " memoryd device init --member {user}",
    ),
    "42501": _Words(
        "privileges",
        "{user} may not do that on {server}",
        "the owner of the tables runs, in this project: memoryd team init --member {user}; or for"
        " your own machines: memoryd device init --member {user}",
    ),
    "42704": _Words(
        "role",
        "there is no such role on {server}",
        "its administrator creates one for each person: create role NAME login password '...'",
    ),
    "53100": _Words(
        "disk",
        "the disk of {server} is full",
        "nothing is lost: everything is sent again once its administrator has made room",
    ),
    "53200": _Words("busy", "{server} is out of memory", "it is tried again by itself"),
    "53300": _Words(
        "busy",
        "{server} has no free connection",
        "it is tried again by itself; a pooler or more max_connections helps",
    ),
    "40001": _Words(
        "busy", "too many write to {server} at the same moment", "it is tried again by itself"
    ),
    "25006": _Words(
        "read-only",
        "{server} is read-only, as a replica is",
        "point team.dsn at the primary server",
    ),
    "57P03": _Words("unreachable", "{server} is starting up", "it is tried again by itself"),
    "57P01": _Words("unreachable", "{server} is shutting down", "it is tried again by itself"),
    "0A000": _Words(
        "engine",
        "{server} lacks something that memoryd needs",
        "it must be Postgres 12 or newer, or an engine with row-level security",
    ),
}


def problem_of_state(state: str, address: ServerAddress) -> TeamProblem:
    """What an answer of the server with this code (SQLSTATE) means."""
    words = _BY_STATE.get(state)
    if words is None and state[:2] == "53":
        words = _BY_STATE["53200"]
    if words is None and state[:2] in {"08", "57", "58"}:
        return unreachable(address)
    if words is None:
        words = _Words(
            "failed", "{server} failed (code " + state[:5] + ")", "memoryd logs has more"
        )
    fields = {
        "server": address.shown,
        "user": address.user,
        "host": "localhost" if address.is_socket else address.host,
        "port": address.port,
        "database": address.database,
    }
    return TeamProblem(
        words.message.format(**fields), words.hint.format(**fields), reason=words.reason
    )


def unreachable(address: ServerAddress) -> TeamProblem:
    return TeamProblem(
        f"{address.shown} cannot be reached",
        "check the network and team.dsn; nothing is lost, it is tried again by itself",
        "unreachable",
    )


def being_set_up(address: ServerAddress) -> TeamProblem:
    return TeamProblem(
        f"somebody else is setting up {address.shown}", "try again in a minute", "busy"
    )


def not_trusted(address: ServerAddress) -> TeamProblem:
    return TeamProblem(
        f"{address.shown} does not prove over TLS that it is {address.host}",
        "name the certificate of its authority: ...?sslrootcert=/path/to/ca.crt; the server must"
        " have TLS on",
        "tls",
    )


def no_driver() -> TeamProblem:
    return TeamProblem("team memory needs the Postgres driver asyncpg", NEEDED_DRIVER, "driver")


def no_address() -> TeamProblem:
    return TeamProblem(
        "no database is named",
        "--database postgresql://USER@HOST/DATABASE for device add, memoryd team join DSN for a"
        " team, or team.dsn in config.toml",
        "address",
    )


def not_a_member(address: ServerAddress, project: str) -> TeamProblem:
    return TeamProblem(
        f"{address.user} is not a member of {project} on {address.shown}",
        f"the owner of the tables runs, in this project: memoryd team init --member {address.user}",
        "privileges",
    )


def schema_problem(address: ServerAddress, found: int, needed: int) -> TeamProblem | None:
    """What to say of the version of the server's tables; None if it fits."""
    if found == needed:
        return None
    if found > needed:
        return TeamProblem(
            f"the tables on {address.shown} were made by a newer memoryd",
            "upgrade memoryd on this machine",
            "schema",
        )
    return TeamProblem(
        f"the tables on {address.shown} are of version {found}, this memoryd needs {needed}",
        f"their owner runs: memoryd team init, or memoryd device init --member {address.user}",
        "schema",
    )


def clock_warning(off_seconds: float) -> str:
    """What to say of a clock that differs from the server's; empty if it hardly does."""
    if abs(off_seconds) < CLOCK_SECONDS:
        return ""
    amount = abs(off_seconds)
    words = f"{amount / 86_400:.0f} days" if amount > 172_800 else f"{amount / 60:.0f} minutes"
    way = "ahead of" if off_seconds > 0 else "behind"
    return (
        f"the clock of this machine is {words} {way} the server's; syncing does not depend on it,"
        " but the ages that you see do: set it right"
    )
