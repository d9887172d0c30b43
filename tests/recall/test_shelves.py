"""Shelves follow the files: our own changes at once, floods from outside one by one."""

import itertools
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from anyio.lowlevel import checkpoint

from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules.topics import Topic
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.recall.calibration import DATA, Calibration
from memoryd.recall.embeddings import Embeddings
from memoryd.recall.rules.gate import LEAST_BAR
from memoryd.recall.rules.search import Question, search, search_unasked
from memoryd.recall.shelf import Shelf
from memoryd.recall.shelves import Shelves, WaitingFiles
from memoryd.system.database import Database
from tests.support.times import NOW

MANY = 300
NEUTRAL = (DATA / "neutral_prompts.txt").read_text("utf-8").splitlines()


class Library:
    """Shelves over a real store, and the background tasks that they started."""

    def __init__(self, folder: Path) -> None:
        self.state = Database.open(str(folder / "state.db"))
        self.store = Store(VersionTable(self.state), now=lambda: NOW)
        self.directory = MemoryDirectory(str(folder / "memory"), "project")
        self.tasks: list[Callable[[], Awaitable[object]]] = []
        embeddings, self.calibration = Embeddings(None, str(folder / "vectors")), Calibration()
        self.shelves = Shelves(self.store, embeddings, self.calibration, self.soon)

    def soon(self, _: str, task: Callable[[], Awaitable[object]]) -> bool:
        self.tasks.append(task)
        return True

    async def run_tasks(self) -> None:
        while self.tasks:
            await self.tasks.pop(0)()

    async def shelf(self) -> Shelf:
        (shelf,) = await self.shelves.get([self.directory])
        return shelf

    def write(self, file: str, body: str) -> None:
        path = Path(self.directory.path) / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"---\nname: {file}\ndescription: d\ntype: project\n---\n\n{body}\n")

    def shown_unasked(self, shelf: Shelf, prompt: str) -> list[str]:
        background = self.calibration.background
        hits = search_unasked([shelf.index], Question(prompt), background, limit=5, now=NOW)
        return [Path(hit.key).name for hit in hits]

    def found(self, shelf: Shelf, query: str) -> list[str]:
        hits = search([shelf.index], Question(query), limit=MANY, now=NOW)
        return sorted(Path(hit.key).name for hit in hits)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    made = Library(tmp_path)
    yield made
    made.state.close()


async def test_a_flood_is_added_one_by_one_while_other_tasks_run(
    library: Library,
) -> None:
    shelf = await library.shelf()
    for number in range(MANY):
        library.write(f"m{number}.md", "zirconium")
        library.shelves.update_soon(library.directory, f"m{number}.md")
    assert len(library.tasks) == 1
    sizes = [0]
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(library.run_tasks)
            assert await library.shelf() is shelf
            assert len(shelf.rows) < MANY
            while sizes[-1] < MANY:
                await checkpoint()
                sizes.append(len(shelf.rows))
    assert max(after - before for before, after in itertools.pairwise(sizes)) == 1
    assert len(library.found(shelf, "zirconium")) == MANY


async def test_a_query_after_a_few_changes_sees_them(library: Library) -> None:
    library.write("a.md", "copper")
    shelf = await library.shelf()
    library.write("a.md", "zirconium")
    library.write("b.md", "zirconium")
    for file in ("a.md", "b.md", "gone.md"):
        library.shelves.update_soon(library.directory, file)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(library.run_tasks)
            await library.shelf()
            assert library.found(shelf, "zirconium") == ["a.md", "b.md"]
            assert library.found(shelf, "copper") == []


def test_changes_that_come_later_are_told_from_those_that_a_query_waits_for() -> None:
    waiting = WaitingFiles()
    waiting.add("known.md")
    waiting.add("again.md")
    known = waiting.known
    assert waiting.take(1) == ["known.md"]
    waiting.add("later.md")
    waiting.add("again.md")  # waits already, and is read after this
    waiting.done += 1
    assert waiting.done < known
    assert waiting.take(1) == ["again.md"]
    waiting.done += 1
    assert waiting.done == known
    assert list(waiting.files) == ["later.md"]


async def test_a_memory_saved_meanwhile_is_not_replaced_by_its_older_text(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = await library.shelf()
    saved = library.store.save(
        library.directory,
        Topic(name="Metal", description="d", type="project", body="copper"),
        cause="user",
    )
    library.shelves.update_soon(library.directory, saved.file)
    real = anyio.to_thread.run_sync

    async def and_then_saved(*args: Any, **more: Any) -> Any:
        result = await real(*args, **more)
        text = saved.text.replace("copper", "zirconium")
        library.store.write(library.directory, saved.file, text, over=saved.version, cause="user")
        library.shelves.update_soon(library.directory, saved.file)
        monkeypatch.undo()
        return result

    monkeypatch.setattr(anyio.to_thread, "run_sync", and_then_saved)
    await library.run_tasks()
    assert library.found(shelf, "zirconium") == [saved.file]
    assert library.found(shelf, "copper") == []


async def test_a_changed_file_is_read_again_even_if_its_mtime_was_restored(
    library: Library,
) -> None:
    library.write("a.md", "copper")
    shelf = await library.shelf()
    path = Path(library.directory.path) / "a.md"
    times = path.stat()
    library.write("a.md", "nickel")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    row = await library.shelves.fresh_row(shelf, str(path))
    assert row is not None
    assert "nickel" in row.content


async def test_a_shelf_has_its_bar_when_it_is_built(library: Library) -> None:
    library.write("a.md", "The kiln cools slowly after a glaze firing.")
    shelf = await library.shelf()
    assert shelf.index.bar == LEAST_BAR
    assert library.shown_unasked(shelf, "how does the kiln cool after glaze firing") == ["a.md"]
    assert library.shown_unasked(shelf, "commit and push it") == []


async def test_the_bar_is_measured_again_when_memories_change(library: Library) -> None:
    library.write("a.md", "The kiln cools slowly after a glaze firing.")
    shelf = await library.shelf()
    before = shelf.index.bar
    for number, line in enumerate(NEUTRAL):
        library.write(f"m{number}.md", line)
        library.shelves.update_soon(library.directory, f"m{number}.md")
    with anyio.fail_after(60):
        await library.run_tasks()
    assert shelf.index.bar > before
    assert not shelf.is_measuring


async def test_one_change_of_many_keeps_the_bar(library: Library) -> None:
    for number, line in enumerate(NEUTRAL):
        library.write(f"m{number}.md", line)
    shelf = await library.shelf()
    library.write("m0.md", "something else")
    library.shelves.update_soon(library.directory, "m0.md")
    with anyio.fail_after(60):
        await library.run_tasks()
    assert shelf.changes == 1
