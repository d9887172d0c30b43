"""A dream that the guard refused can be reviewed and accepted, and is then like any other."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from memoryd.base.errors import Conflict, MemorydError, NotFound, Refused
from memoryd.dreams.apply import Applier
from memoryd.dreams.dream_table import Dream
from tests.dreams.test_model_dream import dreaming, read, six_facts, write
from tests.support.dream_fixtures import NOW, DreamProject, data_of, stamps
from tests.support.scripted_model import Reply, asks, says

ROSTER = "All services of Kyoto are listed in the wiki."


def ruthless() -> list[Reply]:
    """Replaces five of six memories by one that keeps almost nothing of them."""
    old = [f"m{number}.md" for number in range(5)]
    return [
        asks(*(read(file) for file in old)),
        asks(write("roster.md", ROSTER, name="Roster", supersedes=", ".join(old))),
        says("One roster instead of five notes."),
    ]


@asynccontextmanager
async def refused(home: Path) -> AsyncIterator[tuple[DreamProject, Dream, str]]:
    """A project with a dream that waits for review, and its memory before that dream."""
    async with dreaming(home, ruthless()) as (project, _server), project.running():
        six_facts(project)
        before = project.tree()
        dream = await project.dream()
        assert (dream.state, project.tree()) == ("refused", before)
        assert len(dream.summary.lost) == 5
        yield project, dream, before


async def test_a_refused_dream_is_applied_as_shown_and_can_be_undone(home: Path) -> None:
    async with refused(home) as (project, kept, before):
        times = stamps(project.memory)
        accepted = await project.dreamer.accept(project.root, None)
        assert (accepted.state, accepted.cause) == ("done", "accepted")
        assert accepted.summary.files == kept.summary.files
        assert accepted.summary.said == "One roster instead of five notes."
        assert accepted.summary.usd == 0  # the refused dream was paid for
        assert ROSTER in project.text("roster.md")
        assert [line for line in project.index().splitlines() if line] == [
            "- [(concluded) Roster](roster.md) — (concluded) what it is about",
            "- [sigma](m5.md) — what it is about",
        ]
        assert project.lock.stat().st_mtime == NOW
        assert project.dreamer.status(project.root).gate == "hours"
        past = [(one.state, one.reason) for one in project.dreamer.past(project.root, 9)]
        assert past == [("done", ""), ("accepted", f"accepted as dream {accepted.id}")]
        assert project.copies() == []
        assert (await project.dreamer.undo(project.root)).left == []
        assert project.tree() == before
        assert stamps(project.memory) == times
        with pytest.raises(Refused, match="is accepted"):
            await project.dreamer.accept(project.root, kept.id)


async def test_an_acceptance_is_announced_like_any_dream(home: Path) -> None:
    async with refused(home) as (project, _kept, _before):
        project.events.clear()
        accepted = await project.dreamer.accept(project.root, None)
        (started,) = data_of(project.events, "dream/started")
        (finished,) = data_of(project.events, "dream/finished")
    assert (started["cause"], started["memories"]) == ("accepted", 6)
    assert (finished["dream"], finished["new"], finished["retired"]) == (accepted.id, 1, 5)


@pytest.mark.parametrize("file", ["m0.md", "m4.md", "roster.md"])
async def test_nothing_is_overwritten_or_retired_that_the_dream_has_not_read(
    home: Path, file: str
) -> None:
    async with refused(home) as (project, kept, _before):
        project.remember(file, "An editor has the last word.")
        changed = project.tree()
        with pytest.raises(Conflict, match=rf"changed since dream {kept.id}: {file}"):
            await project.dreamer.accept(project.root, kept.id)
        assert project.tree() == changed
        assert project.dreamer.one(project.root, kept.id).state == "refused"
        assert len(project.table.past(project.directory.path, 9)) == 1


async def test_a_memory_removed_meanwhile_is_a_change_too(home: Path) -> None:
    async with refused(home) as (project, _kept, _before):
        (project.memory / "m3.md").unlink()
        with pytest.raises(Conflict):
            await project.dreamer.accept(project.root, None)


async def test_a_memory_added_meanwhile_keeps_its_line_in_the_index(home: Path) -> None:
    async with refused(home) as (project, _kept, _before):
        project.remember("new.md", "Deploy on Tuesdays.", name="Deploys")
        project.store.repair(project.directory)
        accepted = await project.dreamer.accept(project.root, None)
        assert accepted.state == "done"
        assert "(new.md)" in project.index()
        assert "(roster.md)" in project.index()
        assert "(m0.md)" not in project.index()
        await project.dreamer.undo(project.root)
        assert not (project.memory / "roster.md").exists()
        assert all(f"({file}.md)" in project.index() for file in ("new", "m0", "m4", "m5"))


async def test_a_copy_that_was_changed_is_refused(home: Path) -> None:
    async with refused(home) as (project, kept, before):
        Path(kept.summary.kept_at, "roster.md").write_text("something else")  # noqa: ASYNC240
        with pytest.raises(Refused, match="gone or was changed"):
            await project.dreamer.accept(project.root, None)
        assert project.tree() == before


async def test_an_edit_in_the_last_moment_is_kept(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_one = Applier._write

    def after_an_edit(applier: Applier, place: object, file: str, *files: object) -> bool:
        if file == "roster.md":
            project.remember(file, "An editor was quicker.")
        return write_one(applier, place, file, *files)  # type: ignore[arg-type] # as given

    async with refused(home) as (project, _kept, _before):
        monkeypatch.setattr(Applier, "_write", after_an_edit)
        accepted = await project.dreamer.accept(project.root, None)
        assert accepted.summary.left_alone[0] == "roster.md"
        assert "An editor was quicker." in project.text("roster.md")
        assert all(f"(m{number}.md)" in project.index() for number in range(6))


async def test_after_a_failure_half_way_it_can_be_accepted_again(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with refused(home) as (project, kept, before):

        def full_disk(*_: object, **__: object) -> None:
            raise MemorydError("No space left on device")

        monkeypatch.setattr(project.store, "put_back", full_disk)
        failed = await project.dreamer.accept(project.root, None)
        assert (failed.state, failed.reason) == ("failed", "No space left on device")
        assert (project.tree(), project.lock.exists()) == (before, False)
        monkeypatch.undo()
        accepted = await project.dreamer.accept(project.root, kept.id)
        assert accepted.state == "done"


async def test_without_a_refused_dream_there_is_nothing_to_accept(home: Path) -> None:
    async with dreaming(home, [says("All good.")]) as (project, _server), project.running():
        six_facts(project)
        with pytest.raises(NotFound):
            await project.dreamer.accept(project.root, None)
        done = await project.dream()
        with pytest.raises(Refused, match="is done"):
            await project.dreamer.accept(project.root, done.id)
        with pytest.raises(NotFound):
            await project.dreamer.accept(project.root, 999)
