"""The schema and its migrations; a database that cannot be used is replaced, never fatal."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from memoryd.base.errors import StorageError, Unavailable
from memoryd.system.database import Cell, Database
from memoryd.system.schema import BASE_VERSION, LATEST_VERSION

Row = tuple[Cell, ...]

# One file for each schema version that was ever in use, written by the code of its time.
OLD_DATABASES = Path(__file__).parent.parent / "data/databases"


def damage(path: Path, offset: int) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(b"\xa5" * 4096)


def rows_by_table(database: Database) -> dict[str, list[Row]]:
    names = database.run("select name from sqlite_master where type = 'table'")
    tables = [str(name) for (name,) in names]
    return {name: database.run(f"select * from {name}") for name in tables}


def columns_by_table(database: Database) -> dict[str, list[Row]]:
    return {name: database.run(f"pragma table_info({name})") for name in rows_by_table(database)}


def indexes(database: Database) -> set[object]:
    return {row[0] for row in database.run("select name from sqlite_master where type = 'index'")}


@pytest.fixture
def carried_over(tmp_path: Path) -> Database:
    path = tmp_path / "carried-over/state.db"
    path.parent.mkdir()
    shutil.copy(OLD_DATABASES / "state-10.db", path)
    return Database.open(str(path))


def test_an_old_database_keeps_all_its_rows(carried_over: Database) -> None:
    before = sqlite3.connect(OLD_DATABASES / "state-10.db")
    after = rows_by_table(carried_over)
    names = [row[0] for row in before.execute("select name from sqlite_master where type='table'")]
    assert names
    for name in names:
        rows = before.execute(f"select * from {name}").fetchall()
        assert rows, f"the old database shows nothing about {name}"
        assert [row[: len(rows[0])] for row in after[name]] == rows, name
    assert carried_over.problem == ""
    before.close()
    carried_over.close()


def test_an_old_database_gets_the_schema_of_a_new_one(
    carried_over: Database, tmp_path: Path
) -> None:
    new = Database.open(str(tmp_path / "new/state.db"))
    assert columns_by_table(carried_over) == columns_by_table(new)
    assert indexes(carried_over) == indexes(new)
    assert carried_over.run("pragma user_version") == [(LATEST_VERSION,)]
    carried_over.close()
    new.close()


def test_old_versions_are_numbered_per_memory_in_their_order(carried_over: Database) -> None:
    rows = carried_over.run("select file, number, at from versions order by file, at")
    numbers: dict[object, list[object]] = {}
    for file, number, _ in rows:
        numbers.setdefault(file, []).append(number)
    assert numbers == {
        "feedback_tabs.md": [1, 2, 3],
        "project_cache.md": [1, 2],
        "project_database.md": [1, 2, 3, 4],
        "user_role.md": [1],
    }
    carried_over.close()


def test_a_database_from_before_the_first_supported_version_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    old = sqlite3.connect(path)
    old.executescript(f"create table t (x); pragma user_version = {BASE_VERSION - 1};")
    old.close()
    database = Database.open(str(path))
    assert database.problem.startswith("state.db is from an unreleased version of memoryd")
    assert Path(database.put_aside).exists()
    assert database.run("select count(*) from versions") == [(0,)]
    database.close()


def test_a_damaged_table_is_found_at_the_start_and_the_database_replaced(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    database = Database.open(str(path))
    ((root,),) = database.run("select rootpage from sqlite_master where name = 'versions'")
    database.run("pragma wal_checkpoint(truncate)")
    database.close()
    damage(path, (int(str(root)) - 1) * 4096)
    again = Database.open(str(path))
    assert again.problem.startswith("state.db was damaged")
    assert Path(again.put_aside).exists()
    assert again.run("select count(*) from versions") == [(0,)]
    again.close()


def test_a_database_of_a_newer_version_is_left_alone_with_an_error(tmp_path: Path) -> None:
    path = str(tmp_path / "state.db")
    database = Database.open(path)
    database.run(f"pragma user_version = {LATEST_VERSION + 1}")
    database.close()
    with pytest.raises(Unavailable, match="newer memoryd"):
        Database.open(path)


def test_a_statement_that_fails_is_a_storage_error_and_undoes_its_transaction(
    tmp_path: Path,
) -> None:
    database = Database.open(str(tmp_path / "state.db"))

    def two_steps() -> None:
        with database.transaction():
            database.run("insert into switched_off (project) values ('p')")
            database.run("select * from no_such_table")

    with pytest.raises(StorageError):
        two_steps()
    assert database.run("select * from switched_off") == []
    database.close()


def test_damage_that_shows_later_puts_the_database_aside_and_work_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    database = Database.open(str(path))
    for number in range(100):  # more than is held in memory
        database.run("insert into blobs values (?, ?)", f"{number}", b"x" * 65_536)
    database.run("pragma wal_checkpoint(truncate)")
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.write(b"\xa5" * size)
    assert database.run("select count(*), sum(length(packed)) from blobs") == [(0, None)]
    assert "was damaged; it was moved to" in database.problem
    assert Path(database.put_aside).stat().st_size == size
    database.run("insert into blobs values ('a', x'00')")
    database.close()
    again = Database.open(str(path))
    assert again.run("select sha256 from blobs") == [("a",)]
    again.close()


def test_damage_inside_a_transaction_is_an_error_and_the_next_one_works(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    database = Database.open(str(path))
    for number in range(100):
        database.run("insert into blobs values (?, ?)", f"{number}", b"x" * 65_536)
    database.run("pragma wal_checkpoint(truncate)")
    with path.open("r+b") as file:
        file.write(b"\xa5" * path.stat().st_size)

    def two_steps() -> None:
        with database.transaction():
            database.run("insert into switched_off (project) values ('p')")
            database.run("select sum(length(packed)) from blobs")

    with pytest.raises(StorageError):
        two_steps()
    with database.transaction():
        database.run("insert into switched_off (project) values ('q')")
    assert database.run("select project from switched_off") == [("q",)]
    database.close()


@pytest.mark.parametrize("suffixes", [("",), ("", "-wal", "-shm")])
def test_a_database_that_is_deleted_while_it_is_open_is_made_anew(
    tmp_path: Path, suffixes: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoryd.system.database.LOOK_SECONDS", 0.0)
    path = tmp_path / "state.db"
    database = Database.open(str(path))
    database.run("insert into switched_off (project) values ('before')")
    for suffix in suffixes:
        Path(f"{path}{suffix}").unlink()
    database.run("insert into switched_off (project) values ('after')")
    assert "was removed; a new one was made" in database.problem
    database.close()
    again = Database.open(str(path))
    assert again.run("select project from switched_off") == [("after",)]
    again.close()


def test_what_is_gone_is_damage_but_what_never_was_is_a_mistake(tmp_path: Path) -> None:
    database = Database.open(str(tmp_path / "state.db"))
    with pytest.raises(StorageError):
        database.run("select * from no_such_table")
    assert database.problem == ""
    with pytest.raises(StorageError):
        database.run("select no_such_column from switched_off")
    assert database.problem == ""
    database.run("alter table blobs rename column packed to damaged")
    assert database.run("select packed from blobs where sha256 = ?", "a") == []
    assert "was damaged" in database.problem
    database.problem = ""
    database.run("drop table switched_off")
    assert database.run("select * from switched_off") == []
    assert "was damaged" in database.problem
    database.close()


def test_pages_can_be_let_go_at_any_time(tmp_path: Path) -> None:
    database = Database.open(str(tmp_path / "state.db"))
    database.run("create table pages (text)")
    with database.transaction():
        database.run("insert into pages values (?)", "kept" * 10_000)
        database.let_go()
    database.let_go()
    assert database.run("select length(text) from pages") == [(40_000,)]
    database.close()
    database.let_go()  # a sweep may end after the stop
