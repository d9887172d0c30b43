"""What the kernel says of a large directory, beside a look at every file."""

import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memoryd.memories.changed_files import MOST_CHANGED, ChangedFiles
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.scan import LARGE
from memoryd.memories.scanner import Scanner
from memoryd.system.inotify import Inotify

MORE_EVENTS_THAN_A_QUEUE_HOLDS = 1 + int(
    Path("/proc/sys/fs/inotify/max_queued_events").read_text()
    if Path("/proc/sys/fs/inotify").is_dir()
    else 0
)

needs_notes = pytest.mark.skipif(
    Inotify.open() is None, reason="this system has no inotify, or refuses another one"
)


def text_of(name: str) -> str:
    return f"---\nname: {name}\ndescription: What it says\ntype: project\n---\nBody.\n"


def filled(folder: Path) -> MemoryDirectory:
    (folder / "below").mkdir(parents=True)
    for number in range(LARGE):
        (folder / f"m{number:03}.md").write_text(text_of(f"N{number:03}"))
    (folder / "below/deep.md").write_text(text_of("Deep"))
    return MemoryDirectory(str(folder), "project")


def names(scanner: Scanner, directory: MemoryDirectory) -> dict[str, str]:
    return {file: one.topic.name for file, one in scanner.snapshot(directory).files.items()}


def settled(scanner: Scanner, directory: MemoryDirectory) -> None:
    """Scans until the notes are used: the files are old enough, and one scan found them all."""
    time.sleep(0.06)  # younger files are looked at again
    for _ in range(3):
        scanner.snapshot(directory)


def looked_at_stamps(scanner: Scanner, directory: MemoryDirectory) -> None:
    """As `settled`, and then a sweep looks: the first one learns that the directory is large."""
    settled(scanner, directory)
    for _ in range(2):
        scanner.stamps(directory, ())


def let_go_and_looked_at_stamps(scanner: Scanner, directory: MemoryDirectory) -> None:
    looked_at_stamps(scanner, directory)
    scanner.let_go(directory)


def edit_in_place(folder: Path) -> None:
    with (folder / "m007.md").open("r+") as file:
        file.write(text_of("X007"))


def edit_in_place_and_hide_it(folder: Path) -> None:
    before = (folder / "m008.md").stat()
    edit_in_place(folder)
    os.utime(folder / "m007.md", ns=(before.st_atime_ns, before.st_mtime_ns))


def add_a_folder_that_has_files(folder: Path) -> None:
    made = folder.parent / "made"
    made.mkdir()
    (made / "in.md").write_text(text_of("In it"))
    made.rename(folder / "came")


def replace_the_folder(folder: Path) -> None:
    folder.rename(folder.parent / "was")
    folder.mkdir()
    (folder / "only.md").write_text(text_of("Only"))


CHANGES: list[Callable[[Path], object]] = [
    edit_in_place,
    edit_in_place_and_hide_it,
    add_a_folder_that_has_files,
    replace_the_folder,
    lambda folder: (folder / "new.md").write_text(text_of("New")),
    lambda folder: (folder / "m001.md").unlink(),
    lambda folder: (folder / "m001.md").rename(folder / "m002.md"),
    lambda folder: (folder / "m001.md").rename(folder / "below/moved.md"),
    lambda folder: (folder / "below/deep.md").write_text(text_of("Deeper")),
    lambda folder: shutil.rmtree(folder / "below"),
    lambda folder: (folder / "below").rename(folder / "beside"),
    lambda folder: (folder / "m001.md").rename(folder / ".hidden.md"),
    lambda folder: os.link(folder / "m001.md", folder / "again.md"),
    shutil.rmtree,
]


@pytest.mark.parametrize("look", [settled, looked_at_stamps, let_go_and_looked_at_stamps])
@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_in_the_next_snapshot(
    tmp_path: Path,
    change: Callable[[Path], object],
    look: Callable[[Scanner, MemoryDirectory], None],
) -> None:
    folder, scanner = tmp_path / "memory", Scanner()
    directory = filled(folder)
    look(scanner, directory)
    change(folder)
    expected = names(Scanner(), directory)
    assert names(scanner, directory) == expected
    assert names(scanner, directory) == expected


