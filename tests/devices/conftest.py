"""One Postgres server for the tests of a worker, and a new database for each test."""

from collections.abc import Iterator

import pytest

from tests.support.postgres import PostgresServer, TeamDatabase, new_database, running_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with running_server() as server:
        yield server


@pytest.fixture
def shared(postgres: PostgresServer) -> TeamDatabase:
    return new_database(postgres)
