"""Only one process holds the lock, and a failed dream leaves no trace in the lock's time."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.dreams import lock
from memoryd.dreams.lock import ConsolidateLock, Holder, LockState, holder_is_stale
from memoryd.system import processes

NOW = 1_800_000_000.0


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


TAKER = (
    "import sys, time; from memoryd.dreams.lock import ConsolidateLock\n"
    "sys.stdin.readline()\n"
    "taken = [ConsolidateLock.take(path, time.time()) for path in sys.argv[1:]]\n"
    "print(' '.join('1' if one else '0' for one in taken), flush=True)\n"
    "sys.stdin.readline()\n"
)


def test_of_twenty_processes_exactly_one_gets_the_lock_every_time(
    tmp_path: Path,
) -> None:
    names = [f"{kind}{number}" for kind in ("stale", "none") for number in range(60)]
    paths = [str(tmp_path / f"{name}/.consolidate-lock") for name in names]
    for path in paths[:60]:
        written(path, "999999999", time.time() - 90_000)
    command = [sys.executable, "-c", TAKER, *paths]
    pipe = subprocess.PIPE
    takers = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(20)]
    try:
        for taker in takers:
            assert taker.stdin is not None
            taker.stdin.write("go\n")
            taker.stdin.flush()
        rows = [taker.stdout.readline().split() for taker in takers if taker.stdout is not None]
    finally:
        for taker in takers:
            taker.kill()
            taker.communicate()
    winners = [sum(row[number] == "1" for row in rows) for number in range(120)]
    assert winners == [1] * 120


def test_the_lock_of_a_killed_holder_can_be_restored(path: str) -> None:
    written(path, "999999999", NOW - 90_000)
    command = [sys.executable, "-c", TAKER, path]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as taker:
        assert taker.stdin is not None
        assert taker.stdout is not None
        taker.stdin.write("go\n")
        taker.stdin.flush()
        assert taker.stdout.readline() == "1\n"
        taker.send_signal(signal.SIGKILL)
    lock.restore_lock(path, LockState(existed=True, body="999999999", modified=NOW - 90_000))
    assert Path(path).stat().st_mtime == NOW - 90_000
    assert ConsolidateLock.take(path, NOW) is not None


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
RECYCLER = """
import os, sys, time
from pathlib import Path
from memoryd.dreams.lock import ConsolidateLock
from memoryd.system.processes import process_is_alive

def holder():
    ConsolidateLock.take(path, time.time())
    os._exit(0)  # the lock names it still

def child(action):
    pid = os.fork()
    if pid == 0:
        action()
    return pid

path, judged_stale, recycled = sys.argv[1], 0, 0
for _ in range(100):
    first = child(holder)
    os.waitpid(first, 0)
    assert Path(path).read_text() == str(first)
    earlier = time.time() - 60
    os.utime(path, (earlier, earlier))
    Path("/proc/sys/kernel/ns_last_pid").write_text(str(first - 1))
    hold, until = os.pipe()
    second = child(lambda: (os.close(until), os.read(hold, 1), os._exit(0)))
    os.close(hold)
    recycled += second == first and process_is_alive(first)
    taken = ConsolidateLock.take(path, time.time())
    judged_stale += taken is not None
    if taken is not None:
        taken.roll_back()
    os.close(until)
    os.waitpid(second, 0)
print(recycled, judged_stale)
"""


def test_a_hundred_recycled_pids_hold_nothing(path: str) -> None:
    Path(path).parent.mkdir()
    spaces = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    command = ["unshare", *spaces, sys.executable, "-c", RECYCLER, path]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except FileNotFoundError:
        pytest.skip("unshare is not installed")
    if "unshare: " in done.stderr or "ns_last_pid" in done.stderr:
        pytest.skip("this machine does not let us choose PIDs")
    assert done.stdout == "100 100\n", done.stderr