def test_many_changes_one_after_the_other_are_all_seen(tmp_path: Path) -> None:
    folder, scanner, dice = tmp_path / "memory", Scanner(), random.Random(20)
    directory = filled(folder)
    between: list[Callable[[], object]] = [
        lambda: None,
        lambda: scanner.stamps(directory, ()),
        lambda: scanner.let_go(directory),
    ]
    for turn in range(90):
        for _ in range(dice.randrange(4)):
            file = folder / dice.choice(["", "below/"]) / f"m{dice.randrange(LARGE):03}.md"
            if file.exists() and dice.random() < 0.5:
                file.unlink()
            else:
                file.write_text(text_of(f"Turn {turn} {dice.random()}"))
            dice.choice(between)()
        assert names(scanner, directory) == names(Scanner(), directory)


@needs_notes
def test_without_a_change_nothing_is_looked_at(tmp_path: Path) -> None:
    folder, scanner = tmp_path / "memory", Scanner()
    directory = filled(folder)
    settled(scanner, directory)
    before = scanner.snapshot(directory)
    (folder / "MEMORY.md").write_text("# Index\n")
    (folder / ".memoryd-0.tmp").write_text("being written")
    assert scanner.snapshot(directory) is before


@needs_notes
@pytest.mark.parametrize("look", [settled, looked_at_stamps])
def test_without_a_change_no_folder_is_listed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    look: Callable[[Scanner, MemoryDirectory], None],
) -> None:
    folder, scanner = tmp_path / "memory", Scanner()
    directory = filled(folder)
    look(scanner, directory)
    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", lambda _: pytest.fail("a folder was listed"))
        before = scanner.snapshot(directory)
        assert len(before.files) == LARGE + 1
        (folder / "m001.md").write_text(text_of("Another"))
        assert scanner.snapshot(directory).files["m001.md"].topic.name == "Another"
        (folder / "m001.md").unlink()
        assert scanner.snapshot(directory).files.keys() == before.files.keys() - {"m001.md"}


class Noting:
    """A folder whose changes are noted, after a scan that entered it."""

    def __init__(self, folder: Path) -> None:
        self.files = ChangedFiles()
        self.path = str(folder)
        self.handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        self.scan()

    def scan(self) -> None:
        self.files.begin_scan(self.path, self.handle)
        self.files.enter(self.path, self.handle, "")
        self.files.end_scan(self.path)

    def since(self) -> set[str] | None:
        return self.files.since_scan(self.path, self.handle)


@needs_notes
def test_each_change_is_told_once(tmp_path: Path) -> None:
    noting = Noting(tmp_path)
    assert noting.since() == set()
    (tmp_path / "a.md").write_text("x")
    assert noting.since() == {"a.md"}
    assert noting.since() == set()


@needs_notes
def test_a_folder_that_came_during_the_scan_is_not_forgotten(tmp_path: Path) -> None:
    noting = Noting(tmp_path)
    noting.files.begin_scan(noting.path, noting.handle)
    noting.files.enter(noting.path, noting.handle, "")
    (tmp_path / "came").mkdir()
    noting.files.end_scan(noting.path)
    assert noting.since() is None


@needs_notes
@pytest.mark.parametrize("events", [MOST_CHANGED + 1, MORE_EVENTS_THAN_A_QUEUE_HOLDS])
def test_after_too_many_changes_everything_is_looked_at(tmp_path: Path, events: int) -> None:
    noting = Noting(tmp_path)
    if events == MOST_CHANGED + 1:
        for number in range(events):
            (tmp_path / f"{number}.md").touch()
    else:
        with (tmp_path / "a.md").open("ab", 0) as one, (tmp_path / "b.md").open("ab", 0) as other:
            for _ in range(events // 2 + 1):  # equal neighbours count once
                one.write(b"x")
                other.write(b"x")
    assert noting.since() is None
    noting.scan()
    assert noting.since() == set()


@needs_notes
def test_a_folder_of_two_directories_is_trusted_for_one(tmp_path: Path) -> None:
    noting = Noting(tmp_path)
    noting.files.begin_scan("other", noting.handle)
    noting.files.enter("other", noting.handle, "")
    noting.files.end_scan("other")
    assert noting.files.since_scan("other", noting.handle) is None
    (tmp_path / "a.md").touch()
    assert noting.since() == {"a.md"}


def test_where_no_notes_are_taken_everything_is_looked_at(tmp_path: Path) -> None:
    files = ChangedFiles(lambda: None)
    handle = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    files.begin_scan("p", handle)
    files.enter("p", handle, "")
    files.end_scan("p")
    assert files.since_scan("p", handle) is None
    os.close(handle)
