"""The file of a database: whether it is damaged, gone or another one, and how it is put aside."""

import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

ERRORS: Final = (sqlite3.DatabaseError, UnicodeDecodeError)


def identity(path: str) -> tuple[int, int] | None:
    """Which file is there; None if there is none."""
    try:
        facts = os.stat(path)  # noqa: PTH116 - asked often
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def is_damage(error: Exception) -> bool:
    """Whether the file is to blame, for an error that is one of `ERRORS`."""
    if isinstance(error, UnicodeDecodeError):  # it names a column whose name is damaged
        return True
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in {
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
    }:
        return True
    words = ("malformed", "not a database", "Could not decode")
    return any(word in str(error) for word in words)


def move_aside(path: str, what: str) -> str:
    """Renames a database that cannot be used; returns where it is now."""
    aside = f"{path}.{what}-{time.time_ns()}"
    with suppress(FileNotFoundError):
        Path(path).rename(aside)
    remove_companions(path)
    return aside


def remove_companions(path: str) -> None:
    """Removes what SQLite keeps beside a database that is gone."""
    for suffix in ("-wal", "-shm"):
        Path(path + suffix).unlink(missing_ok=True)
