"""The dream lock between real processes: racing, killed, frozen, with recycled numbers."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from memoryd.base.errors import Refused
from memoryd.dreams import lock
from memoryd.dreams.lock import Before, ConsolidateLock
from tests.dreams.test_lock import written
from tests.support.dream_fixtures import Dreamland, two_of_a_kind
from tests.support.running import ROOT
from tests.support.times import NOW


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "memory/.consolidate-lock")


TAKER = (
    "import sys, time; from memoryd.dreams.lock import ConsolidateLock\n"
    "sys.stdin.readline()\n"
    "taken = [ConsolidateLock.take(path, time.time()) for path in sys.argv[1:]]\n"
    "print(' '.join('1' if one else '0' for one in taken), flush=True)\n"
    "sys.stdin.readline()\n"
)


def test_of_twenty_at_once_exactly_one_gets_it_in_every_one_of_sixty_rounds(
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


def test_a_killed_holder_leaves_what_its_successor_can_bring_back(path: str) -> None:
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
    lock.bring_back(path, Before(existed=True, body="999999999", modified=NOW - 90_000))
    assert Path(path).stat().st_mtime == NOW - 90_000
    assert ConsolidateLock.take(path, NOW) is not None


# A process tree of its own, in which the next number can be chosen.
RECYCLER = """
import os, sys, time
from pathlib import Path
from memoryd.dreams.lock import ConsolidateLock, process_is_alive

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


def test_a_hundred_recycled_numbers_hold_nothing(path: str) -> None:
    Path(path).parent.mkdir()
    spaces = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    command = ["unshare", *spaces, sys.executable, "-c", RECYCLER, path]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except FileNotFoundError:
        pytest.skip("there is no unshare here")
    if "unshare: " in done.stderr or "ns_last_pid" in done.stderr:
        pytest.skip("this machine does not let us choose numbers for processes")
    assert done.stdout == "100 100\n", done.stderr


FREEZER = """
import os, signal, sys
from pathlib import Path
import anyio
from tests.support.dream_fixtures import Dreamland

def freeze():
    os.kill(os.getpid(), signal.SIGSTOP)

async def dream():
    home, now = Path(sys.argv[1]), float(sys.argv[2])
    land = Dreamland(home, now=now, state_home="frozen/state", similarity=freeze)
    async with land.awake():
        one = await land.dream()
    print(one.state, one.reason, sep=": ")

anyio.run(dream)
"""


def frozen_dreamer(home: Path, now: float) -> "subprocess.Popen[str]":
    """A process that stands still in the middle of its dream."""
    env = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'client'}"}
    command = [sys.executable, "-c", FREEZER, str(home), str(now)]
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
    assert os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1])
    return process


async def test_a_process_that_was_frozen_for_an_hour_wakes_and_stops(home: Path) -> None:
    land = Dreamland(home, now=time.time())
    two_of_a_kind(land)
    frozen = frozen_dreamer(home, land.now)
    land.now = time.time()
    try:
        assert land.lock.read_text() == str(frozen.pid)
        async with land.awake():
            with pytest.raises(Refused, match="another dream is running"):
                await land.dream()
            land.pass_time(61 * 60)
            assert (await land.dream()).state == "done"
        after, stamp = land.tree(), land.lock.stat().st_mtime
        frozen.send_signal(signal.SIGCONT)
        said, _ = await anyio.to_thread.run_sync(lambda: frozen.communicate(timeout=120))
    finally:
        frozen.kill()
        frozen.wait()
    last = said.splitlines()[-1]
    assert last == "failed: another dream took over while this one was held up"
    assert (land.tree(), land.lock.read_text()) == (after, str(os.getpid()))
    assert land.lock.stat().st_mtime == stamp == land.now
    land.state.close()
