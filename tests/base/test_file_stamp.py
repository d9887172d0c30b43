"""A stamp changes with the file, once the file is old enough to tell."""

import os
from pathlib import Path

from memoryd.base.file_stamp import SETTLED_SECONDS, FileStamp


def test_a_stamp_is_the_same_for_the_same_file_and_differs_after_a_change(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one")
    before = FileStamp.of(path.stat())
    assert FileStamp.of(path.stat()) == before
    path.write_text("three")
    assert FileStamp.of(path.stat()) != before
    assert FileStamp.of(path.stat()).identity == before.identity


def test_another_file_with_the_same_size_and_time_has_another_stamp(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("x")
        os.utime(tmp_path / name, (1, 1))
    one, other = (FileStamp.of((tmp_path / name).stat()) for name in ("a", "b"))
    assert one.mtime_ns == other.mtime_ns
    assert one.identity != other.identity


def test_a_file_that_has_just_changed_is_not_settled() -> None:
    stamp = FileStamp(ctime_ns=10_000_000_000)
    assert not stamp.is_settled(10.0)
    assert not stamp.is_settled(10.0 + SETTLED_SECONDS / 2)
    assert stamp.is_settled(10.0 + 2 * SETTLED_SECONDS)


def test_a_stamp_fits_into_the_database() -> None:
    class Stat:
        st_dev = st_ino = 2**64 - 1
        st_size = st_mtime_ns = st_ctime_ns = 1

    assert FileStamp.of(Stat()) == FileStamp(2**63 - 1, 2**63 - 1, 1, 1, 1)
