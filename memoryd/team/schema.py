"""The tables on the team's server: how they are made, migrated and guarded.

- `members`: who belongs to which project. `entries`: the head of each entry. `versions`: every
  text that was ever pushed, append-only. `schema_version`: one row.
- Keys begin with the project and then the entry, so that they spread over a distributed engine.
  There is no counter, trigger or extension: a version is the server's clock and a random tie.
- Row-level security is forced on the owner too and asks `session_user`, which neither `set role`
  nor a setting can change. A member sees and writes rows of their projects only, writes under
  their own name only, and deletes nothing. Only the owner of the tables changes `members`.
- `private_...`: the machines of one person and their sealed rows. A login sees and changes its own
  rows only, even if another role owns the tables.
- A released migration is never changed, only followed by another.
"""

from typing import Final

NOW_MICROSECONDS: Final = "(extract(epoch from clock_timestamp()) * 1000000)::bigint"
# How far ahead of the server's clock a stamp may be; nobody can own the future.
AHEAD_MICROSECONDS: Final = 60_000_000
# Any number of our own, for the lock that one migration holds.
LOCK_NUMBER: Final = 7_305_808_871

_COLUMNS: Final = """
    project text not null,
    entry text not null,
    stamp bigint not null,
    tie bigint not null,
    sha256 text not null,
    bytes integer not null,
    author text not null
"""

_IS_MEMBER: Final = (
    "exists (select 1 from memoryd.members m"
    " where m.project = {table}.project and m.member = session_user::text)"
)
_IS_OWN: Final = (
    f"author = session_user::text and stamp <= {NOW_MICROSECONDS} + {AHEAD_MICROSECONDS}"
)


def _policies(table: str, *, may_update: bool) -> tuple[str, ...]:
    member = _IS_MEMBER.format(table=table)
    made = (
        f"alter table memoryd.{table} enable row level security",
        f"alter table memoryd.{table} force row level security",
        f"create policy {table}_read on memoryd.{table} for select using ({member})",
        (
            f"create policy {table}_add on memoryd.{table} for insert"
            f" with check ({member} and {_IS_OWN})"
        ),
    )
    if not may_update:
        return made
    return (
        *made,
        (
            f"create policy {table}_change on memoryd.{table} for update using ({member})"
            f" with check ({member} and {_IS_OWN})"
        ),
    )


# One person's machines: sealed rows, which only that person's login sees.
_OWNED: Final = {
    "private_rows": (
        "name text not null, stamp bigint not null, tie bigint not null, device text not null,"
        " epoch integer not null, sealed bytea not null,"
        " primary key (owner, name), check (octet_length(sealed) <= 2200000)"
    ),
    "private_devices": (
        "device text not null, epoch integer not null, sealed bytea not null,"
        " primary key (owner, device), check (octet_length(sealed) <= 10000)"
    ),
    "private_keys": (
        "epoch integer not null, device text not null, sealed bytea not null,"
        " primary key (owner, epoch, device), check (octet_length(sealed) <= 10000)"
    ),
    "private_invitations": (
        "name text not null, expires bigint not null, sealed bytea not null,"
        " primary key (owner, name), check (octet_length(sealed) <= 33000000)"
    ),
}


def _owned(table: str, columns: str) -> tuple[str, ...]:
    is_own = "owner = session_user::text"
    return (
        f"create table memoryd.{table} (owner text not null default session_user::text, {columns})",
        f"alter table memoryd.{table} enable row level security",
        f"alter table memoryd.{table} force row level security",
        f"create policy {table}_own on memoryd.{table} using ({is_own}) with check ({is_own})",
    )


# Each is a list of statements that run in one transaction.
MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
    (
        (
            "create table memoryd.members ("
            "project text not null, member text not null, primary key (project, member))"
        ),
        f"create table memoryd.entries ({_COLUMNS}, primary key (project, entry))",
        "create index entries_by_stamp on memoryd.entries (project, stamp)",
        (
            f"create table memoryd.versions ({_COLUMNS}, content bytea,"
            " primary key (project, entry, stamp, tie),"
            " check (content is null or octet_length(content) <= 256000))"
        ),
        "create index versions_by_stamp on memoryd.versions (project, stamp)",
        "alter table memoryd.members enable row level security",
        "alter table memoryd.members force row level security",
        (
            "create policy members_read on memoryd.members for select"
            " using (member = session_user::text)"
        ),
        (
            "create policy members_owner on memoryd.members to current_user"
            " using (true) with check (true)"
        ),
        *_policies("entries", may_update=True),
        *_policies("versions", may_update=False),
    ),
    (
        *(statement for table, columns in _OWNED.items() for statement in _owned(table, columns)),
        "create index private_rows_by_stamp on memoryd.private_rows (owner, stamp)",
    ),
)
SCHEMA_VERSION: Final = len(MIGRATIONS)

FIRST: Final = (
    "create schema if not exists memoryd",
    (
        "create table if not exists memoryd.schema_version ("
        "one integer primary key check (one = 1), version integer not null)"
    ),
    "insert into memoryd.schema_version values (1, 0) on conflict (one) do nothing",
)


def grants(role: str) -> tuple[str, ...]:
    """What a member's role needs, and nothing else; `role` is quoted already."""
    return (
        f"grant usage on schema memoryd to {role}",
        f"grant select on memoryd.schema_version, memoryd.members to {role}",
        f"grant select, insert on memoryd.entries, memoryd.versions to {role}",
        f"grant update (stamp, tie, sha256, bytes, author) on memoryd.entries to {role}",
        *(f"grant select, insert, update, delete on memoryd.{one} to {role}" for one in _OWNED),
    )


def quoted(role: str) -> str:
    return '"' + role.replace('"', '""') + '"'
