"""Only one process holds the lock, and a failed dream leaves no trace in the lock's time."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.dreams.lock import ConsolidateLock, Holder, LockState, holder_is_stale
from memoryd.system import processes
from tests.support.times import NOW


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "memory/.consolidate-lock")


@pytest.fixture
def stranger() -> Iterator[int]:
    """A living process that is not us."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process.pid
        process.kill()


def written(path: str, body: str, modified: float) -> None:
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text(body)
    os.utime(path, (modified, modified))


def test_a_free_lock_is_taken_and_names_us(path: str) -> None:
    taken = ConsolidateLock.take(path, time.time())
    assert taken is not None
    assert Path(path).read_text() == str(os.getpid())
    assert ConsolidateLock.take(path, time.time()) is None
    taken.finish(NOW)
    assert Path(path).stat().st_mtime == NOW


def test_a_failed_dream_restores_the_old_time(path: str) -> None:
    written(path, "999999999", NOW - 90_000)
    taken = ConsolidateLock.take(path, NOW)
    assert taken is not None
    taken.roll_back()
    assert (Path(path).read_text(), Path(path).stat().st_mtime) == ("999999999", NOW - 90_000)


def test_a_new_lock_file_is_removed_after_a_failure(path: str) -> None:
    taken = ConsolidateLock.take(path, NOW)
    assert taken is not None
    taken.roll_back()
    assert not Path(path).exists()


def test_a_living_holder_is_respected_for_an_hour(path: str, stranger: int) -> None:
    now = time.time()
    written(path, str(stranger), now)
    assert ConsolidateLock.take(path, now + 10) is None
    taken = ConsolidateLock.take(path, now + 3601)
    assert taken is not None
    taken.roll_back()


FRESH = LockState(existed=True, body="7", modified=NOW - 60)


@pytest.mark.parametrize(
    ("holder", "now", "stale"),
    [
        (Holder(7, True, NOW - 500), NOW, False),
        (Holder(7, False, None), NOW, True),
        (
            Holder(7, True, NOW - 10),
            NOW,
            True,
        ),  # started after the file was written
        (Holder(7, True, None), NOW, False),
        (Holder(7, True, NOW - 500), NOW + 3600, True),
        (Holder(7, True, NOW - 500), NOW - 864_000, True),  # the clock went back ten days
        (Holder(7, True, NOW - 500), NOW + 400 * 86_400, True),
    ],
)
def test_which_holders_are_stale(holder: Holder, now: float, stale: bool) -> None:
    assert holder_is_stale(FRESH, holder, now) is stale


@pytest.mark.parametrize("body", ["", "0", "-1", "abc", "99999999999999999999", "1 2", "\0"])
def test_garbage_in_the_file_holds_nothing(path: str, body: str) -> None:
    written(path, body, time.time())
    taken = ConsolidateLock.take(path, time.time())
    assert taken is not None
    taken.roll_back()


@pytest.mark.parametrize("modified", [0.0, NOW + 400 * 86_400])
def test_an_impossible_time_stamp_does_not_hold_it_for_ever(
    path: str, stranger: int, modified: float
) -> None:
    written(path, str(stranger), modified)
    taken = ConsolidateLock.take(path, NOW)
    assert taken is not None
    taken.finish(NOW)


def test_a_process_suspended_for_over_an_hour_knows_that_it_lost_the_lock(path: str) -> None:
    suspended = ConsolidateLock.take(path, time.time())
    assert suspended is not None
    old = time.time() - 4000
    os.utime(path, (old, old))
    second = ConsolidateLock.take(path, time.time())
    assert second is not None
    assert second.is_ours()
    assert not suspended.is_ours()
    suspended.roll_back()
    assert second.is_ours()
    second.finish(NOW)


def test_a_link_in_its_place_is_not_followed(path: str, tmp_path: Path) -> None:
    from memoryd.base.errors import StorageError

    target = tmp_path / "precious"
    Path(path).parent.mkdir()
    Path(path).symlink_to(target)
    with pytest.raises(StorageError):
        ConsolidateLock.take(path, NOW)
    assert not target.exists()


def test_a_recycled_pid_is_not_the_holder(path: str, stranger: int) -> None:
    started = processes.process_started(stranger)
    assert started is not None
    assert abs(started - time.time()) < 600
    assert processes.process_started(2**22 + 5) is None
    written(path, str(stranger), started - 1000)  # before the machine was started, say
    taken = ConsolidateLock.take(path, started - 990)
    assert taken is not None
    taken.roll_back()


# A process tree of its own, in which the next PID can be chosen.
