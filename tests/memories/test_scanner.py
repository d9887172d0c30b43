"""What a scan gives to those who hold it for long."""

import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from memoryd.base.file_stamp import FileStamp
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.scanner import Scanner
from memoryd.system.giving_way import give_way, giving_way


class _Meddler:
    """Names that a scan asks for; while the first is looked up, another scan comes and goes."""

    def __init__(self, scanner: Scanner, directory: MemoryDirectory) -> None:
        self._scanner = scanner
        self._directory = directory
        self.found: Mapping[str, FileStamp] = {}

    def __contains__(self, _: object) -> bool:
        self.found = self.found or self._scanner.stamps(self._directory, ())
        return True


class _NeverQuiet(threading.Event):
    def wait(self, timeout: float | None = None) -> bool:
        raise AssertionError(f"waited {timeout}")


def test_scans_at_the_same_time_give_the_same_stamps(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.md").write_text("---\nname: N\n---\nBody.\n")
    scanner, directory = Scanner(), MemoryDirectory(str(tmp_path), "project")
    meddler = _Meddler(scanner, directory)
    found = scanner.stamps(directory, meddler)
    assert found.keys() == meddler.found.keys() == {"one.md", "two.md"}
    assert all(found[file] is stamp for file, stamp in meddler.found.items())
    assert scanner.stamps(directory, ())["one.md"] is found["one.md"]


def test_a_look_that_finds_nothing_new_gives_the_same_names_and_stamps(tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("One.\n")
    scanner, directory = Scanner(), MemoryDirectory(str(tmp_path), "project")
    before = scanner.stamps(directory, ())
    assert scanner.stamps(directory, ()) is before
    (tmp_path / "two.md").write_text("Two.\n")
    assert scanner.stamps(directory, ()).keys() == {"one.md", "two.md"}
    assert before.keys() == {"one.md"}


def test_a_scan_does_not_give_way_to_those_who_may_wait_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoryd.system.giving_way.WORK_SECONDS", 0.0)
    for number in range(20):
        (tmp_path / f"{number}.md").write_text("---\nname: N\n---\nBody.\n")
    with giving_way(_NeverQuiet()):
        assert len(Scanner().snapshot(MemoryDirectory(str(tmp_path), "project")).files) == 20
        with pytest.raises(AssertionError, match="waited"):
            give_way()
