"""The tools of the tests find what they are made to find."""

import functools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from itertools import islice
from pathlib import Path

import anyio.to_thread
import pytest

from memoryd.system.database import Database
from memoryd.system.folder import Folder
from tests.support.blocking import BlockingCall, BlockingDetector
from tests.support.purity import is_about_rules
from tests.support.thinning import Thinning, diagonal, hardest, stride, strides, thinned

TESTS = Path(__file__).parent


# --- blocking calls -----------------------------------------------------------------------------


def imports_a_module(folder: Path) -> None:
    (folder / "planted_module.py").write_text("VALUE = 1\n")
    sys.path.insert(0, str(folder))
    __import__("planted_module")
    sys.path.remove(str(folder))
    del sys.modules["planted_module"]


def waits_for_another_thread(_: Path) -> None:
    threading.Event().wait(0.001)


def reads_a_confined_file(folder: Path) -> None:
    with Folder.open(str(folder)) as opened:
        opened.read("file")


def runs_a_program(_: Path) -> None:
    subprocess.run([sys.executable, "-c", ""], check=True)


def asks_the_database(_: Path) -> None:
    with closing(Database.open(":memory:")) as database:
        database.run("select 1")


def writes_to_the_database(_: Path) -> None:
    with closing(Database.open(":memory:")) as database, database.transaction():
        pass


PLANTED: dict[str, Callable[[Path], object]] = {
    "os.stat": os.path.exists,
    "os.lstat": os.path.lexists,
    "os.scandir": lambda folder: os.scandir(folder).close(),
    "open": lambda folder: (folder / "file").read_text(),
    "time.sleep": lambda _: time.sleep(0),
    "subprocess.Popen": runs_a_program,
    "Condition.wait": waits_for_another_thread,
    "Database.run": asks_the_database,
    "Database.transaction": writes_to_the_database,
    "import": imports_a_module,
    "libc.syscall": reads_a_confined_file,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "file").write_text("text")
    return tmp_path


@pytest.mark.parametrize("call", PLANTED)
async def test_a_planted_blocking_call_is_found_with_its_place(call: str, folder: Path) -> None:
    found: list[BlockingCall] = []
    with BlockingDetector(found.append):
        PLANTED[call](folder)
    assert call in {one.call for one in found}
    frames = [frame for one in found if one.call == call for frame in one.frames]
    assert "tests/test_support.py test_a_planted_blocking_call_is_found_with_its_place" in frames


@pytest.mark.parametrize("call", PLANTED)
async def test_in_a_worker_thread_everything_may_block(call: str, folder: Path) -> None:
    found: list[BlockingCall] = []
    with BlockingDetector(found.append):
        await anyio.to_thread.run_sync(functools.partial(PLANTED[call], folder))
    assert found == []


def test_without_an_event_loop_everything_may_block(folder: Path) -> None:
    found: list[BlockingCall] = []
    with BlockingDetector(found.append):
        for planted in PLANTED.values():
            planted(folder)
    assert found == []


async def test_afterwards_nothing_is_watched(folder: Path) -> None:
    found: list[BlockingCall] = []
    before = os.stat
    with BlockingDetector(found.append):
        assert os.stat is not before
    PLANTED["os.stat"](folder)
    assert (os.stat, found) == (before, [])


async def test_only_the_outermost_call_is_reported(database: Database) -> None:
    found: list[BlockingCall] = []
    with BlockingDetector(found.append):
        database.run_many("delete from blobs where sha256 = ?", [])
    assert [one.place for one in found] == [
        "Database.run_many in tests/test_support.py test_only_the_outermost_call_is_reported"
    ]


# --- thinning and marks ---------------------------------------------------------------------------


def test_a_thinned_loop_has_its_first_and_last_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Thinning, "is_whole", False)
    assert list(thinned(range(20))) == [0, 9, 18, 19]
    assert list(thinned(range(1))) == [0]
    assert list(thinned([])) == []
    assert stride() == 9
    assert list(islice(strides(2), 3)) == [2, 11, 20]
    assert list(hardest("abc")) == ["c"]
    assert diagonal("ab", [1, 2, 3]) == [("a", 1), ("b", 2), ("a", 3)]


def test_a_soak_takes_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Thinning, "is_whole", True)
    assert list(thinned(range(20))) == list(range(20))
    assert stride() == 1
    assert list(hardest("abc")) == ["a", "b", "c"]
    assert len(diagonal("ab", [1, 2, 3])) == 6


@pytest.mark.parametrize(
    ("file", "is_pure"),
    [
        ("text/test_masking.py", True),
        ("base/test_config.py", True),
        ("dreams/test_gates.py", True),
        ("memories/test_store.py", False),
        ("client/test_cli.py", False),
        ("agent/test_view.py", False),
    ],
)
def test_tests_of_rules_are_known_by_their_imports(file: str, is_pure: bool) -> None:
    assert is_about_rules(TESTS / file) is is_pure
