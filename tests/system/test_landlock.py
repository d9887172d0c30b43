"""Behind the fence the kernel itself refuses, also when every check of ours is left out."""

import errno
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules.topics import Topic
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system import landlock
from memoryd.system.database import Database
from memoryd.system.landlock import Fence, Fences, landlock_abi, run_fenced
from tests.support.times import NOW

needs_landlock = pytest.mark.skipif(landlock_abi() < 4, reason="this kernel has no such Landlock")


class Ground:
    """A folder inside the fence, one outside, and a file in each."""

    def __init__(self, base: Path) -> None:
        self.inside, self.outside = base / "inside", base / "outside"
        for folder in (self.inside, self.outside):
            folder.mkdir()
            (folder / "there.md").write_text("as it was")
        self.handle = os.open(self.inside, os.O_RDONLY | os.O_DIRECTORY)
        self.server = socket.create_server(("127.0.0.1", 0))

    @property
    def fence(self) -> Fence:
        return Fence(writable=(self.handle,))

    def state_outside(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.outside.iterdir()}


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    made = Ground(tmp_path)
    yield made
    os.close(made.handle)
    made.server.close()


def run_touch(path: Path) -> None:
    subprocess.run(["/usr/bin/touch", path], check=True, stderr=subprocess.DEVNULL)


def connect(ground: Ground) -> None:
    socket.create_connection(ground.server.getsockname(), timeout=5).close()


FORBIDDEN: dict[str, Callable[[Ground], object]] = {
    "create": lambda g: (g.outside / "new.md").write_text("x"),
    "overwrite": lambda g: (g.outside / "there.md").write_text("x"),
    "append": lambda g: (g.outside / "there.md").open("a").close(),
    "truncate": lambda g: os.truncate(g.outside / "there.md", 0),
    "rename out": lambda g: (g.inside / "there.md").rename(g.outside / "moved.md"),
    "rename in": lambda g: (g.outside / "there.md").rename(g.inside / "moved.md"),
    "rename there": lambda g: (g.outside / "there.md").rename(g.outside / "moved.md"),
    "link out": lambda g: os.link(g.inside / "there.md", g.outside / "linked.md"),
    "link in": lambda g: os.link(g.outside / "there.md", g.inside / "linked.md"),
    "symlink": lambda g: (g.outside / "linked.md").symlink_to("x"),
    "symlink inside": lambda g: (g.inside / "linked.md").symlink_to(g.outside),
    "mkdir": lambda g: (g.outside / "folder").mkdir(),
    "unlink": lambda g: (g.outside / "there.md").unlink(),
    "fifo": lambda g: os.mkfifo(g.inside / "fifo"),
    "subprocess": lambda g: run_touch(g.outside / "touched"),
    "connect": connect,
    "listen": lambda _: socket.create_server(("127.0.0.1", 0)).close(),
}


@needs_landlock
@pytest.mark.parametrize("deed", FORBIDDEN)
def test_the_kernel_refuses_what_leads_out(ground: Ground, deed: str) -> None:
    with pytest.raises((PermissionError, OSError, subprocess.CalledProcessError)) as refusal:
        run_fenced(ground.fence, lambda: FORBIDDEN[deed](ground))
    if isinstance(refusal.value, OSError):
        assert refusal.value.errno in {errno.EACCES, errno.EXDEV, errno.EPERM}
    assert ground.state_outside() == {"there.md": "as it was"}
    # The same deed outside the fence shows that it was the fence that held.
    FORBIDDEN[deed](ground)


@needs_landlock
def test_files_beneath_the_folder_can_be_made_replaced_and_removed(ground: Ground) -> None:
    def work() -> str:
        (ground.inside / "sub").mkdir()
        (ground.inside / "sub/a.tmp").write_text("new")
        (ground.inside / "sub/a.tmp").rename(ground.inside / "sub/a.md")
        (ground.inside / "there.md").unlink()
        return (ground.outside / "there.md").read_text()

    assert run_fenced(ground.fence, work) == "as it was"
    assert (ground.inside / "sub/a.md").read_text() == "new"


@needs_landlock
def test_only_named_folders_can_be_read_where_any_is_named(ground: Ground) -> None:
    def work() -> str:
        with pytest.raises(PermissionError):
            (ground.outside / "there.md").read_text()
        with pytest.raises(PermissionError):
            list(ground.outside.iterdir())
        return (ground.inside / "there.md").read_text()

    assert run_fenced(Fence(readable=(ground.handle,)), work) == "as it was"


@needs_landlock
def test_the_rest_of_the_process_stays_free(ground: Ground) -> None:
    fenced, may_end = threading.Event(), threading.Event()

    def work() -> None:
        fenced.set()
        may_end.wait(60)

    thread = threading.Thread(target=run_fenced, args=(ground.fence, work))
    thread.start()
    try:
        assert fenced.wait(60)
        (ground.outside / "new.md").write_text("free")
        run_touch(ground.outside / "touched")
    finally:
        may_end.set()
        thread.join(10)
    (ground.outside / "later.md").write_text("free")
    assert {"new.md", "touched", "later.md"} <= ground.state_outside().keys()


def test_what_the_work_returns_or_raises_comes_back(ground: Ground) -> None:
    assert run_fenced(ground.fence, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        run_fenced(ground.fence, lambda: 1 // 0)


def test_the_store_saves_with_history_and_index_behind_the_fence(tmp_path: Path) -> None:
    state = Database.open(str(tmp_path / "state/state.db"))
    store = Store(VersionTable(state), now=lambda: NOW)
    (tmp_path / "memory").mkdir()
    memory = MemoryDirectory(str(tmp_path / "memory"), "project")
    topic = Topic(name="Use tabs", description="how", type="feedback", body="Use tabs.\n" * 5000)
    handles = [os.open(tmp_path / name, os.O_RDONLY) for name in ("memory", "state")]
    try:
        for number in range(20):
            saved = run_fenced(
                Fence(writable=tuple(handles)),
                lambda: store.save(memory, topic, cause="extraction"),
            )
            assert saved.number == number + 1
    finally:
        for handle in handles:
            os.close(handle)
        state.close()
    assert len((tmp_path / "memory/MEMORY.md").read_text().splitlines()) == 20


def test_without_landlock_the_work_goes_on_and_doctor_is_told(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(landlock, "landlock_abi", lambda: 0)
    run_fenced(ground.fence, lambda: (ground.outside / "new.md").write_text("x"))
    assert landlock.fences.__wrapped__().landlock == 0


@needs_landlock
def test_a_filter_that_forbids_landlock_is_no_error(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(number: int, *_arguments: object) -> int:
        raise OSError(errno.ENOSYS if number == landlock._SYS_CREATE_RULESET else errno.EPERM, "no")

    monkeypatch.setattr(landlock, "_call", refused)
    assert run_fenced(ground.fence, lambda: "done") == "done"
    assert landlock.fences.__wrapped__().landlock == 0


@needs_landlock
def test_doctor_is_told_which_fences_are_up() -> None:
    assert landlock.fences() == Fences(openat2=True, landlock=landlock_abi())
