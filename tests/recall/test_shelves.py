"""Shelves follow the files: ours at once, floods from outside one by one, and answers go on."""

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
from memoryd.recall.embeddings import Embeddings
from memoryd.recall.rules.search import Question, search
from memoryd.recall.shelf import Shelf
from memoryd.recall.shelves import Shelves
from memoryd.system.database import Database
from tests.support.times import NOW

MANY = 300


class Library:
    """Shelves over a real store, and the errands that they asked for."""

    def __init__(self, folder: Path) -> None:
        self.state = Database.open(str(folder / "state.db"))
        self.store = Store(VersionTable(self.state), now=lambda: NOW)
        self.directory = MemoryDirectory(str(folder / "memory"), "project")
        self.errands: list[Callable[[], Awaitable[object]]] = []
        self.shelves = Shelves(self.store, Embeddings(None, str(folder / "vectors")), self.soon)

    def soon(self, _: str, errand: Callable[[], Awaitable[object]]) -> bool:
        self.errands.append(errand)
        return True

    async def run_errands(self) -> None:
        while self.errands:
            await self.errands.pop(0)()

    async def shelf(self) -> Shelf:
        (shelf,) = await self.shelves.get([self.directory])
        return shelf

    def write(self, file: str, body: str) -> None:
        path = Path(self.directory.path) / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"---\nname: {file}\ndescription: d\ntype: project\n---\n\n{body}\n")

    def found(self, shelf: Shelf, query: str) -> list[str]:
        hits = search([shelf.index], Question(query), limit=MANY, now=NOW)
        return sorted(Path(hit.key).name for hit in hits)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    made = Library(tmp_path)
    yield made
    made.state.close()


async def test_a_flood_is_taken_in_one_by_one_and_everybody_else_gets_turns(
    library: Library,
) -> None:
    shelf = await library.shelf()
    for number in range(MANY):
        library.write(f"m{number}.md", "zirconium")
        library.shelves.update_soon(library.directory, f"m{number}.md")
    assert len(library.errands) == 1
    sizes = [0]
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(library.run_errands)
            assert await library.shelf() is shelf
            assert len(shelf.rows) < MANY
            while sizes[-1] < MANY:
                await checkpoint()
                sizes.append(len(shelf.rows))
    assert max(after - before for before, after in itertools.pairwise(sizes)) == 1
    assert len(library.found(shelf, "zirconium")) == MANY


async def test_whoever_asks_after_a_few_changes_is_answered_with_them(library: Library) -> None:
    library.write("a.md", "copper")
    shelf = await library.shelf()
    library.write("a.md", "zirconium")
    library.write("b.md", "zirconium")
    for file in ("a.md", "b.md", "gone.md"):
        library.shelves.update_soon(library.directory, file)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(library.run_errands)
            await library.shelf()
            assert library.found(shelf, "zirconium") == ["a.md", "b.md"]
            assert library.found(shelf, "copper") == []


async def test_a_memory_that_was_saved_meanwhile_is_not_replaced_by_what_it_said_before(
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
    await library.run_errands()
    assert library.found(shelf, "zirconium") == [saved.file]
    assert library.found(shelf, "copper") == []


async def test_a_row_whose_file_changed_with_its_times_put_back_is_read_again(
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
