"""A damaged database is put aside, and whatever goes wrong with it is a storage error."""

from pathlib import Path

import pytest

from memoryd.base.errors import StorageError, Unavailable
from memoryd.system.database import MIGRATIONS, Database


def damaged(path: Path, offset: int) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(b"\xa5" * 4096)


def test_a_damaged_table_is_found_at_the_start_and_put_aside(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    state = Database.open(str(path))
    ((root,),) = state.run("select rootpage from sqlite_master where name = 'versions'")
    state.run("pragma wal_checkpoint(truncate)")
    state.close()
    damaged(path, (int(str(root)) - 1) * 4096)
    again = Database.open(str(path))
    assert Path(again.put_aside).exists()
    assert again.run("select count(*) from versions") == [(0,)]
    again.close()


def test_a_database_of_a_newer_version_is_left_with_a_word(tmp_path: Path) -> None:
    path = str(tmp_path / "state.db")
    state = Database.open(path)
    state.run(f"pragma user_version = {len(MIGRATIONS) + 1}")
    state.close()
    with pytest.raises(Unavailable, match="newer memoryd"):
        Database.open(path)


def test_a_statement_that_fails_is_a_storage_error_and_undoes_its_transaction(
    tmp_path: Path,
) -> None:
    state = Database.open(str(tmp_path / "state.db"))

    def two_steps() -> None:
        with state.transaction():
            state.run("insert into switched_off values ('p')")
            state.run("select * from no_such_table")

    with pytest.raises(StorageError):
        two_steps()
    assert state.run("select * from switched_off") == []
    state.close()
