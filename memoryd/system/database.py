"""state.db: what the daemon knows beyond the files, in one SQLite database.

The files are the truth. This database can be deleted: history, spending and cursors go with it, and
everything else is rebuilt. So a damaged database, or one from before the first supported version,
never stops the daemon: it is renamed and a new one started, at the start or whenever the damage
shows; `problem` says so. One that is deleted while the daemon runs is created again.

- One connection, used from any thread, one transaction at a time. Who needs the lock of a memory
  directory as well takes that one first.
- A new database gets the base schema and all migrations (`schema`), an older one the migrations it
  lacks, in one transaction.
- WAL with NORMAL sync: a kill loses nothing, a power cut at most the last moments.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final, Self, TypeAlias

from memoryd.base.errors import StorageError, Unavailable
from memoryd.system.database_file import ERRORS, identity, is_damage, move_aside, remove_companions
from memoryd.system.folder import make_folder
from memoryd.system.schema import BASE_SCHEMA, BASE_VERSION, LATEST_VERSION, MIGRATIONS

Cell: TypeAlias = str | int | float | bytes | None

# How often it is checked that the file is still there.
LOOK_SECONDS: Final = 1.0


class _OutdatedError(Exception):
    """A version from before the first one that is supported."""


class Database:
    """The open database. `run` reads or writes; `transaction` makes several writes one."""

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        self._connection = connection
        self._lock = threading.RLock()
        self._identity = identity(path)
        self._looked_at = time.monotonic()
        self.path = path
        self.put_aside = ""
        """Where a database that could not be used was moved to."""
        self.problem = ""
        """Why, in a sentence for the user."""

    @classmethod
    def open(cls, path: str) -> Self:
        """Opens or creates the database; one that cannot be used is renamed and replaced."""
        make_folder(str(Path(path).parent))
        try:
            return cls(_connected(path), path)
        except _OutdatedError:
            what, reason = "outdated", "is from an unreleased version of memoryd"
        except ERRORS as error:
            if not is_damage(error):
                raise _storage_error(path, "open", error) from error
            what, reason = "damaged", "was damaged"
        aside = move_aside(path, what)
        database = cls(_connected(path), path)
        database.put_aside = aside
        database.problem = f"{Path(path).name} {reason}; it was moved to {aside}"
        return database

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def let_go(self) -> None:
        """Frees the pages that are held in memory; the system has them still."""
        with self._lock, suppress(*ERRORS):
            self._connection.execute("pragma shrink_memory")

    def run(self, sql: str, *values: Cell) -> list[tuple[Cell, ...]]:
        """Runs one statement and returns its rows."""
        with self._lock:
            self._stay_in_place()
            is_whole = self._connection.in_transaction
            try:
                with self._errors(sql):
                    return self._connection.execute(sql, values).fetchall()
            except _DamagedError:
                if is_whole:  # what came before it in the transaction is lost
                    raise
            with _storage_errors(self.path):
                return self._connection.execute(sql, values).fetchall()

    @contextmanager
    def erasing(self) -> Iterator[None]:
        """What is deleted inside leaves nothing behind: no free page, no write-ahead log."""
        with self._lock:
            with _storage_errors(self.path):
                self._connection.execute("pragma secure_delete = on")
            try:
                yield
                with _storage_errors(self.path):
                    self._connection.execute("vacuum")
                    self._connection.execute("pragma wal_checkpoint(truncate)")
            finally:
                self._connection.execute("pragma secure_delete = off")

    def run_many(self, sql: str, rows: Sequence[Sequence[Cell]]) -> None:
        with self.transaction(), self._errors(sql):
            self._connection.executemany(sql, rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All statements inside take effect, or none. A nested one joins the outer one."""
        with self._lock:
            if self._connection.in_transaction:
                yield
                return
            self._stay_in_place()
            with self._errors("begin"):
                self._connection.execute("begin immediate")
            try:
                yield
            except BaseException:
                with suppress(sqlite3.Error):  # none is open in one that was just created
                    self._connection.execute("rollback")
                raise
            with self._errors("commit"):
                self._connection.execute("commit")

    @contextmanager
    def _errors(self, sql: str) -> Iterator[None]:
        """Turns the library's errors into ours; a damaged database is replaced first."""
        try:
            yield
        except ERRORS as error:
            if not is_damage(error) and not _lacks_what_it_should_have(error, sql):
                raise _storage_error(self.path, "use", error) from error
            with _storage_errors(self.path):
                self._connection.close()
                self.put_aside = move_aside(self.path, "damaged")
                self._connection = _connected(self.path)
            self._identity = identity(self.path)
            name = Path(self.path).name
            self.problem = f"{name} was damaged; it was moved to {self.put_aside}"
            raise _DamagedError(self.path, "use", OSError(None, str(error))) from error

    def _stay_in_place(self) -> None:
        """Creates the database again if its file is gone or replaced by another."""
        now = time.monotonic()
        if now - self._looked_at < LOOK_SECONDS or self._connection.in_transaction:
            return
        self._looked_at = now
        found = identity(self.path)
        if found == self._identity:
            return
        with suppress(OSError, sqlite3.Error, Unavailable, _OutdatedError):
            if found is None:
                remove_companions(self.path)
            connection = _connected(self.path)
            self._connection.close()
            self._connection, self._identity = connection, identity(self.path)
            self.problem = f"{Path(self.path).name} was removed; a new one was made"


class _DamagedError(StorageError):
    """The database was damaged; an empty one is in its place by now."""


def _connected(path: str) -> sqlite3.Connection:
    before = os.umask(0o177)
    try:
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    finally:
        os.umask(before)
    try:
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = normal")
        connection.execute("pragma busy_timeout = 2000")
        _migrate(connection, path)
        _read_every_table(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _migrate(connection: sqlite3.Connection, path: str) -> None:
    (version,) = connection.execute("pragma user_version").fetchone()
    if version > LATEST_VERSION:
        raise Unavailable(
            f"{path} was made by a newer memoryd",
            hint="upgrade memoryd, or move the file away to start over (its history is then gone)",
        )
    if 0 < version < BASE_VERSION:
        raise _OutdatedError
    scripts = MIGRATIONS[version - BASE_VERSION :] if version else (BASE_SCHEMA, *MIGRATIONS)
    if scripts:
        connection.executescript(
            f"begin immediate; {';'.join(scripts)}; pragma user_version = {LATEST_VERSION}; commit;"
        )


def _lacks_what_it_should_have(error: Exception, sql: str) -> bool:
    """Whether a table or column is gone that every database has; else the statement is wrong."""
    if not str(error).startswith("no such "):
        return False
    with closing(sqlite3.connect(":memory:")) as fresh:
        fresh.executescript(";".join((BASE_SCHEMA, *MIGRATIONS)))
        try:
            fresh.execute(f"explain {sql}")
        except sqlite3.ProgrammingError:  # it compiles, and lacks only its values
            return True
        except sqlite3.Error:
            return False
    return True


def _read_every_table(connection: sqlite3.Connection) -> None:
    """Raises at once for damage that would otherwise crash the daemon at every start."""
    tables = connection.execute("select name from sqlite_master where type = 'table'").fetchall()
    for (name,) in tables:
        connection.execute(f'select * from "{name}" limit 1').fetchall()  # noqa: S608 - our own names


@contextmanager
def _storage_errors(path: str) -> Iterator[None]:
    try:
        yield
    except ERRORS as error:
        raise _storage_error(path, "use", error) from error


def _storage_error(path: str, action: str, error: Exception) -> StorageError:
    return StorageError(path, action, OSError(None, str(error)))
