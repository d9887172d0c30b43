"""A dream that the guard kept back can be looked at and accepted, and is then like any other."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from memoryd.base.errors import Conflict, MemorydError, NotFound, Refused
from memoryd.dreams.apply import Applier
from memoryd.dreams.dream_table import Dream
from tests.dreams.test_model_dream import dreaming, read, six_facts, write
from tests.support.dream_fixtures import NOW, Dreamland, data_of, stamps
from tests.support.scripted_model import Reply, asks, says

ROSTER = "All services of Kyoto are listed in the wiki."


def ruthless() -> list[Reply]:
    """Replaces five of six memories by one that says hardly anything of them."""
    old = [f"m{number}.md" for number in range(5)]
    return [
        asks(*(read(file) for file in old)),
        asks(write("roster.md", ROSTER, name="Roster", supersedes=", ".join(old))),
        says("One roster instead of five notes."),
    ]


@asynccontextmanager
async def refused(home: Path) -> AsyncIterator[tuple[Dreamland, Dream, str]]:
    """A land in which a dream waits for review, and its memory as it was before."""
    async with dreaming(home, ruthless()) as (land, _server), land.awake():
        six_facts(land)
        before = land.tree()
        dream = await land.dream()
        assert (dream.state, land.tree()) == ("refused", before)
        assert len(dream.summary.lost) == 5
        yield land, dream, before


async def test_what_was_kept_back_is_applied_as_it_was_shown_and_can_be_undone(home: Path) -> None:
    async with refused(home) as (land, kept, before):
        times = stamps(land.memory)
        accepted = await land.dreamer.accept(land.root, None)
        assert (accepted.state, accepted.cause) == ("done", "accepted")
        assert accepted.summary.files == kept.summary.files
        assert accepted.summary.said == "One roster instead of five notes."
        assert accepted.summary.usd == 0  # the dream itself has paid
        assert ROSTER in land.text("roster.md")
        assert [line for line in land.index().splitlines() if line] == [
            "- [Roster](roster.md) — what it is about",
            "- [sigma](m5.md) — what it is about",
        ]
        assert land.lock.stat().st_mtime == NOW
        assert land.dreamer.status(land.root).gate == "hours"
        past = [(one.state, one.reason) for one in land.dreamer.past(land.root, 9)]
        assert past == [("done", ""), ("accepted", f"it was accepted as dream {accepted.id}")]
        assert land.copies() == []
        assert land.dreamer.undo(land.root).left == []
        assert land.tree() == before
        assert stamps(land.memory) == times
        with pytest.raises(Refused, match="is accepted"):
            await land.dreamer.accept(land.root, kept.id)


async def test_it_is_told_like_every_dream(home: Path) -> None:
    async with refused(home) as (land, _kept, _before):
        land.events.clear()
        accepted = await land.dreamer.accept(land.root, None)
        (started,) = data_of(land.events, "dream/started")
        (finished,) = data_of(land.events, "dream/finished")
    assert (started["cause"], started["memories"]) == ("accepted", 6)
    assert (finished["dream"], finished["new"], finished["retired"]) == (accepted.id, 1, 5)


@pytest.mark.parametrize("file", ["m0.md", "m4.md", "roster.md"])
async def test_nothing_is_overwritten_or_retired_that_the_dream_has_not_read(
    home: Path, file: str
) -> None:
    async with refused(home) as (land, kept, _before):
        land.remember(file, "An editor has the last word.")
        changed = land.tree()
        with pytest.raises(Conflict, match=rf"changed since dream {kept.id}: {file}"):
            await land.dreamer.accept(land.root, kept.id)
        assert land.tree() == changed
        assert land.dreamer.one(land.root, kept.id).state == "refused"
        assert len(land.book.past(land.directory.path, 9)) == 1


async def test_a_memory_that_vanished_meanwhile_is_a_change_too(home: Path) -> None:
    async with refused(home) as (land, _kept, _before):
        (land.memory / "m3.md").unlink()
        with pytest.raises(Conflict):
            await land.dreamer.accept(land.root, None)


async def test_a_memory_that_came_meanwhile_keeps_its_line_in_the_index(home: Path) -> None:
    async with refused(home) as (land, _kept, _before):
        land.remember("new.md", "Deploy on Tuesdays.", name="Deploys")
        land.store.repair(land.directory)
        accepted = await land.dreamer.accept(land.root, None)
        assert accepted.state == "done"
        assert "(new.md)" in land.index()
        assert "(roster.md)" in land.index()
        assert "(m0.md)" not in land.index()
        land.dreamer.undo(land.root)
        assert not (land.memory / "roster.md").exists()
        assert all(f"({file}.md)" in land.index() for file in ("new", "m0", "m4", "m5"))


async def test_a_copy_that_somebody_touched_is_not_what_was_shown(home: Path) -> None:
    async with refused(home) as (land, kept, before):
        Path(kept.summary.kept_at, "roster.md").write_text("something else")  # noqa: ASYNC240
        with pytest.raises(Refused, match="gone or was changed"):
            await land.dreamer.accept(land.root, None)
        assert land.tree() == before


async def test_an_editor_in_the_last_moment_keeps_its_text(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_one = Applier._write

    def after_an_edit(applier: Applier, place: object, file: str, *files: object) -> bool:
        if file == "roster.md":
            land.remember(file, "An editor was quicker.")
        return write_one(applier, place, file, *files)  # type: ignore[arg-type] # passed on

    async with refused(home) as (land, _kept, _before):
        monkeypatch.setattr(Applier, "_write", after_an_edit)
        accepted = await land.dreamer.accept(land.root, None)
        assert accepted.summary.left_alone == ("roster.md",)
        assert "An editor was quicker." in land.text("roster.md")
        assert all(f"(m{number}.md)" in land.index() for number in range(6))


async def test_a_failure_in_the_middle_leaves_it_to_be_accepted_again(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with refused(home) as (land, kept, before):

        def full_disk(*_: object, **__: object) -> None:
            raise MemorydError("No space left on device")

        monkeypatch.setattr(land.store, "put_back", full_disk)
        failed = await land.dreamer.accept(land.root, None)
        assert (failed.state, failed.reason) == ("failed", "No space left on device")
        assert (land.tree(), land.lock.exists()) == (before, False)
        monkeypatch.undo()
        accepted = await land.dreamer.accept(land.root, kept.id)
        assert accepted.state == "done"


async def test_without_a_refused_dream_there_is_nothing_to_accept(home: Path) -> None:
    async with dreaming(home, [says("All good.")]) as (land, _server), land.awake():
        six_facts(land)
        with pytest.raises(NotFound):
            await land.dreamer.accept(land.root, None)
        done = await land.dream()
        with pytest.raises(Refused, match="is done"):
            await land.dreamer.accept(land.root, done.id)
        with pytest.raises(NotFound):
            await land.dreamer.accept(land.root, 999)
