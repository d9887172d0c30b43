"""A large directory is indexed by another process, and as well as by the daemon itself."""

import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from memoryd.base.errors import Unavailable
from memoryd.memories.kept_files import LEAST_MEMORIES
from memoryd.memories.origin_table import OriginRow
from memoryd.memories.records import MemoryDirectory
from memoryd.recall import indexer
from memoryd.recall.indexer import Indexer
from memoryd.recall.keeping import ShelfKeeper
from memoryd.recall.shelf import Shelf
from memoryd.recall.shelves import Shelves
from tests.recall.test_keeping import CALIBRATION, Shop

QUERIES = ("copper lagoon", "n17 fjord", "gravle", "anchor basin drift ember kelp")


@pytest.fixture
async def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """Nothing of its memories is kept, and they are old enough."""
    monkeypatch.setattr(indexer, "LEAST_MEMORIES", LEAST_MEMORIES)
    made = Shop(tmp_path)
    for number in range(LEAST_MEMORIES + 1):
        made.write(number)
    await made.settled()
    return made


async def opened(shop: Shop, indexer: Indexer | None) -> Shelf:
    """The shelf after a start; `read` says which files the daemon has read itself."""
    with noting_reads(shop):
        keeper = ShelfKeeper(shop.files, shop.maker, pause_seconds=0.0)
        shelves = Shelves(
            shop.store,
            shop.embeddings,
            CALIBRATION,
            lambda _, __: True,
            keeper=keeper,
            indexer=indexer,
        )
        (shelf,) = await shelves.get([shop.directory])
    return shelf


@contextmanager
def noting_reads(shop: Shop) -> Iterator[None]:
    shop.read.clear()
    read_each = shop.store.read_each

    def noted(directory: object, files: list[str]) -> object:
        shop.read += files
        return read_each(directory, files)  # type: ignore[arg-type]

    shop.store.read_each = noted  # type: ignore[method-assign,assignment]
    yield
    shop.store.read_each = read_each  # type: ignore[method-assign]


def real(shop: Shop) -> Indexer:
    return Indexer(str(shop.folder), shop.maker, shop.store.all_origins)


def failing(shop: Shop, code: str) -> Indexer:
    return Indexer(
        str(shop.folder), shop.maker, shop.store.all_origins, (sys.executable, "-c", code)
    )


async def test_it_answers_as_one_that_the_daemon_made_and_nothing_is_read_twice(shop: Shop) -> None:
    origins = shop.store._versions.origins
    origins.note(shop.store.read(shop.directory, "m3.md").data, "user-said")
    origins.note_team(shop.store.read(shop.directory, "m4.md").version, "bob")
    apart = await opened(shop, real(shop))
    assert shop.read == []
    assert apart.kept_revision == apart.revision
    shop.files.drop(shop.directory.path)
    here = await opened(shop, None)
    assert len(shop.read) == len(here.rows) == LEAST_MEMORIES + 1
    assert {key: (row.topic, row.content, row.origin) for key, row in apart.rows.items()} == {
        key: (row.topic, row.content, row.origin) for key, row in here.rows.items()
    }
    assert apart.rows[f"{shop.directory.path}/m3.md"].topic.trust == "user-said"
    assert apart.rows[f"{shop.directory.path}/m4.md"].topic.author == "bob"
    assert apart.index.bar == here.index.bar
    for query in QUERIES:
        ours, theirs = shop.hits(apart, query), shop.hits(here, query)
        assert [hit.key for hit in ours] == [hit.key for hit in theirs]
        assert np.allclose([hit.score for hit in ours], [hit.score for hit in theirs], atol=1e-4)


@pytest.mark.parametrize(
    "code", ["raise SystemExit(3)", "import os; os.abort()", "print('x' * 99_999)", "pass"]
)
async def test_where_the_program_fails_the_daemon_indexes(shop: Shop, code: str) -> None:
    shelf = await opened(shop, failing(shop, code))
    assert len(shop.read) == len(shelf.rows) == LEAST_MEMORIES + 1
    assert [path.name for path in shop.kept] == []


async def test_where_the_program_is_of_other_code_the_daemon_indexes(shop: Shop) -> None:
    other = Indexer(str(shop.folder), "another", shop.store.all_origins)
    shelf = await opened(shop, other)
    assert len(shop.read) == len(shelf.rows)
    assert shop.kept == []


async def test_what_is_saved_before_the_program_fails_is_on_the_shelf(shop: Shop) -> None:
    def save_meanwhile() -> list[OriginRow]:
        shop.write(900, "beryllium")
        raise Unavailable("the journal cannot be read", hint="")

    shelf = await opened(shop, Indexer(str(shop.folder), shop.maker, save_meanwhile))
    assert shop.hits(shelf, "beryllium")[0].key.endswith("/m900.md")


def test_directories_are_indexed_one_at_a_time(tmp_path: Path) -> None:
    running: list[int] = []
    most = 0

    def origins() -> list[OriginRow]:
        nonlocal most
        running.append(1)
        most = max(most, len(running))
        time.sleep(0.05)
        running.pop()
        raise Unavailable("no journal", hint="")

    indexer = Indexer(str(tmp_path), "", origins)
    directories = [MemoryDirectory(str(tmp_path / name), "project") for name in "abc"]
    with ThreadPoolExecutor() as threads:
        assert list(threads.map(indexer.index, directories)) == [False] * 3
    assert most == 1


async def test_where_there_is_no_program_or_no_state_folder_the_daemon_indexes(shop: Shop) -> None:
    nobody = Indexer(str(shop.folder), shop.maker, shop.store.all_origins, ["/nonexistent/python"])
    assert len((await opened(shop, nobody)).rows) == LEAST_MEMORIES + 1
    (shop.folder / "shelves").rmdir()
    (shop.folder / "shelves").write_text("not a folder")
    assert len((await opened(shop, real(shop))).rows) == LEAST_MEMORIES + 1


async def test_what_is_removed_while_it_is_indexed_does_not_come_back(shop: Shop) -> None:
    def forget_meanwhile() -> list[OriginRow]:
        (Path(shop.directory.path) / "m7.md").unlink()
        shop.files.drop(shop.directory.path)
        return shop.store.all_origins()

    shelf = await opened(shop, Indexer(str(shop.folder), shop.maker, forget_meanwhile))
    assert f"{shop.directory.path}/m7.md" not in shelf.rows
    assert len(shelf.rows) == LEAST_MEMORIES
    assert shop.kept == []


async def test_what_changes_while_it_is_indexed_is_read_again(shop: Shop) -> None:
    class Slow(Indexer):
        def index(self, directory: object) -> bool:
            done = super().index(shop.directory)
            shop.write(5, "zirconium")
            return done

    shelf = await opened(shop, Slow(str(shop.folder), shop.maker, shop.store.all_origins))
    assert shop.read == ["m5.md"]
    assert shop.hits(shelf, "zirconium")[0].key.endswith("/m5.md")


async def test_few_memories_are_indexed_here(shop: Shop) -> None:
    for number in range(5):
        (Path(shop.directory.path) / f"m{number}.md").unlink()
    await opened(shop, failing(shop, "1/0"))
    assert not real(shop).is_for([])
    assert len(shop.read) == LEAST_MEMORIES - 4


async def test_a_path_that_is_not_text_is_left_to_the_daemon(shop: Shop) -> None:
    odd = type(shop.directory)(f"{shop.directory.path}/\udcff", "project")
    assert not real(shop).index(odd)
    assert shop.kept == []
