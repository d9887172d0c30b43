"""A dream from the lock to its end: nothing is lost, everything can be undone."""

import json
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from anyio import from_thread
from structlog.testing import capture_logs

from memoryd.base.errors import NotFound
from memoryd.base.events import DreamFinished
from memoryd.dreams.consolidate import Consolidation
from memoryd.dreams.progress import DreamProgress
from memoryd.memories.rules import topics
from tests.support.dream_fixtures import (
    DAY,
    NOW,
    DreamProject,
    data_of,
    memory_text,
    stamps,
    two_of_a_kind,
)


@pytest.fixture
def project(home: Path) -> Iterator[DreamProject]:
    made = DreamProject(home)
    yield made
    made.database.close()


# --- by rules -----------------------------------------------------------------------------------


async def test_a_dream_by_rules_merges_and_says_what_it_did(project: DreamProject) -> None:
    two_of_a_kind(project)
    async with project.running():
        dream = await project.dream()
    assert dream.state == "done"
    assert {one.file: one.action for one in dream.summary.files} == {
        "a.md": "changed",
        "b.md": "retired",
        "MEMORY.md": "index",
    }
    assert 'supersedes: ".retired/b.md"' in project.text("a.md")
    assert "b.md" not in project.index()
    assert not (project.memory / "b.md").exists()
    assert "superseded_by: a.md" in project.text(".retired/b.md")
    causes = [one.cause for one in project.versions.versions(project.directory.path, "a.md")]
    assert causes == ["dream", "outside"]


async def test_a_rewritten_memory_keeps_its_time(project: DreamProject) -> None:
    two_of_a_kind(project)
    async with project.running():
        await project.dream()
    assert stamps(project.memory)["a.md"] == NOW - 3 * DAY


async def test_a_second_dream_right_after_changes_nothing(project: DreamProject) -> None:
    two_of_a_kind(project)
    project.remember("d.md", "The demo is tomorrow.", type="project", age_days=20)
    project.remember("My Notes.md", "no header here", name="")
    async with project.running():
        await project.dream()
        before, times = project.tree(), stamps(project.memory)
        dream = await project.dream()
    assert (dream.state, dream.summary.files) == ("done", ())
    assert (project.tree(), stamps(project.memory)) == (before, times)


async def test_dates_are_counted_from_when_they_were_written(project: DreamProject) -> None:
    project.remember("d.md", "The demo is tomorrow.", type="project", age_days=20)
    async with project.running():
        await project.dream()
    day = datetime.fromtimestamp(NOW - 19 * DAY).astimezone().date()
    assert f"The demo is {day.isoformat()}." in project.text("d.md")


async def test_pointers_and_long_lines_are_fixed_and_a_persons_order_stays(
    project: DreamProject,
) -> None:
    project.remember("a.md", "Use tabs.", name="Tabs")
    project.remember("b.md", "Use black.", name="Black")
    long = "- [Tabs](a.md) — " + "many words " * 30
    (project.memory / "MEMORY.md").write_text(f"# Style\n\n{long}\n\n- [Gone](gone.md) — old\n")
    async with project.running():
        await project.dream()
    lines = project.index().splitlines()
    assert lines[0] == "# Style"
    assert "- [Tabs](a.md) — what it is about" in lines
    assert "- [Black](b.md) — what it is about" in lines
    assert "gone.md" not in project.index()


async def test_what_cannot_be_fixed_is_flagged_and_left(project: DreamProject) -> None:
    project.remember("empty.md", "")
    project.remember("long.md", "word " * 2000)
    async with project.running():
        dream = await project.dream()
    concerns = {one.file: one.concern for one in dream.summary.flags}
    assert concerns == {"empty.md": "empty", "long.md": "too long for recall"}
    assert not [one for one in dream.summary.files if one.file != "MEMORY.md"]


async def test_a_file_that_cannot_be_copied_keeps_its_line_and_its_bytes(
    project: DreamProject,
) -> None:
    two_of_a_kind(project)
    linked = project.remember("linked.md", "Two names.", name="Linked")
    os.link(linked, project.home / "other-name")
    project.store.repair(project.directory)
    line = next(line for line in project.index().splitlines() if "linked.md" in line)
    async with project.running():
        await project.dream()
        assert line in project.index().splitlines()
        before = project.tree()
        await project.dream()
    assert project.tree() == before


async def test_secrets_in_a_merged_text_are_masked(project: DreamProject) -> None:
    token = "ghp_" + "x7Kp2LmQ9vRt4WzB8nYc3HdF6jSg1TaE5uQo"
    project.remember("a.md", "Use pnpm for installs.\n\n**Why:** one lock file.")
    project.remember("b.md", f"Use pnpm for installs.\n\nThe token is {token}.")
    async with project.running():
        dream = await project.dream()
    kept = next(one for one in dream.summary.files if one.action == "changed")
    assert dream.state == "done"
    assert token not in project.text(kept.file)
    assert token not in kept.diff


# --- dry run, undo, conflicts -------------------------------------------------------------------


