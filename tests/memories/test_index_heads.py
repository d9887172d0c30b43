"""The head of an index, remembered while the file is the same."""

import os
import time
from pathlib import Path

import pytest

from memoryd.base.errors import NotFound, Refused
from memoryd.memories.index_heads import LONGEST_CHARACTERS, IndexHead, IndexHeads
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules import index
from memoryd.memories.scan import open_folder
from memoryd.system.folder import Content, version_of

LINE = "- [Näme](file.md) — a hook\n"


class Index:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "MEMORY.md"
        self.heads = IndexHeads(self.read)
        self.directory = MemoryDirectory(str(folder), "project")
        self.reads = 0

    def read(self, directory: MemoryDirectory, file: str) -> Content:
        self.reads += 1
        with open_folder(directory) as folder:
            return folder.read(file)

    def head(self) -> IndexHead:
        return self.heads.of(self.directory)

    def settle(self) -> None:
        time.sleep(0.06)  # a younger file is not trusted by its stamp


@pytest.fixture
def world(tmp_path: Path) -> Index:
    return Index(tmp_path)


def test_a_short_index_is_its_own_head(world: Index) -> None:
    world.path.write_text(LINE)
    head = world.head()
    assert (head.text, head.whole, head.path) == (LINE, None, str(world.path))
    assert head.version == version_of(LINE.encode())


def test_of_a_long_index_there_are_the_first_lines_and_the_size(world: Index) -> None:
    world.path.write_bytes(LINE.encode() * 1000 + b"\xff no newline")
    head = world.head()
    assert head.text == LINE * index.LINE_LIMIT
    assert head.whole == index.IndexSize(1001, world.path.stat().st_size)


def test_what_has_not_changed_is_not_read_again(world: Index) -> None:
    world.path.write_text(LINE)
    world.settle()
    first = world.head()
    assert world.head() is first
    assert world.reads == 1


def test_what_has_only_just_changed_is_read_each_time(world: Index) -> None:
    world.path.write_text(LINE)
    before = world.path.stat().st_ctime
    first = world.head()
    if time.time() - before < 0.05:  # else this machine took too long to tell
        world.head()
        assert world.reads == 2
    assert world.head() == first


def test_a_change_that_hides_itself_is_seen(world: Index) -> None:
    world.path.write_text(LINE)
    world.settle()
    world.head()
    facts = world.path.stat()
    with world.path.open("r+") as file:
        file.write(LINE.replace("hook", "HOOK"))
    os.utime(world.path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert "HOOK" in world.head().text


def test_an_index_that_is_gone_or_a_link_is_not_remembered(world: Index) -> None:
    world.path.write_text(LINE)
    world.settle()
    world.head()
    world.path.rename(world.path.with_name("other"))
    with pytest.raises(NotFound):
        world.head()
    world.path.symlink_to("other")
    with pytest.raises(Refused):
        world.head()


def test_a_head_without_end_is_not_held(world: Index) -> None:
    world.path.write_text("x" * (LONGEST_CHARACTERS + 1))
    world.settle()
    assert world.head() == world.head()
    assert world.reads == 2
