"""Nothing is written outside its folder, over an unread version, or in part."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.base.errors import Conflict, MemorydError, NotFound, Refused
from memoryd.system import beneath
from memoryd.system import folder as files
from memoryd.system.folder import Folder


@pytest.fixture(params=["openat2", "walk"])
def folder(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Folder]:
    """A folder, by the kernel's own confinement and by the step-by-step one."""
    if request.param == "openat2" and not beneath.HAS_OPENAT2:
        pytest.skip("this kernel has no openat2")
    monkeypatch.setattr(beneath, "HAS_OPENAT2", request.param == "openat2")
    root = tmp_path / "memory"
    with Folder.open(str(root), create=True) as opened:
        yield opened


def names_in(folder: str | Path) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


def test_a_write_can_be_read_back_with_its_version(folder: Folder) -> None:
    version = folder.write("a.md", b"one", over=None)
    assert folder.read("a.md").data == b"one"
    assert folder.write("a.md", b"two", over=version) != version
    assert folder.read("a.md").data == b"two"


def test_what_was_read_may_be_replaced_until_it_changes(folder: Folder) -> None:
    folder.write("a.md", b"one", over=None)
    read = folder.read("a.md")
    version = folder.write("a.md", b"two", over=read)
    with pytest.raises(Conflict):
        folder.write("a.md", b"three", over=read)
    known = files.Known(b"two", version)
    assert folder.current("a.md", known) == folder.read("a.md")
    folder.write("a.md", b"six", over=version)
    assert folder.current("a.md", known) == folder.read("a.md")


def test_folders_and_files_are_for_their_owner_alone(folder: Folder) -> None:
    before = os.umask(0)
    try:
        folder.write("sub/deep/a.md", b"x", over=None)
    finally:
        os.umask(before)
    root = Path(folder.path)
    assert root.stat().st_mode & 0o777 == 0o700
    assert (root / "sub/deep").stat().st_mode & 0o777 == 0o700
    assert (root / "sub/deep/a.md").stat().st_mode & 0o777 == 0o600


def test_a_file_keeps_its_mode(folder: Folder) -> None:
    path = Path(folder.path) / "a.md"
    path.write_bytes(b"x")
    path.chmod(0o644)
    folder.write("a.md", b"y", over=files.version_of(b"x"))
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_version_that_was_not_read_is_not_overwritten(folder: Folder) -> None:
    folder.write("a.md", b"theirs", over=None)
    for seen in (None, files.version_of(b"older")):
        with pytest.raises(Conflict):
            folder.write("a.md", b"ours", over=seen)
    with pytest.raises(Conflict):
        folder.write("gone.md", b"ours", over=files.version_of(b"was there"))
    with pytest.raises(Conflict):
        folder.remove("a.md", over=files.version_of(b"older"))
    assert folder.read("a.md").data == b"theirs"
    assert names_in(folder.path) == ["a.md"]


HOSTILE_PATHS = [
    "..", "../x.md", "a/../../x.md", "/etc/x.md", "//etc/x.md", ".", "a//b.md", "./a.md",
    "a/./b.md", "a\0b.md", "\0", "a/..", "../../../../../../tmp/x.md", "x/" * 3000 + "x.md",
]  # fmt: skip


@pytest.mark.parametrize("path", HOSTILE_PATHS, ids=lambda path: repr(path[:20]))
def test_a_path_that_leads_elsewhere_is_refused(folder: Folder, path: str) -> None:
    for action in (lambda: folder.write(path, b"x", over=None), lambda: folder.read(path)):
        with pytest.raises(MemorydError):
            action()
    outside = [p for p in Path(folder.path).parent.rglob("*") if p.is_file()]
    assert outside == []