def facts_below(folder: Path) -> dict[str, tuple[int, ...]]:
    """Metadata of every file and folder, with the change time, which cannot be set back."""
    found = {str(path): path.lstat() for path in (folder, *folder.rglob("*"))}
    return {
        path: (one.st_ino, one.st_mode, one.st_size, one.st_mtime_ns, one.st_ctime_ns)
        for path, one in found.items()
    }


async def test_a_dry_run_shows_the_diff_and_changes_nothing(project: DreamProject) -> None:
    two_of_a_kind(project)
    project.lock.write_text("999999999")
    os.utime(project.lock, (NOW - 2 * DAY, NOW - 2 * DAY))
    before = facts_below(project.home / ".claude")
    async with project.running():
        status = project.dreamer.status(project.root)
        dream = await project.dream(dry_run=True)
        assert (dream.state, dream.cause) == ("previewed", "dry-run")
        assert '+supersedes: ".retired/b.md"' in next(one.diff for one in dream.summary.files)
        assert facts_below(project.home / ".claude") == before
        assert project.database.run("select count(*) from versions") == [(0,)]
        assert project.copies() == []
        with pytest.raises(NotFound):
            await project.dreamer.undo(project.root)
        assert project.dreamer.status(project.root) == status


async def test_undo_restores_every_byte_and_every_time(project: DreamProject) -> None:
    two_of_a_kind(project)
    project.remember("d.md", "The demo is tomorrow.", type="project")
    (project.memory / "MEMORY.md").write_text("# A person's heading\r\n\n- [Old](a.md) no dash\n")
    before, times = project.tree(), stamps(project.memory)
    times.pop("MEMORY.md")
    async with project.running():
        await project.dream()
        assert project.tree() != before
        undone = await project.dreamer.undo(project.root)
        assert undone.left == []
        assert project.tree() == before
        assert times.items() <= stamps(project.memory).items()
        assert project.dreamer.past(project.root, 5)[0].state == "undone"
        with pytest.raises(NotFound):
            await project.dreamer.undo(project.root)


async def test_an_undone_dream_is_not_repeated_the_same_night(project: DreamProject) -> None:
    two_of_a_kind(project)
    project.have_sessions(9)
    async with project.running():
        await project.dream()
        await project.dreamer.undo(project.root)
        assert project.dreamer.status(project.root).gate == "hours"


async def test_undo_leaves_files_changed_since_and_names_them(project: DreamProject) -> None:
    two_of_a_kind(project)
    project.remember("d.md", "The demo is tomorrow.", type="project")
    before = project.text("a.md")
    async with project.running():
        await project.dream()
        (project.memory / "d.md").write_text("mine now\n")
        undone = await project.dreamer.undo(project.root)
    assert undone.left == ["d.md"]
    assert "a.md" in undone.restored
    assert project.text("a.md") == before
    assert project.text("d.md") == "mine now\n"
    assert "b.md" in project.index()


async def test_what_a_person_added_to_the_index_survives_an_undo(project: DreamProject) -> None:
    two_of_a_kind(project)
    before = project.index()
    async with project.running():
        await project.dream()
        (project.memory / "MEMORY.md").write_text(f"# Mine\n\n{project.index()}")
        assert (await project.dreamer.undo(project.root)).left == []
    heading, _, rest = project.index().partition("\n\n")
    assert heading == "# Mine"
    assert sorted(rest.splitlines()) == sorted(before.splitlines())


