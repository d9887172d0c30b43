"""Kept headers are as those that are read, and are thrown away when in doubt."""

import errno
import os
import resource
import signal
import time
from pathlib import Path

import pytest

import memoryd.memories.folder_scan as scan_module
from memoryd.base.file_stamp import FileStamp
from memoryd.memories.kept_files import LEAST_MEMORIES, KeptFiles, identity_of_code
from memoryd.memories.kept_headers import KeptHeaders
from memoryd.memories.records import Listed, MemoryDirectory
from memoryd.memories.scan import head_of
from memoryd.memories.scanner import Scanner
from tests.support.fault_injection import count_calls, failing_at, killed_at
from tests.support.thinning import thinned
from tests.support.times import NOW

SECRET = "AKIA" + "Q7ZJ4N2M8X5T3W6R"


class Shop:
    """A directory whose headers are kept; `listed` is a scan after a restart."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.directory = MemoryDirectory(str(folder / "memory"), "project")
        self.files = KeptFiles(str(folder))
        self.headers = KeptHeaders(self.files)
        self.headers._made_by()  # it looks at the code once
        self.folder = folder
        self.read: list[str] = []

        def noted(handle: int, name: str) -> str | None:
            self.read.append(name)
            return head_of(handle, name)

        monkeypatch.setattr(scan_module, "head_of", noted)

    def write(self, number: int, description: str = "what it is") -> Path:
        path = Path(self.directory.path) / f"m{number}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            f"---\nname: n{number}\ndescription: {description}\ntype: user\n"
            f"supersedes: m{number + 5000}.md\n---\nbody {number}\n"
        )
        os.utime(path, (NOW - number, NOW - number))
        return path

    def settle(self) -> None:
        """Returns when the files are old enough for their stamps to be trusted."""
        deadline = time.monotonic() + 60
        for path in Path(self.directory.path).iterdir():
            while not FileStamp.of(path.stat()).is_settled(time.time()):
                assert time.monotonic() < deadline

    def listed(self, directory: MemoryDirectory | None = None) -> dict[str, Listed]:
        self.read.clear()
        return Scanner(KeptHeaders(self.files)).snapshot(directory or self.directory).files

    def keep(self, found: dict[str, Listed]) -> None:
        """Writes the file, and nothing else."""
        with self.headers.begun() as temporary:
            self.headers.put(temporary, self.directory, found.values())

    @property
    def kept(self) -> list[Path]:
        return sorted((self.folder / "shelves").glob("*"))


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    made = Shop(tmp_path, monkeypatch)
    for number in range(LEAST_MEMORIES + 1):
        made.write(number)
    made.settle()
    made.listed()
    return made


def test_kept_headers_are_as_those_that_are_read(shop: Shop) -> None:
    (file,) = shop.kept
    assert file.stat().st_mode & 0o777 == 0o600
    kept = shop.listed()
    assert shop.read == []
    file.unlink()
    assert shop.listed() == kept
    assert len(shop.read) == len(kept) == LEAST_MEMORIES + 1


def test_only_what_changed_is_read(shop: Shop) -> None:
    shop.write(5, "changed")
    shop.write(900)
    (Path(shop.directory.path) / "m7.md").unlink()
    found = shop.listed()
    assert sorted(shop.read) == ["m5.md", "m900.md"]
    assert found["m5.md"].topic.description == "changed"
    assert "m7.md" not in found
    assert len(found) == LEAST_MEMORIES + 1


def test_a_change_that_restores_size_and_time_is_read(shop: Shop) -> None:
    shop.write(5, "what he is")
    assert shop.listed()["m5.md"].topic.description == "what he is"


def test_a_name_that_may_not_be_shown_is_not_kept(shop: Shop) -> None:
    shop.write(5).rename(Path(shop.directory.path) / f"{SECRET}.md")
    shop.files.discard(shop.directory.path, "headers")
    assert f"{SECRET}.md" not in shop.listed()
    assert SECRET.encode() not in shop.kept[0].read_bytes()


def test_a_secret_is_masked_in_the_file(shop: Shop) -> None:
    for number in range(1_000, 1_020):
        shop.write(number, f"the key is {SECRET}")
    shop.settle()
    shop.listed()
    (file,) = shop.kept
    assert b"m1019.md" in file.read_bytes()
    assert SECRET.encode() not in file.read_bytes()
    assert b"body 3" not in file.read_bytes()


@pytest.mark.parametrize("at", thinned([0, 5, 20, 60, 300, 5_000, -1], every=3))
def test_a_damaged_file_is_thrown_away(shop: Shop, at: int) -> None:
    (file,) = shop.kept
    whole = file.read_bytes()
    data = bytearray(whole)
    data[at] ^= 1
    file.write_bytes(data)
    shop.listed()
    assert len(shop.read) == LEAST_MEMORIES + 1
    assert len(shop.kept[0].read_bytes()) == len(whole)


@pytest.mark.parametrize("cut", thinned([0, 10, 48, 49, 60, 4_000], every=3))
def test_a_file_that_was_cut_off_is_thrown_away(shop: Shop, cut: int) -> None:
    (file,) = shop.kept
    file.write_bytes(file.read_bytes()[:cut])
    shop.listed()
    assert len(shop.read) == LEAST_MEMORIES + 1


@pytest.mark.parametrize("body", [b"", b"\x80", b"\x94\xa1a\xa1b\xa1c\x90", b"\xff" * 90])
def test_whole_files_with_something_else_in_them_are_thrown_away(shop: Shop, body: bytes) -> None:
    temporary = shop.files.begin()
    assert temporary is not None
    assert shop.files.fill(temporary, body)
    assert shop.files.put_in_place(temporary, shop.directory.path, "headers")
    shop.listed()
    assert len(shop.read) == LEAST_MEMORIES + 1


def test_what_another_version_made_is_thrown_away(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(KeptHeaders, "_made_by", lambda _: "another")
    shop.listed()
    assert len(shop.read) == LEAST_MEMORIES + 1


def test_code_that_is_being_replaced_is_nobodys() -> None:
    whole = identity_of_code("text", "memories/rules")
    assert whole == identity_of_code("text", "memories/rules")
    assert identity_of_code("text", "gone") != identity_of_code("text", "gone")


def test_the_file_of_another_directory_is_not_taken(shop: Shop) -> None:
    (file,) = shop.kept
    other = MemoryDirectory(f"{shop.directory.path}2", "project")
    os.rename(shop.directory.path, other.path)  # noqa: PTH104 - at once
    file.rename(shop.files._path(other.path, "headers"))
    shop.listed(other)
    assert len(shop.read) == LEAST_MEMORIES + 1


def test_what_was_dropped_while_it_was_scanned_does_not_come_back(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.files.drop(shop.directory.path)
    begun = KeptHeaders.begun

    def dropped(self: KeptHeaders) -> object:
        (Path(shop.directory.path) / "m7.md").unlink()
        shop.files.drop(shop.directory.path)
        return begun(self)

    monkeypatch.setattr(KeptHeaders, "begun", dropped)
    shop.listed()
    assert b"m7.md" not in shop.kept[0].read_bytes()


def test_a_state_folder_that_cannot_be_written_costs_only_time(shop: Shop) -> None:
    shop.files.drop(shop.directory.path)
    (shop.folder / "shelves").rmdir()
    (shop.folder / "shelves").write_text("not a folder")
    assert len(shop.listed()) == LEAST_MEMORIES + 1


def test_a_second_writer_leaves_a_whole_file(shop: Shop) -> None:
    shop.files.drop(shop.directory.path)
    one, other = Scanner(KeptHeaders(shop.files)), Scanner(KeptHeaders(shop.files))
    one.snapshot(shop.directory)
    other.snapshot(shop.directory)
    assert len(shop.kept) == 1
    shop.listed()
    assert shop.read == []


def test_a_kill_while_it_is_written_leaves_the_old_file_or_the_new_one(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file,) = shop.kept
    old = file.read_bytes()
    shop.write(5, "changed")
    shop.settle()
    found = shop.listed()
    calls = count_calls(monkeypatch, lambda: shop.keep(found))
    new = file.read_bytes()
    assert new != old
    steps = [(number, after) for number in range(1, calls + 1) for after in (False, True)]
    for number, after in thinned(steps, every=3):
        file.write_bytes(old)
        killed_at(monkeypatch, number, lambda: shop.keep(found), after=after)
        assert file.read_bytes() in (old, new)
        assert shop.listed() == found


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_fails_at_any_step_costs_only_time(
    shop: Shop, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = shop.listed()
    calls = count_calls(monkeypatch, lambda: shop.keep(found))
    for number in thinned([*range(1, calls + 1)], every=3):
        assert failing_at(monkeypatch, number, code, lambda: shop.keep(found)) is None
        assert shop.listed() == found


@pytest.mark.parametrize("room_bytes", [0, 20, 48, 4_000])
def test_a_file_that_finds_no_room_is_given_up_and_the_old_one_stays(
    shop: Shop, room_bytes: int
) -> None:
    (file,) = shop.kept
    old, found = file.read_bytes(), shop.listed()
    assert len(old) > room_bytes
    limits, how = (
        resource.getrlimit(resource.RLIMIT_FSIZE),
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
    )
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room_bytes, limits[1]))
        shop.keep(found)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, how)
    assert shop.kept == [file]
    assert file.read_bytes() == old
    assert shop.listed() == found
    assert shop.read == []


def test_the_headers_of_few_memories_are_not_kept(tmp_path: Path) -> None:
    made = tmp_path / "memory"
    made.mkdir()
    (made / "one.md").write_text("one\n")
    Scanner(KeptHeaders(KeptFiles(str(tmp_path)))).snapshot(MemoryDirectory(str(made), "user"))
    assert not (tmp_path / "shelves").exists()
