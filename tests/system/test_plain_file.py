"""A file that a stranger could place is opened once, or not at all."""

import os
from pathlib import Path

import pytest

from memoryd.system import beneath
from memoryd.system.plain_file import opened_real, read_plain
from tests.support.sandbox import swapping


@pytest.fixture(params=["openat2", "walk"], autouse=True)
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "openat2" and not beneath.HAS_OPENAT2:
        pytest.skip("this kernel has no openat2")
    monkeypatch.setattr(beneath, "HAS_OPENAT2", request.param == "openat2")


def test_a_regular_file_is_read_through_links_and_deep_folders(tmp_path: Path) -> None:
    deep = tmp_path / "/".join("abcdefghijklmnop")
    deep.mkdir(parents=True)
    (deep / "z.txt").write_bytes(b"text")
    (tmp_path / "link").symlink_to(deep)
    assert read_plain(tmp_path / "link/z.txt", 10) == b"text"


def test_what_is_not_a_regular_file_or_too_large_is_an_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "large").write_bytes(b"x" * 11)
    for name in ("fifo", "large", "missing", "."):
        with pytest.raises(OSError):  # noqa: PT011 - each has its own words
            read_plain(tmp_path / name, 10)


def test_a_folder_that_became_a_link_after_the_check_is_an_error(tmp_path: Path) -> None:
    for name in ("inside", "outside"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(name)
    (tmp_path / "link").symlink_to(tmp_path / "outside")
    checked = f"{os.path.realpath(tmp_path)}/inside/a.md"
    read: set[bytes] = set()
    with swapping(tmp_path / "inside", tmp_path / "link"):
        for _ in range(2000):
            try:
                with opened_real(checked) as handle:
                    read.add(os.read(handle, 100))
            except OSError:
                continue
    assert read == {b"inside"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file another user's")
def test_another_users_file_is_an_error(tmp_path: Path) -> None:
    place = tmp_path / "settings.json"
    place.write_text("{}")
    os.chown(place, 1234, 1234)
    with pytest.raises(OSError, match="another user"):
        read_plain(place, 100)