async def test_a_file_edited_during_the_dream_is_left_alone_and_no_words_are_removed(
    project: DreamProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_of_a_kind(project)
    project.remember("d.md", "The demo is tomorrow.", type="project")
    project.remember("e.md", "The party is tomorrow.", type="project", name="Party")
    mine = memory_text("An editor wrote this meanwhile.")
    conclude = Consolidation._conclude

    def after_an_edit(consolidation: Consolidation, run: Any, copy: Any) -> None:
        (project.memory / "a.md").write_text(mine)
        conclude(consolidation, run, copy)

    monkeypatch.setattr(Consolidation, "_conclude", after_an_edit)
    async with project.running():
        dream = await project.dream()
    assert dream.state == "done"
    assert project.text("a.md") == mine
    # Changes that remove words are skipped too: the words may have moved to a.md.
    assert set(dream.summary.left_alone) == {"a.md", "b.md", "d.md", "e.md"}
    assert "tomorrow" in project.text("d.md")
    assert "b.md" in project.index()
    assert not list(project.memory.glob(".retired/*"))


async def test_a_memory_saved_during_the_dream_keeps_its_place_in_the_index(
    project: DreamProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_of_a_kind(project)
    conclude = Consolidation._conclude

    def after_a_save(consolidation: Consolidation, run: Any, copy: Any) -> None:
        fresh = topics.Topic(name="Fresh", description="new", type="user", body="Knows Go.")
        project.store.save(project.directory, fresh, cause="extraction")
        conclude(consolidation, run, copy)

    monkeypatch.setattr(Consolidation, "_conclude", after_a_save)
    async with project.running():
        dream = await project.dream()
        assert dream.summary.left_alone == ()
        assert "user_fresh.md" in project.index()
        assert "b.md" not in project.index()
        assert (await project.dreamer.undo(project.root)).left == []
    assert "user_fresh.md" in project.index()
    assert "b.md" in project.index()


async def test_a_dream_by_rules_can_be_stopped_too(
    project: DreamProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_of_a_kind(project)
    project.remember("d.md", "The demo is tomorrow.", type="project")
    before = project.tree()
    on_change = DreamProgress.on_change

    def then_stop(progress: DreamProgress, change: Any) -> None:
        on_change(progress, change)
        run = project.dreamer._current
        assert run is not None
        from_thread.run_sync(run.stop)

    monkeypatch.setattr(DreamProgress, "on_change", then_stop)
    async with project.running():
        dream = await project.dream()
    assert (dream.state, project.tree()) == ("stopped", before)
    assert [event["file"] for event in data_of(project.events, "dream/file")] == ["d.md"]
    assert not project.lock.exists()


# --- announcements ------------------------------------------------------------------------------


async def test_the_log_of_a_dream_names_every_step_and_quotes_nothing(
    project: DreamProject,
) -> None:
    two_of_a_kind(project)
    with capture_logs() as lines:
        async with project.running():
            await project.dream()
    steps = [
        (line["event"], line.get("phase") or line.get("file") or line.get("state"))
        for line in lines
        if line["event"].startswith("dream-")
    ]
    assert steps == [
        ("dream-started", None),
        ("dream-phase", "orient"),
        ("dream-phase", "gather"),
        ("dream-phase", "consolidate"),
        ("dream-file", "a.md"),
        ("dream-file", "b.md"),
        ("dream-phase", "prune and index"),
        ("dream-applied", "a.md"),
        ("dream-applied", "b.md"),
        ("dream-applied", "MEMORY.md"),
        ("dream-finished", "done"),
    ]
    first = {key: lines[0][key] for key in ("project", "dream", "how", "cause", "memories")}
    assert list(first.values()) == [project.root, 1, "embedded", "asked", 3]
    actions = [line["action"] for line in lines if line["event"] == "dream-applied"]
    assert actions == ["changed", "retired", "index"]
    last = {key: lines[-1][key] for key in ("project", "dream", "state", "changed", "retired")}
    assert list(last.values()) == [project.root, 1, "done", 1, 1]
    assert "pnpm" not in json.dumps(lines)


async def test_a_preview_logs_no_file_as_applied(project: DreamProject) -> None:
    two_of_a_kind(project)
    with capture_logs() as lines:
        async with project.running():
            await project.dream(dry_run=True)
    events = [line["event"] for line in lines]
    assert "dream-file" in events
    assert "dream-applied" not in events


async def test_the_events_are_the_same(project: DreamProject) -> None:
    two_of_a_kind(project)
    async with project.running():
        dream = await project.dream()
    assert [kind for kind in project.kinds() if kind.startswith("dream/")] == [
        "dream/started",
        *["dream/phase"] * 3,
        *["dream/file"] * 2,
        "dream/phase",
        "dream/finished",
    ]
    for event in project.events:
        assert event.project == project.root
    finished = data_of(project.events, "dream/finished")[0]
    assert (finished["dream"], finished["changed"], finished["retired"]) == (dream.id, 1, 1)


async def test_the_end_is_announced_when_a_client_may_undo_the_dream(
    project: DreamProject,
) -> None:
    two_of_a_kind(project)
    copies: list[list[str]] = []

    project.notices.on(DreamFinished, lambda _: copies.append(project.copies()))
    before = project.tree()
    async with project.running():
        await project.dream()
        await project.dreamer.undo(project.root)
    assert (project.tree(), copies) == (before, [[]])


async def test_status_of_all_projects_says_what_is_next(project: DreamProject) -> None:
    two_of_a_kind(project)
    async with project.running():
        await project.dream()
        (status,) = project.dreamer.statuses()
    assert status.project == project.root
    assert "not now: the last dream was less than an hour ago; next dream after" in status.message


async def test_an_older_store_is_moved_by_the_first_dream_and_back_by_undo(
    project: DreamProject,
) -> None:
    project.remember("old.md", "We deploy on Tuesdays.", type="project")
    project.remember("new.md", "We deploy on Thursdays.", type="project", supersedes="old.md")
    project.confirm("new.md")
    project.store.repair(project.directory)
    before, times = project.tree(), stamps(project.memory)
    async with project.running():
        dream = await project.dream()
        assert {one.file for one in project.store.retired(project.directory)} == {".retired/old.md"}
        assert not (project.memory / "old.md").exists()
        assert dream.summary.lost == ()
        moved = project.tree()
        again = await project.dream()
        assert (again.summary.files, project.tree()) == ((), moved)
        history = project.versions.versions(project.directory.path, "old.md")
        assert [one.cause for one in history] == ["dream", "outside"]
        await project.dreamer.undo(project.root)
    assert (project.tree(), stamps(project.memory)) == (before, times)
    history = project.versions.versions(project.directory.path, "old.md")
    assert [one.cause for one in history] == ["restore", "dream", "outside"]
