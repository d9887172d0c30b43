"""Everything that is kept in a home, as somebody who searches the disk would find it."""

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path


def places_with(home: Path, word: str, *, transcripts: bool = False) -> list[str]:
    """Where a word is kept: in the bytes of a file, or packed in a table."""
    wanted = word.encode()
    return sorted({place for place, data in _kept(home, transcripts) if wanted in data})


def _kept(home: Path, transcripts: bool) -> Iterator[tuple[str, bytes]]:
    for path in home.rglob("*"):
        is_transcript = path.suffix == ".jsonl" and path.parent.parent.name == "projects"
        if path.is_file() and not path.is_symlink() and (transcripts or not is_transcript):
            with suppress(FileNotFoundError):  # a temporary one that is gone by now
                yield str(path.relative_to(home)), path.read_bytes()
            if path.name == "state.db":
                yield from _rows(path)


def _rows(path: Path) -> Iterator[tuple[str, bytes]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        tables = database.execute("select name from sqlite_master where type = 'table'").fetchall()
        for (table,) in tables:
            for row in database.execute(f'select * from "{table}"'):
                for value in row:
                    data = value if isinstance(value, bytes) else str(value).encode()
                    with suppress(zlib.error):
                        data += zlib.decompress(data)
                    yield f"state.db: {table}", data