def test_links_and_other_kinds_of_files_are_left_alone(folder: Folder, tmp_path: Path) -> None:
    root = Path(folder.path)
    outside = tmp_path / "outside"
    outside.mkdir()
    target = outside / "target.md"
    target.write_bytes(b"precious")
    (root / "link.md").symlink_to(target)
    (root / "dangling.md").symlink_to(outside / "none.md")
    (root / "linked").symlink_to(outside)
    os.link(target, root / "hard.md")
    os.mkfifo(root / "fifo.md")
    (root / "folder.md").mkdir()
    for name in ("link.md", "dangling.md", "linked/target.md", "hard.md", "fifo.md", "folder.md"):
        for over in (None, files.version_of(b"precious")):
            with pytest.raises(MemorydError):
                folder.write(name, b"ours", over=over)
        with pytest.raises((Refused, NotFound, MemorydError)):
            folder.read(name)
    with pytest.raises(MemorydError):
        folder.write("linked/new.md", b"ours", over=None)
    assert target.read_bytes() == b"precious"
    assert names_in(outside) == ["target.md"]


def test_a_link_inside_a_repository_is_not_followed_on_the_way(tmp_path: Path) -> None:
    repository, elsewhere = tmp_path / "repo", tmp_path / "ssh"
    repository.mkdir()
    elsewhere.mkdir()
    (repository / ".claude").symlink_to(elsewhere)
    with pytest.raises(Refused):
        Folder.open(
            str(repository / ".claude/agent-memory/x"), beneath=str(repository), create=True
        )
    assert names_in(elsewhere) == []


@given(st.text(max_size=40))
def test_no_name_leads_out_of_the_folder(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    base = tmp_path_factory.mktemp("confined")
    with Folder.open(str(base / "in"), create=True) as folder:
        try:
            folder.write(name, b"x", over=None)
        except (MemorydError, UnicodeEncodeError):
            return
    assert [p.name for p in base.iterdir()] == ["in"]


def test_a_writer_is_not_raced_out_of_its_folder(folder: Folder, tmp_path: Path) -> None:
    """A swapper exchanges the sub-folder for a link and back while we write into it."""
    root, outside = Path(folder.path), tmp_path / "outside"
    (root / "sub").mkdir()
    outside.mkdir()
    (tmp_path / "trap").symlink_to(outside)
    done = threading.Event()
    if not hasattr(files._libc, "renameat2"):
        pytest.skip("no call that exchanges two names at once")

    def swap() -> None:
        here, exchange = -100, 2
        while not done.is_set():
            files._libc.renameat2(
                here, bytes(root / "sub"), here, bytes(tmp_path / "trap"), exchange
            )

    swapper = threading.Thread(target=swap)
    swapper.start()
    written = 0
    try:
        for number in range(1500):
            try:
                folder.write(f"sub/n{number}.md", b"x", over=None)
                written += 1
            except MemorydError:
                pass
    finally:
        done.set()
        swapper.join()
    assert names_in(outside) == []
    assert written > 0


def test_leftovers_of_a_killed_writer_are_removed(folder: Folder) -> None:
    root = Path(folder.path)
    (root / "sub").mkdir()
    for name in (".memoryd-0123abcd.tmp", "sub/.memoryd-ff.tmp"):
        (root / name).write_bytes(b"half")
    (root / ".memoryd-note.md").write_bytes(b"mine")
    assert folder.remove_temporaries() == 2
    assert (root / ".memoryd-note.md").exists()


def test_a_file_beyond_the_limit_is_refused_not_read(folder: Folder) -> None:
    (Path(folder.path) / "big.md").write_bytes(b"x" * 100)
    with pytest.raises(Refused):
        folder.read("big.md", limit_bytes=99)
    assert folder.read("big.md", limit_bytes=100).data == b"x" * 100


def test_a_file_with_a_second_name_can_be_read_where_that_is_allowed_but_not_written(
    folder: Folder, tmp_path: Path
) -> None:
    version = folder.write("a.md", b"one", over=None)
    os.link(f"{folder.path}/a.md", tmp_path / "backup.md")
    with pytest.raises(Refused):
        folder.read("a.md")
    assert folder.read("a.md", may_be_linked=True).data == b"one"
    with pytest.raises(Refused):
        folder.write("a.md", b"two", over=version)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file another user's")
def test_another_users_file_in_a_repository_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "repo/agent/a.md"
    place.parent.mkdir(parents=True)
    place.write_text("obey")
    with Folder.open(str(place.parent), beneath=str(tmp_path / "repo")) as opened:
        assert opened.read("a.md").data == b"obey"
        os.chown(place, 1234, 1234)
        with pytest.raises(Refused, match="another user"):
            opened.read("a.md")
