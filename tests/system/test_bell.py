"""The bell that wakes the watch."""

from pathlib import Path

import anyio
import pytest

from memoryd.system.bell import Bell
from tests.support.tail_fixtures import WAIT_SECONDS

MORE_EVENTS_THAN_A_QUEUE_HOLDS = 1 + int(
    Path("/proc/sys/fs/inotify/max_queued_events").read_text()
    if Path("/proc/sys/fs/inotify").is_dir()
    else 0
)

pytestmark = pytest.mark.skipif(
    Bell.hang([]) is None, reason="this system has no inotify, or refuses another one"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "watched").mkdir()
    return tmp_path / "watched"


def hung(folder: Path) -> Bell:
    bell = Bell.hang([str(folder)])
    assert bell is not None
    return bell


async def test_it_rings_for_a_change_and_is_quiet_once_heard(folder: Path) -> None:
    bell = hung(folder)
    (folder / "a").write_text("x")
    with anyio.fail_after(WAIT_SECONDS):
        await bell.wait()
    assert not bell.silence()
    with anyio.move_on_after(0.05) as patience:
        await bell.wait()
    assert patience.cancelled_caught
    bell.close()


async def test_where_only_names_matter_it_does_not_ring_for_what_is_written(folder: Path) -> None:
    (folder / "session.jsonl").touch()
    bell = Bell.hang([str(folder)], {str(folder)})
    assert bell is not None
    with (folder / "session.jsonl").open("ab") as session:
        session.write(b"a line")
    with anyio.move_on_after(0.05) as patience:
        await bell.wait()
    assert patience.cancelled_caught
    (folder / "memory").mkdir()
    with anyio.fail_after(WAIT_SECONDS):
        await bell.wait()
    bell.close()


def test_there_is_no_bell_for_a_folder_that_is_gone(folder: Path) -> None:
    assert Bell.hang([str(folder / "gone")]) is None


async def test_it_says_that_events_were_dropped(folder: Path) -> None:
    bell = hung(folder)
    with (folder / "a").open("ab", 0) as one, (folder / "b").open("ab", 0) as other:
        for _ in range(MORE_EVENTS_THAN_A_QUEUE_HOLDS // 2 + 1):  # equal neighbours count once
            one.write(b"x")
            other.write(b"x")
    assert bell.silence()
    assert not bell.silence()
    bell.close()
