"""Hints from the operating system, and doubts where they fail."""

import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

import anyio
import pytest
from structlog.testing import capture_logs
from watchfiles._rust_notify import RustNotify

from memoryd.base.file_stamp import FileStamp, Identity
from memoryd.system import watcher
from memoryd.system.bell import Bell
from memoryd.system.watcher import Watcher
from memoryd.transcripts.scan import scan
from tests.support.tail_fixtures import WAIT_SECONDS

HangBell: TypeAlias = Callable[[list[str]], Bell | None]


class Watching:
    def __init__(self, hang_bell: HangBell = Bell.hang) -> None:
        self.hints: set[str] = set()
        self.doubts = 0
        self._heard = anyio.Event()
        self.watcher = Watcher(self._hint, self._doubt, hang_bell)

    def _hint(self, paths: set[str]) -> None:
        self.hints |= paths
        self._heard.set()

    def _doubt(self) -> None:
        self.doubts += 1
        self._heard.set()

    async def until(self, *, hint: str = "", doubts: int = 0) -> None:
        with anyio.fail_after(WAIT_SECONDS):
            while (hint and hint not in self.hints) or self.doubts < doubts:
                self._heard = anyio.Event()
                await self._heard.wait()


def folders(*paths: Path) -> dict[str, Identity]:
    return {str(path): FileStamp.of(path.stat()).identity for path in paths}


@asynccontextmanager
async def watching(*paths: Path, hang_bell: HangBell = Bell.hang) -> AsyncIterator[Watching]:
    """Returns when the watch has started."""
    made = Watching(hang_bell)
    made.watcher.set_folders(folders(*paths))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(made.watcher.run)
        await made.until(doubts=1)
        yield made
        tasks.cancel_scope.cancel()


async def test_a_change_in_a_watched_folder_is_a_hint(tmp_path: Path) -> None:
    async with watching(tmp_path) as heard:
        (tmp_path / "a.jsonl").write_text("x")
        await heard.until(hint=str(tmp_path / "a.jsonl"))
        assert heard.watcher.problem == ""


async def test_without_a_bell_changes_are_hints_too(tmp_path: Path) -> None:
    async with watching(tmp_path, hang_bell=lambda _folders: None) as heard:
        (tmp_path / "a.jsonl").write_text("x")
        await heard.until(hint=str(tmp_path / "a.jsonl"))
        heard.watcher.set_folders({})  # and it stops when told


async def test_it_ends_at_once(tmp_path: Path) -> None:
    with anyio.fail_after(20):
        async with watching(tmp_path):
            pass


async def test_the_set_of_folders_can_be_changed(tmp_path: Path) -> None:
    first, second = tmp_path / "one", tmp_path / "two"
    first.mkdir()
    second.mkdir()
    async with watching(first) as heard:
        heard.watcher.set_folders(folders(first, second))
        await heard.until(doubts=2)
        (second / "a").write_text("x")
        await heard.until(hint=str(second / "a"))


