"""Daemons for tests that talk to a real one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.running import Daemon, make_home


@pytest.fixture
def daemon(home: Path) -> Iterator[Daemon]:
    """The daemon of this test's home, not started yet."""
    made = Daemon(home)
    yield made
    made.end()


@pytest.fixture
def turns_are_held(home: Path) -> None:
    """The daemon of this home holds turns back, so that a test can look at them."""
    folder = home / ".config/memoryd"
    folder.mkdir()
    (folder / "config.toml").write_text("[extraction]\nevery_turns = 1000\n")


@pytest.fixture(scope="session")
def shared_daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One running daemon for all tests of a worker that leave no trace outside their own project.

    A test that could spoil it for the next one would fail that one: this is wanted.
    """
    running = Daemon(make_home(tmp_path_factory.mktemp("shared"))).start()
    with running.peer() as peer:  # recall is loaded in the background: wait for it once
        peer.call("recall", query="warm up", cwd="/")
    yield running
    running.end()
