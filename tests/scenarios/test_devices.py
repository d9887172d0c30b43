"""One person's machines against a real Postgres: real daemons, real homes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.machines import OwnMachine, eventually
from tests.support.postgres import OWNER, PostgresServer, TeamDatabase, new_database, running_server


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with running_server() as server:
        yield server


@pytest.fixture
def shared(postgres: PostgresServer) -> TeamDatabase:
    return new_database(postgres)


def test_a_second_machine_gets_everything_and_the_database_reads_nothing(
    shared: TeamDatabase, tmp_path: Path
) -> None:
    desk = OwnMachine(tmp_path / "desk", "alice", shared).start()
    lap = OwnMachine(tmp_path / "lap", "alice", shared).start()
    try:
        desk.call("device/init", dsn=shared.dsn(OWNER), members=["alice", "bob"])
        first = desk.keep("Deploy on Tuesdays", "The zanzibar cluster is deployed on Tuesdays.")
        mine = desk.keep("I prefer tabs", "Alice likes quokka tabs.", "user", "user")
        code = desk.add()["code"]
        answer = lap.add(code)
        assert sorted(answer["devices"]) == ["desk", "lap"]
        assert {first, mine} <= lap.own_files().keys(), (answer, lap.list())
        assert lap.own_files() == desk.own_files()
        second = lap.keep("Freeze in December", "The narwhal branch is frozen in December.")
        eventually(lambda: second in desk.own_files(), "the other way")
        dump = shared.everything().lower()
        for word in ("zanzibar", "Tuesdays", "quokka", "narwhal", first, mine, "acme", "shop"):
            assert word.lower() not in dump, word
            assert word.encode().hex() not in dump, word
    finally:
        for one in (desk, lap):
            one.daemon.end()
