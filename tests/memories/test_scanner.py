"""What a scan gives to those who hold it for long."""

from collections.abc import Mapping
from pathlib import Path

from memoryd.base.file_stamp import FileStamp
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.scanner import Scanner


class _Meddler:
    """Names that a scan asks for; while the first is looked up, another scan comes and goes."""

    def __init__(self, scanner: Scanner, directory: MemoryDirectory) -> None:
        self._scanner = scanner
        self._directory = directory
        self.found: Mapping[str, FileStamp] = {}

    def __contains__(self, _: object) -> bool:
        self.found = self.found or self._scanner.stamps(self._directory, ())
        return True


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
