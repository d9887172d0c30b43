"""A kept shelf answers as one that is built, and is thrown away when in doubt."""

import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from anyio.lowlevel import checkpoint

from memoryd.base.file_stamp import FileStamp
from memoryd.memories.kept_files import LEAST_MEMORIES, KeptFiles, is_worth_keeping
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules.topics import Topic
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.recall import keeping, kept_shelf
from memoryd.recall.calibration import Calibration
from memoryd.recall.embeddings import Embeddings
from memoryd.recall.keeping import ShelfKeeper
from memoryd.recall.kept_shelf import maker_of
from memoryd.recall.rules.packed_postings import TextArrays
from memoryd.recall.rules.search import Hit, search
from memoryd.recall.shelf import Shelf, prepared
from memoryd.recall.shelves import Shelves
from memoryd.system.database import Database
from tests.support.thinning import thinned
from tests.support.times import NOW

WORDS = "anchor basin copper drift ember fjord gravel harbor inlet jetty kelp lagoon".split()  # noqa: SIM905 - short
SECRET = "AKIA" + "Q7ZJ4N2M8X5T3W6R"
CALIBRATION = Calibration()


class Shop:
    """A store whose shelves are kept; `opened` is a restart."""

    def __init__(self, folder: Path) -> None:
        self.state = Database.open(str(folder / "state.db"))
        self.folder = folder
        self.store = Store(VersionTable(self.state), now=lambda: NOW)
        self.directory = MemoryDirectory(str(folder / "memory"), "project")
        self.embeddings = Embeddings(None, str(folder / "vectors"))
        self.embeddings.load()
        self.files = KeptFiles(str(folder))
        self.maker = maker_of(self.embeddings)
        self.tasks: list[Callable[[], Awaitable[object]]] = []
        self.read: list[str] = []

    def write(self, number: int, body: str = "") -> None:
        path = Path(self.directory.path) / f"m{number}.md"
        path.parent.mkdir(exist_ok=True)
        text = " ".join(WORDS[(number * at) % len(WORDS)] for at in range(1, 9))
        path.write_text(f"---\nname: n{number} {text}\ntype: project\n---\n{text} {body}\n")
        os.utime(path, (NOW - number, NOW - number))

    def shelves(self) -> Shelves:
        def soon(_: str, task: Callable[[], Awaitable[object]]) -> bool:
            self.tasks.append(task)
            return True

        keeper = ShelfKeeper(self.files, self.maker, pause_seconds=0.0)
        return Shelves(self.store, self.embeddings, CALIBRATION, soon, keeper=keeper)

    async def settled(self) -> None:
        """Returns when the files are old enough for their stamps to be trusted."""
        with anyio.fail_after(60):
            for path in Path(self.directory.path).iterdir():  # noqa: ASYNC240 - a test
                while not FileStamp.of(path.stat()).is_settled(time.time()):
                    await checkpoint()

    async def opened(self) -> Shelf:
        """The shelf after a restart; `read` says which files were read for it."""
        self.read.clear()
        plain = Store(VersionTable(self.state), now=lambda: NOW)
        read_each = plain.read_each

        def noted(directory: MemoryDirectory, files: list[str]) -> object:
            self.read += files
            return read_each(directory, files)

        plain.read_each = noted  # type: ignore[method-assign,assignment]
        self.store = plain
        (shelf,) = await self.shelves().get([self.directory])
        return shelf

    async def keep(self) -> None:
        while self.tasks:
            await self.tasks.pop(0)()

    @property
    def kept(self) -> list[Path]:
        return sorted((self.folder / "shelves").glob("*"))

    def hits(self, shelf: Shelf, query: str) -> list[Hit]:
        question = self.embeddings.question(query)
        return search([shelf.index], question, limit=7, now=NOW)


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    made = Shop(tmp_path)
    for number in range(LEAST_MEMORIES + 1):
        made.write(number)
    await made.settled()
    await made.opened()
    await made.keep()
    yield made
    made.state.close()


async def test_a_kept_shelf_answers_the_same_and_reads_nothing(shop: Shop) -> None:
    (file,) = shop.kept
    assert file.stat().st_mode & 0o777 == 0o600
    kept = await shop.opened()
    assert shop.read == []
    file.unlink()
    built = await shop.opened()
    assert {key: (row.content, row.version) for key, row in kept.rows.items()} == {
        key: (row.content, row.version) for key, row in built.rows.items()
    }
    assert len(shop.read) == len(kept.rows) == len(built.rows)
    assert kept.index.bar == built.index.bar
    for query in ("copper lagoon", "n17 fjord", "gravle", "anchor basin drift ember kelp"):
        ours, theirs = shop.hits(kept, query), shop.hits(built, query)
        assert [hit.key for hit in ours] == [hit.key for hit in theirs]
        assert np.allclose([hit.score for hit in ours], [hit.score for hit in theirs])
    assert {key: row.content for key, row in kept.rows.items()} == {
        key: row.content for key, row in built.rows.items()
    }