async def test_a_recreated_folder_is_watched_again(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    folder.mkdir()
    async with watching(folder) as heard:
        folder.rename(tmp_path / "away")
        folder.mkdir()
        heard.watcher.set_folders(folders(folder))
        await heard.until(doubts=2)
        (folder / "a").write_text("x")
        await heard.until(hint=str(folder / "a"))


async def test_a_folder_recreated_with_the_identity_it_had_is_watched_again(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    folder.mkdir()
    async with watching(folder) as heard:
        folder.rmdir()
        folder.mkdir()  # nobody says that it is another one
        await heard.until(doubts=2)
        (folder / "a").write_text("x")
        await heard.until(hint=str(folder / "a"))


async def test_an_empty_set_of_folders_is_not_a_problem(tmp_path: Path) -> None:
    made = Watching()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(made.watcher.run)
        await anyio.lowlevel.checkpoint()
        made.watcher.set_folders(folders(tmp_path))
        await made.until(doubts=1)
        made.watcher.set_folders({})
        made.watcher.set_folders(folders(tmp_path))
        await made.until(doubts=2)
        assert made.watcher.problem == ""
        tasks.cancel_scope.cancel()


async def test_a_folder_that_is_gone_is_a_doubt_but_not_a_problem(tmp_path: Path) -> None:
    made = Watching()
    made.watcher.set_folders({str(tmp_path / "gone"): (1, 1)})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(made.watcher.run)
        await made.until(doubts=2)
        assert made.watcher.problem == ""
        tasks.cancel_scope.cancel()


async def test_a_name_that_is_not_utf_8_costs_a_restart_and_one_warning(tmp_path: Path) -> None:
    with capture_logs() as logs:
        async with watching(tmp_path) as heard:
            for times in range(2):
                (tmp_path / os.fsdecode(b"\xff.jsonl")).write_text("x" * times)
                await heard.until(doubts=3 + 2 * times)  # of the failure, and of the new watch
                (tmp_path / f"{times}.jsonl").write_text("x")
                await heard.until(hint=str(tmp_path / f"{times}.jsonl"))
            assert heard.watcher.problem == ""
    assert [line["event"] for line in logs] == ["watch-failed"]


async def test_a_watch_that_fails_is_reported_and_retried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = 3

    def limited(*arguments: object) -> object:
        nonlocal failures
        failures -= 1
        if failures >= 0:
            raise OSError('OS file watch limit reached. about ["/a/path"]')
        return RustNotify(*arguments)  # type: ignore[arg-type]  # as they came

    monkeypatch.setattr("memoryd.system.watcher.RustNotify", limited)
    monkeypatch.setattr(watcher, "LONGEST_PAUSE_SECONDS", 0.1)
    with capture_logs() as logs:
        async with watching(tmp_path) as heard:
            assert heard.watcher.problem.endswith("regularly instead: OS file watch limit reached.")
            await heard.until(doubts=4)
            assert heard.watcher.problem == ""
    assert len(logs) == 1


async def test_a_flood_of_events_is_a_doubt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "FLOOD_EVENTS", 20)
    async with watching(tmp_path) as heard:
        for number in range(200):
            (tmp_path / f"{number}").write_text("x")
        await heard.until(doubts=2)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows its watches")
async def test_links_in_the_tree_are_not_followed(tmp_path: Path) -> None:
    folder, outside = tmp_path / "p", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (folder / "link").symlink_to(outside)
    async with watching(folder) as heard:
        assert inotify_watches() == 2  # the library and the bell, one each
        (outside / "a.jsonl").write_text("x")
        (folder / "b.jsonl").write_text("x")
        await heard.until(hint=str(folder / "b.jsonl"))
        assert heard.hints == {str(folder / "b.jsonl")}


def inotify_watches() -> int:
    told = []
    for entry in Path("/proc/self/fdinfo").iterdir():
        try:
            told.append(entry.read_text())
        except FileNotFoundError:
            continue
    return "".join(told).count("inotify wd")


def test_a_scan_of_a_folder_that_is_not_there_finds_nothing(tmp_path: Path) -> None:
    found = scan(str(tmp_path / "none"))
    assert (found.files, found.root_identity) == ({}, None)
    (tmp_path / "file").write_text("x")
    assert scan(str(tmp_path / "file")).root_identity is None


def test_a_scan_knows_sessions_from_all_else(tmp_path: Path) -> None:
    for name in ("p/a.jsonl", "p/agent-b.jsonl", "p/notes.md", "p/a/subagents/c.jsonl", "d.jsonl"):
        path = tmp_path / "projects" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    found = scan(str(tmp_path / "projects"))
    assert list(found.files) == ["p/a.jsonl"]
    assert list(found.folders) == ["p"]
    assert found.oddities == []
    assert found.files["p/a.jsonl"] == FileStamp.of((tmp_path / "projects/p/a.jsonl").stat())
