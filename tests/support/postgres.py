"""A real Postgres server of the test's own: on a private socket, as an unprivileged user.

Where there is none, the tests that need it are skipped and say how to get one.
"""

import hashlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Self

import pytest

HOW = "no Postgres server: apt-get install postgresql (or put its bin folder on PATH)"
WAIT_SECONDS = 60
OWNER = "boss"
PEOPLE = ("alice", "bob", "carol", "mallory")
SETTINGS = """
listen_addresses = ''
fsync = off
full_page_writes = off
max_connections = 60
shared_buffers = 16MB
max_wal_size = 64MB
autovacuum = off
"""
# Everybody is who they say, except for `locked`, who has a password.
ACCESS = """
local all locked scram-sha-256
local all all trust
"""
_numbers = count()


def programs() -> Path | None:
    """The folder with initdb and postgres; Debian keeps it off the PATH."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((one for one in folders if (one / "initdb").exists()), None)


class PostgresServer:
    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.sockets = folder
        self.port = 5432
        self._programs = programs
        self._process: subprocess.Popen[bytes] | None = None
        self._user = _unprivileged()

    @classmethod
    def made(cls, settings: str = SETTINGS, access: str = ACCESS) -> Self:
        """A new cluster, not started yet."""
        found = programs()
        if found is None:
            pytest.skip(HOW)
        folder = Path(tempfile.mkdtemp(prefix="mpg", dir="/tmp"))
        made = cls(folder, found)
        if made._user is not None:
            shutil.chown(folder, made._user, None)
        folder.chmod(0o755)
        made._run("initdb", "-D", str(made.data), "-U", "root", "-A", "trust", "--no-sync")
        made.write("postgresql.conf", settings)
        made.write("pg_hba.conf", access)
        return made

    def write(self, name: str, text: str, mode: int = 0o600) -> Path:
        path = self.data / name
        path.write_text(text)
        path.chmod(mode)
        if self._user is not None:
            shutil.chown(path, self._user, None)
        return path

    def start(self) -> Self:
        """Returns when it takes connections."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self.data, "-k", self.sockets],
                user=self._user,
                stdout=subprocess.DEVNULL,
                stderr=log,
                env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            )
        ready = [str(self._programs / "pg_isready"), "-q", "-t", "5", "-h", str(self.sockets)]
        ready += ["-p", str(self.port)]
        for _ in range(WAIT_SECONDS * 10):
            if subprocess.run(ready, check=False, timeout=WAIT_SECONDS).returncode == 0:
                return self
            assert self._process.poll() is None, (self.folder / "log").read_text()
        raise AssertionError("Postgres does not start")

    def signal(self, number: int) -> None:
        """To the server and all its processes."""
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text()
        for process in (self._process.pid, *map(int, children.split())):
            with suppress(ProcessLookupError):
                os.kill(process, number)

    def kill(self) -> None:
        """As a power cut for its processes: nothing is flushed, no goodbye."""
        assert self._process is not None
        self.signal(signal.SIGKILL)
        self._process.wait(WAIT_SECONDS)
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def remove(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def sql(self, statement: str, *, role: str = "root", database: str = "postgres") -> str:
        """What psql prints for a statement; AssertionError if it fails."""
        done = self.try_sql(statement, role=role, database=database)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def try_sql(
        self, statement: str, *, role: str, database: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self._psql(role, database), "-c", statement],
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS,
            check=False,
        )

    @contextmanager
    def locked(self, table: str, *, database: str) -> Iterator[None]:
        """Meanwhile every reader of the table waits."""
        pipe = subprocess.PIPE
        with subprocess.Popen(self._psql("root", database), stdin=pipe, stdout=pipe) as psql:
            assert psql.stdin is not None
            assert psql.stdout is not None
            psql.stdin.write(f"begin; lock table {table}; select 'locked';\n".encode())
            psql.stdin.flush()
            assert psql.stdout.readline() == b"locked\n"
            yield
            psql.communicate(b"rollback;\n", WAIT_SECONDS)

    def _psql(self, role: str, database: str) -> list[str]:
        return [
            *(str(self._programs / "psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"),
            *("-h", str(self.sockets), "-p", str(self.port), "-U", role, "-d", database),
        ]

    def dumped(self, database: str) -> str:
        done = subprocess.run(
            [
                *(str(self._programs / "pg_dump"), "-h", str(self.sockets)),
                *("-U", "root", database),
            ],
            capture_output=True,
            timeout=WAIT_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self._programs / program, *arguments],
            user=self._user,
            capture_output=True,
            timeout=WAIT_SECONDS,
            check=False,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            cwd=self.folder,
        )
        assert done.returncode == 0, done.stderr


class TeamDatabase:
    """One database of a server; `boss` may create a schema in it, the others only log in."""

    def __init__(self, server: PostgresServer, name: str) -> None:
        self.server = server
        self.name = name

    def dsn(self, role: str) -> str:
        return (
            f"postgresql://{role}@/{self.name}?host={self.server.sockets}&port={self.server.port}"
        )

    def sql(self, statement: str, role: str = "root") -> str:
        return self.server.sql(statement, role=role, database=self.name)

    def locked(self, table: str) -> AbstractContextManager[None]:
        return self.server.locked(table, database=self.name)

    def dump(self) -> str:
        """Everything that was ever shared, as its owner could read it."""
        text = "select string_agg(project || entry || author || coalesce("
        return self.sql(f"{text}convert_from(content, 'utf8'), ''), ' ') from memoryd.versions")

    def everything(self) -> str:
        """The whole database as its owner, or a thief of a backup, has it."""
        return self.server.dumped(self.name)

    def plant(
        self, author: str, project: str, entry: str, text: bytes, sha256: str | None = None
    ) -> None:
        """Puts an entry there as somebody with a key and psql does, whom nothing checks."""
        sha256 = sha256 or hashlib.sha256(text).hexdigest()
        stamp = "(extract(epoch from clock_timestamp()) * 1000000)::bigint"
        where = f"('{project}', '{entry}', (select s from t), 77, '{sha256}', {len(text)}"
        self.sql(
            f"create temporary table t as select {stamp} as s;"
            f"insert into memoryd.entries values {where}, '{author}');"
            f"insert into memoryd.versions values {where}, '{author}', '\\x{text.hex()}')",
            author,
        )

    def fails(self, statement: str, role: str) -> str:
        """The error that a statement ends in."""
        done = self.server.try_sql(statement, role=role, database=self.name)
        assert done.returncode != 0, done.stdout
        return done.stderr


def prepared(server: PostgresServer, people: Sequence[str] = (OWNER, *PEOPLE, "locked")) -> None:
    for name in people:
        server.sql(f"create role {name} login password 'right'")


def new_database(server: PostgresServer) -> TeamDatabase:
    name = f"team{os.getpid()}_{next(_numbers)}"
    server.sql(f"create database {name} owner {OWNER}")
    return TeamDatabase(server, name)


@contextmanager
def running_server(
    settings: str = SETTINGS,
    access: str = ACCESS,
    files: Mapping[str, str] | None = None,
    port: int = 5432,
) -> Iterator[PostgresServer]:
    server = PostgresServer.made(settings, access)
    server.port = port
    try:
        for name, text in (files or {}).items():
            server.write(name, text)
        server.start()
        prepared(server)
        yield server
    finally:
        server.remove()


def _unprivileged() -> str | None:
    """Whom to be, since initdb refuses root; None if we are nobody special."""
    if os.geteuid() != 0:
        return None
    names = {one.pw_name for one in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"