async def test_short_vectors_are_kept_and_not_made_again(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoryd.recall.rules.vectors.MANY", 100)
    shop.files.drop(shop.directory.path)
    made = await shop.opened()
    await shop.keep()
    assert made.index.word_vectors.is_rough
    whole = shop.kept[0].stat().st_size
    kept = await shop.opened()
    assert not shop.read
    assert not shop.tasks
    assert kept.index.word_vectors.is_rough
    for query in ("copper lagoon", "n17 fjord", "anchor basin drift ember kelp"):
        ours, theirs = shop.hits(kept, query), shop.hits(made, query)
        assert [hit.key for hit in ours] == [hit.key for hit in theirs]
        assert np.allclose([hit.score for hit in ours], [hit.score for hit in theirs], atol=1e-4)
    shop.write(5, "zirconium")
    changed = await shop.opened()
    assert shop.hits(changed, "zirconium")[0].key.endswith("/m5.md")
    for number in range(1_000, 1_250):
        shop.write(number)
    await shop.settled()
    grown = await shop.opened()
    assert grown.index.word_vectors.wants_sketch  # half of its vectors are new
    await shop.keep()
    assert shop.kept[0].stat().st_size > 1.5 * whole


async def test_a_shelf_that_grows_large_is_sketched_and_kept(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoryd.recall.rules.vectors.MANY", LEAST_MEMORIES + 50)
    shelves = shop.shelves()
    (shelf,) = await shelves.get([shop.directory])
    await shop.keep()
    for number in range(1_000, 1_650):
        shop.write(number)
    await shop.settled()
    for number in range(1_000, 1_650):
        shelves.update_soon(shop.directory, f"m{number}.md")
    await shop.keep()
    assert shelf.index.word_vectors.is_rough
    kept = await shop.opened()
    assert not shop.read
    assert kept.index.word_vectors.is_rough


async def test_only_what_changed_is_read(shop: Shop) -> None:
    shop.write(5, "zirconium")
    shop.write(900, "beryllium")
    (Path(shop.directory.path) / "m7.md").unlink()
    shelf = await shop.opened()
    assert sorted(shop.read) == ["m5.md", "m900.md"]
    assert shop.hits(shelf, "zirconium")[0].key.endswith("/m5.md")
    assert shop.hits(shelf, "beryllium")[0].key.endswith("/m900.md")
    assert f"{shop.directory.path}/m7.md" not in shelf.rows
    assert len(shelf.index) == LEAST_MEMORIES + 1


async def test_a_memory_whose_writer_became_known_is_read_again(shop: Shop) -> None:
    stored = shop.store.read(shop.directory, "m3.md")
    shop.store._versions.origins.note(stored.data, "user-said")
    shelf = await shop.opened()
    assert shop.read == ["m3.md"]
    assert shelf.rows[f"{shop.directory.path}/m3.md"].topic.trust == "user-said"


@pytest.mark.parametrize("at", thinned([0, 5, 20, 60, 300, 5_000, -1], every=3))
async def test_a_damaged_file_is_thrown_away(shop: Shop, at: int) -> None:
    (file,) = shop.kept
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)
    await shop.opened()
    assert len(shop.read) == LEAST_MEMORIES + 1
    assert shop.kept == []


@pytest.mark.parametrize("cut", thinned([0, 10, 48, 49, 60, 4_000], every=3))
async def test_a_file_that_was_cut_off_is_thrown_away(shop: Shop, cut: int) -> None:
    (file,) = shop.kept
    file.write_bytes(file.read_bytes()[:cut])
    await shop.opened()
    assert shop.kept == []


async def test_what_another_version_made_is_thrown_away(shop: Shop) -> None:
    shop.maker = "another"
    await shop.opened()
    assert len(shop.read) == LEAST_MEMORIES + 1
    assert shop.kept == []


async def test_the_file_of_another_directory_is_not_taken(shop: Shop) -> None:
    (file,) = shop.kept
    other = MemoryDirectory(f"{shop.directory.path}2", "project")
    os.rename(shop.directory.path, other.path)  # noqa: PTH104 - at once
    shop.directory = other
    file.rename(shop.files._path(other.path))
    await shop.opened()
    assert len(shop.read) == LEAST_MEMORIES + 1


async def test_a_secret_is_masked_in_the_file(shop: Shop) -> None:
    for number in range(1_000, 1_020):
        shop.write(number, f"the key is {SECRET}")
    await shop.settled()
    await shop.opened()
    await shop.keep()
    (file,) = shop.kept
    assert b"m1019.md" in file.read_bytes()
    assert SECRET.encode() not in file.read_bytes()
    assert SECRET.lower().encode() not in file.read_bytes()


async def test_what_is_dropped_while_it_is_written_does_not_come_back(shop: Shop) -> None:
    temporary = shop.files.begin()
    assert temporary is not None
    shop.files.drop(shop.directory.path)
    assert shop.kept == []
    assert not shop.files.fill(temporary, b"x")
    assert not shop.files.put_in_place(temporary, shop.directory.path)
    assert shop.kept == []


async def test_it_is_not_kept_while_many_files_wait_to_be_looked_at(shop: Shop) -> None:
    shop.files.discard(shop.directory.path)
    shelf = await shop.opened()
    files = set(shop.read)
    assert files
    looks = [files, files, set[str]()]
    keeper = ShelfKeeper(shop.files, shop.maker, pause_seconds=0.0)
    with anyio.fail_after(60):
        await keeper.keep(shelf, lambda: looks.pop(0) if looks else set())
    await shop.opened()
    assert shop.read == []


async def test_it_is_not_kept_while_a_changed_memory_lacks_its_vectors(shop: Shop) -> None:
    shop.files.discard(shop.directory.path)
    shelf = await shop.opened()
    (stored,) = shop.store.read_each(shop.directory, ["m4.md"])
    changed = prepared(stored, shop.embeddings, with_vector=True, read_at=NOW)
    begin = shop.files.begin

    def begin_while_it_changes() -> str | None:
        shelf.put(changed, lacks_vectors=True)
        return begin()

    shop.files.begin = begin_while_it_changes  # type: ignore[method-assign]
    keeper = ShelfKeeper(shop.files, shop.maker, pause_seconds=0.0)
    await keeper.keep(shelf, set)
    assert shelf.without_vectors
    assert shop.kept == []
    shelf.without_vectors.clear()
    shop.files.begin = begin  # type: ignore[method-assign]
    await keeper.keep(shelf, set)
    await shop.opened()
    assert shop.read == []


async def test_a_state_folder_that_cannot_be_written_costs_only_time(shop: Shop) -> None:
    shop.files.drop(shop.directory.path)
    (shop.folder / "shelves").rmdir()
    (shop.folder / "shelves").write_text("not a folder")
    shelf = await shop.opened()
    await shop.keep()
    assert len(shelf.rows) == LEAST_MEMORIES + 1


async def test_a_save_after_a_restart_is_found(shop: Shop) -> None:
    shelves = shop.shelves()
    await shelves.get([shop.directory])
    topic = Topic(name="Tungsten", description="a metal", type="project", body="tungsten\n")
    stored = shop.store.save(shop.directory, topic, cause="user")
    shelves.update_soon(shop.directory, stored.file)
    await shop.keep()
    (shelf,) = await shelves.get([shop.directory])
    assert shop.hits(shelf, "tungsten")[0].key == stored.path


def test_a_small_shelf_and_a_small_change_are_not_kept() -> None:
    assert not is_worth_keeping(changes=199, memories=199)
    assert is_worth_keeping(changes=200, memories=200)
    assert not is_worth_keeping(changes=16, memories=500)
    assert not is_worth_keeping(changes=400, memories=20_000)
    assert is_worth_keeping(changes=401, memories=20_000)


async def test_a_shelf_that_was_just_indexed_is_packed_and_answers_the_same(shop: Shop) -> None:
    shop.files.discard(shop.directory.path)
    shelf = await shop.opened()
    query = " ".join(WORDS[:4])
    before, slots = shop.hits(shelf, query), shelf.index.slots_of(shelf.rows)
    assert shelf.index.documents.texts()[0].size == 0
    await shop.keep()
    packed, others = shelf.index.documents.texts()
    assert (packed.size, others) == (len(shelf.rows), [])
    assert before
    assert shop.hits(shelf, query) == before
    assert shelf.index.slots_of(shelf.rows) == slots


async def test_a_memory_is_changed_and_dropped_after_its_shelf_was_packed(shop: Shop) -> None:
    shop.files.discard(shop.directory.path)
    shelf = await shop.opened()
    await shop.keep()
    documents = shelf.index.documents
    before = documents.total_length
    shelf.remove("m3.md")
    shop.write(4, "quartz")
    (stored,) = shop.store.read_each(shop.directory, ["m4.md"])
    shelf.put(prepared(stored, shop.embeddings, with_vector=True, read_at=NOW), lacks_vectors=False)
    assert documents.size == len(shelf.rows) == LEAST_MEMORIES
    assert documents.total_length < before
    assert [Path(hit.key).name for hit in shop.hits(shelf, "quartz")][:1] == ["m4.md"]
    shown = {Path(hit.key).name for hit in shop.hits(shelf, "n3")}
    assert "m3.md" not in shown


async def test_a_shelf_that_changes_while_it_is_packed_stays_as_it_is(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.files.discard(shop.directory.path)
    shelf = await shop.opened()
    pack = kept_shelf.texts_in

    def slow(*texts: Any) -> TextArrays:
        shelf.remove("m3.md")
        return pack(*texts)

    monkeypatch.setattr(keeping, "texts_in", slow)
    await shop.keep()
    assert shelf.index.documents.texts()[0].size == 0
    assert shelf.index.documents.size == len(shelf.rows)
