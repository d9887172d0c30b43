"""The scan of all transcripts: what it remembers of folders never changes what it finds."""

import os
import random
import time
from pathlib import Path

import pytest

from memoryd.system.inotify import Inotify
from memoryd.transcripts import scan as scan_module
from memoryd.transcripts.scan import FolderListing, TranscriptScan, scan
from tests.support.tail_fixtures import WAIT_SECONDS

OPENED = 0x20
STEPS = 300


def what(found: TranscriptScan) -> tuple[object, ...]:
    return found.root_identity, found.files, found.folders, found.unreadable


def settled(root: Path, folder: str) -> dict[str, FolderListing]:
    """Listings that hold this folder: it has not just changed any more."""
    listings: dict[str, FolderListing] = {}
    deadline = time.monotonic() + WAIT_SECONDS
    while folder not in listings:
        assert time.monotonic() < deadline
        scan(str(root), (), listings)
    return listings


def change(rng: random.Random, root: Path) -> None:
    """One thing that somebody may do in the projects folder."""
    folder = root / f"project-{rng.randrange(4)}"
    file = folder / f"session-{rng.randrange(4)}.jsonl"
    elsewhere = root / f"project-{rng.randrange(4)}"
    match rng.randrange(8):
        case 0:
            folder.mkdir(exist_ok=True)
        case 1 if folder.is_dir() and not file.is_symlink() and not file.is_fifo():
            with file.open("ab") as lines:
                lines.write(b"{}\n")
        case 2 if file.is_file():
            file.unlink()
        case 3 if file.is_file() and elsewhere.is_dir():
            file.replace(elsewhere / f"moved-{rng.randrange(3)}.jsonl")
        case 4 if folder.is_dir() and not os.path.lexists(file):
            os.mkfifo(file)
        case 5 if folder.is_dir() and not os.path.lexists(file):
            file.symlink_to("elsewhere")
        case 6 if file.is_symlink() or file.is_fifo():
            file.unlink()
        case 7 if folder.is_dir() and not elsewhere.exists():
            folder.rename(elsewhere)
        case _:
            pass


@pytest.mark.parametrize("seed", range(10))
def test_a_scan_that_remembers_finds_what_one_without_memory_finds(
    tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    listings: dict[str, FolderListing] = {}
    remembered = 0
    for _ in range(STEPS):
        change(rng, tmp_path)
        found = scan(str(tmp_path), (), listings)
        assert what(found) == what(scan(str(tmp_path)))
        remembered += len(listings)
        assert listings.keys() <= found.folders.keys()
    assert remembered


def test_a_folder_that_has_not_changed_is_not_opened_again(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "session.jsonl").write_bytes(b"{}\n")
    listings = settled(tmp_path, "project")
    notes = Inotify.open()
    if notes is None:
        pytest.skip("this system has no inotify, or refuses another one")
    assert notes.watch(str(folder), OPENED) is not None
    with (folder / "session.jsonl").open("ab") as lines:
        lines.write(b"{}\n")
    notes.read()
    assert scan(str(tmp_path), (), listings).files["project/session.jsonl"].size == 6
    assert notes.read() == []
    (folder / "new.jsonl").write_bytes(b"{}\n")
    notes.read()
    assert "project/new.jsonl" in scan(str(tmp_path), (), listings).files
    assert notes.read()
    notes.close()


def test_a_folder_that_has_only_just_changed_is_not_remembered(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    listings = settled(tmp_path, "project")
    before = (tmp_path / "project").stat().st_ctime_ns
    for number in range(100):
        (tmp_path / f"project/{number}.jsonl").touch()
        assert f"project/{number}.jsonl" in scan(str(tmp_path), (), listings).files
    assert (tmp_path / "project").stat().st_ctime_ns > before


def test_after_some_minutes_every_folder_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "project").mkdir()
    listings = settled(tmp_path, "project")
    monkeypatch.setattr(scan_module, "LISTED_AGAIN_SECONDS", -1.0)
    earlier = listings["project"]
    scan(str(tmp_path), (), listings)
    assert listings["project"].listed_at > earlier.listed_at


def test_a_folder_that_is_gone_is_forgotten(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    listings = settled(tmp_path, "project")
    folder.rmdir()
    assert "project" not in scan(str(tmp_path), (), listings).folders
    assert "project" not in listings
