"""A dream from the lock to the last word: nothing is lost, everything can be taken back."""

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
from memoryd.dreams import run as dream_run
from memoryd.dreams import steps
from memoryd.memories.rules import topics
from tests.support.dream_fixtures import (
    DAY,
    NOW,
    Dreamland,
    data_of,
    memory_text,
    stamps,
    two_of_a_kind,
)


@pytest.fixture
def land(home: Path) -> Iterator[Dreamland]:
    made = Dreamland(home)
    yield made
    made.state.close()


# --- by rules -----------------------------------------------------------------------------------


async def test_a_dream_by_rules_merges_and_says_what_it_did(land: Dreamland) -> None:
    two_of_a_kind(land)
    async with land.awake():
        dream = await land.dream()
    assert dream.state == "done"
    assert {one.file: one.deed for one in dream.summary.files} == {
        "a.md": "changed",
        "b.md": "retired",
        "MEMORY.md": "index",
    }
    assert "supersedes: b.md" in land.text("a.md")
    assert "b.md" not in land.index()
    assert [one.file for one in land.store.scan(land.directory) if one.retired] == ["b.md"]
    causes = [one.cause for one in land.history.versions(land.directory.path, "a.md")]
    assert causes == ["dream", "outside"]


async def test_what_a_dream_rewords_does_not_look_younger(land: Dreamland) -> None:
    two_of_a_kind(land)
    async with land.awake():
        await land.dream()
    assert stamps(land.memory)["a.md"] == NOW - 3 * DAY


async def test_a_second_dream_right_after_changes_nothing(land: Dreamland) -> None:
    two_of_a_kind(land)
    land.remember("d.md", "The demo is tomorrow.", type="project", age_days=20)
    land.remember("My Notes.md", "no header here", name="")
    async with land.awake():
        await land.dream()
        before, times = land.tree(), stamps(land.memory)
        dream = await land.dream()
    assert (dream.state, dream.summary.files) == ("done", ())
    assert (land.tree(), stamps(land.memory)) == (before, times)


async def test_dates_are_counted_from_when_they_were_written(land: Dreamland) -> None:
    land.remember("d.md", "The demo is tomorrow.", type="project", age_days=20)
    async with land.awake():
        await land.dream()
    day = datetime.fromtimestamp(NOW - 19 * DAY).astimezone().date()
    assert f"The demo is {day.isoformat()}." in land.text("d.md")


async def test_pointers_and_long_lines_are_mended_and_a_persons_order_stays(
    land: Dreamland,
) -> None:
    land.remember("a.md", "Use tabs.", name="Tabs")
    land.remember("b.md", "Use black.", name="Black")
    long = "- [Tabs](a.md) — " + "many words " * 30
    (land.memory / "MEMORY.md").write_text(f"# Style\n\n{long}\n\n- [Gone](gone.md) — old\n")
    async with land.awake():
        await land.dream()
    lines = land.index().splitlines()
    assert lines[0] == "# Style"
    assert "- [Tabs](a.md) — what it is about" in lines
    assert "- [Black](b.md) — what it is about" in lines
    assert "gone.md" not in land.index()


async def test_what_cannot_be_mended_is_flagged_and_left(land: Dreamland) -> None:
    land.remember("empty.md", "")
    land.remember("long.md", "word " * 2000)
    async with land.awake():
        dream = await land.dream()
    concerns = {one.file: one.concern for one in dream.summary.flags}
    assert concerns == {"empty.md": "empty", "long.md": "too long for recall"}
    assert not [one for one in dream.summary.files if one.file != "MEMORY.md"]


async def test_a_file_that_cannot_be_copied_keeps_its_line_and_its_bytes(land: Dreamland) -> None:
    two_of_a_kind(land)
    linked = land.remember("linked.md", "Two names.", name="Linked")
    os.link(linked, land.home / "other-name")
    land.store.repair(land.directory)
    line = next(line for line in land.index().splitlines() if "linked.md" in line)
    async with land.awake():
        await land.dream()
        assert line in land.index().splitlines()
        before = land.tree()
        await land.dream()
    assert land.tree() == before


async def test_secrets_in_a_merged_text_are_masked(land: Dreamland) -> None:
    token = "ghp_" + "x7Kp2LmQ9vRt4WzB8nYc3HdF6jSg1TaE5uQo"
    land.remember("a.md", "Use pnpm for installs.\n\n**Why:** one lock file.")
    land.remember("b.md", f"Use pnpm for installs.\n\nThe token is {token}.")
    async with land.awake():
        dream = await land.dream()
    kept = next(one for one in dream.summary.files if one.deed == "changed")
    assert dream.state == "done"
    assert token not in land.text(kept.file)
    assert token not in kept.diff


# --- dry run, undo, conflicts -------------------------------------------------------------------


def facts_below(folder: Path) -> dict[str, tuple[int, ...]]:
    """What the system knows of every file and folder; the time of change nobody can put back."""
    found = {str(path): path.lstat() for path in (folder, *folder.rglob("*"))}
    return {
        path: (one.st_ino, one.st_mode, one.st_size, one.st_mtime_ns, one.st_ctime_ns)
        for path, one in found.items()
    }


async def test_a_dry_run_shows_the_diff_and_changes_nothing(land: Dreamland) -> None:
    two_of_a_kind(land)
    land.lock.write_text("999999999")
    os.utime(land.lock, (NOW - 2 * DAY, NOW - 2 * DAY))
    before = facts_below(land.home / ".claude")
    async with land.awake():
        status = land.dreamer.status(land.root)
        dream = await land.dream(dry_run=True)
        assert (dream.state, dream.cause) == ("previewed", "dry-run")
        assert "+supersedes: b.md" in next(one.diff for one in dream.summary.files)
        assert facts_below(land.home / ".claude") == before
        assert land.state.run("select count(*) from versions") == [(0,)]
        assert land.copies() == []
        with pytest.raises(NotFound):
            land.dreamer.undo(land.root)
        assert land.dreamer.status(land.root) == status


async def test_undo_brings_back_every_byte_and_every_time(land: Dreamland) -> None:
    two_of_a_kind(land)
    land.remember("d.md", "The demo is tomorrow.", type="project")
    (land.memory / "MEMORY.md").write_text("# A person's heading\r\n\n- [Old](a.md) no dash\n")
    before, times = land.tree(), stamps(land.memory)
    times.pop("MEMORY.md")
    async with land.awake():
        await land.dream()
        assert land.tree() != before
        undone = land.dreamer.undo(land.root)
        assert undone.left == []
        assert land.tree() == before
        assert times.items() <= stamps(land.memory).items()
        assert land.dreamer.past(land.root, 5)[0].state == "undone"
        with pytest.raises(NotFound):
            land.dreamer.undo(land.root)


async def test_an_undone_dream_is_not_dreamt_again_the_same_night(land: Dreamland) -> None:
    two_of_a_kind(land)
    land.have_sessions(9)
    async with land.awake():
        await land.dream()
        land.dreamer.undo(land.root)
        assert land.dreamer.status(land.root).gate == "hours"


async def test_undo_leaves_what_somebody_changed_since_and_names_it(land: Dreamland) -> None:
    two_of_a_kind(land)
    land.remember("d.md", "The demo is tomorrow.", type="project")
    before = land.text("a.md")
    async with land.awake():
        await land.dream()
        (land.memory / "d.md").write_text("mine now\n")
        undone = land.dreamer.undo(land.root)
    assert undone.left == ["d.md"]
    assert "a.md" in undone.restored
    assert land.text("a.md") == before
    assert land.text("d.md") == "mine now\n"
    assert "b.md" in land.index()


async def test_what_a_person_added_to_the_index_survives_an_undo(land: Dreamland) -> None:
    two_of_a_kind(land)
    before = land.index()
    async with land.awake():
        await land.dream()
        (land.memory / "MEMORY.md").write_text(f"# Mine\n\n{land.index()}")
        assert land.dreamer.undo(land.root).left == []
    heading, _, rest = land.index().partition("\n\n")
    assert heading == "# Mine"
    assert sorted(rest.splitlines()) == sorted(before.splitlines())


async def test_an_editor_during_the_dream_keeps_its_text_and_nothing_is_taken_from_others(
    land: Dreamland, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_of_a_kind(land)
    land.remember("d.md", "The demo is tomorrow.", type="project")
    land.remember("e.md", "The party is tomorrow.", type="project", name="Party")
    mine = memory_text("An editor wrote this meanwhile.")
    conclude = dream_run.DreamRun._conclude

    def after_an_edit(run: Any, stage: Any) -> None:
        (land.memory / "a.md").write_text(mine)
        conclude(run, stage)

    monkeypatch.setattr(dream_run.DreamRun, "_conclude", after_an_edit)
    async with land.awake():
        dream = await land.dream()
    assert dream.state == "done"
    assert land.text("a.md") == mine
    # Changes that take words away are held back with it: the words may have moved to a.md.
    assert set(dream.summary.left_alone) == {"a.md", "d.md", "e.md"}
    assert "tomorrow" in land.text("d.md")
    assert "b.md" in land.index()


async def test_a_memory_saved_during_the_dream_keeps_its_place_in_the_index(
    land: Dreamland, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_of_a_kind(land)
    conclude = dream_run.DreamRun._conclude

    def after_a_save(run: Any, stage: Any) -> None:
        fresh = topics.Topic(name="Fresh", description="new", type="user", body="Knows Go.")
        land.store.save(land.directory, fresh, cause="extraction")
        conclude(run, stage)

    monkeypatch.setattr(dream_run.DreamRun, "_conclude", after_a_save)
    async with land.awake():
        dream = await land.dream()
        assert dream.summary.left_alone == ()
        assert "user_fresh.md" in land.index()
        assert "b.md" not in land.index()
        assert land.dreamer.undo(land.root).left == []
    assert "user_fresh.md" in land.index()
    assert "b.md" in land.index()


async def test_a_dream_by_rules_can_be_stopped_too(
    land: Dreamland, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_of_a_kind(land)
    land.remember("d.md", "The demo is tomorrow.", type="project")
    before = land.tree()
    wrote = steps.DreamProgress.wrote

    def then_stop(progress: steps.DreamProgress, change: Any) -> None:
        wrote(progress, change)
        run = land.dreamer._current
        assert run is not None
        from_thread.run_sync(run.stop)

    monkeypatch.setattr(steps.DreamProgress, "wrote", then_stop)
    async with land.awake():
        dream = await land.dream()
    assert (dream.state, land.tree()) == ("stopped", before)
    assert [event["file"] for event in data_of(land.events, "dream/file")] == ["a.md"]
    assert not land.lock.exists()


# --- what is told -------------------------------------------------------------------------------


async def test_the_log_of_one_dream_reads_like_a_story_and_quotes_nothing(land: Dreamland) -> None:
    two_of_a_kind(land)
    with capture_logs() as lines:
        async with land.awake():
            await land.dream()
    told = [
        (line["event"], line.get("phase") or line.get("file") or line.get("state"))
        for line in lines
        if line["event"].startswith("dream-")
    ]
    assert told == [
        ("dream-started", None),
        ("dream-phase", "orient"),
        ("dream-phase", "gather"),
        ("dream-phase", "consolidate"),
        ("dream-file", "a.md"),
        ("dream-phase", "prune and index"),
        ("dream-applied", "a.md"),
        ("dream-applied", "b.md"),
        ("dream-applied", "MEMORY.md"),
        ("dream-finished", "done"),
    ]
    first = {key: lines[0][key] for key in ("project", "dream", "how", "cause", "memories")}
    assert list(first.values()) == [land.root, 1, "embedded", "asked", 3]
    deeds = [line["deed"] for line in lines if line["event"] == "dream-applied"]
    assert deeds == ["changed", "retired", "index"]
    last = {name for name in lines[-1] if name not in {"event", "log_level", "seconds"}}
    assert last == {"dream", "project", "state", "changed", "retired"}  # nothing that is 0 or empty
    assert "pnpm" not in json.dumps(lines)


async def test_a_dream_that_is_not_applied_names_no_file_as_changed(land: Dreamland) -> None:
    two_of_a_kind(land)
    with capture_logs() as lines:
        async with land.awake():
            await land.dream(dry_run=True)
    events = [line["event"] for line in lines]
    assert "dream-file" in events
    assert "dream-applied" not in events


async def test_the_events_tell_the_same(land: Dreamland) -> None:
    two_of_a_kind(land)
    async with land.awake():
        dream = await land.dream()
    assert [kind for kind in land.kinds() if kind.startswith("dream/")] == [
        "dream/started",
        *["dream/phase"] * 3,
        "dream/file",
        "dream/phase",
        "dream/finished",
    ]
    for event in land.events:
        assert event.project == land.root
    finished = data_of(land.events, "dream/finished")[0]
    assert (finished["dream"], finished["changed"], finished["retired"]) == (dream.id, 1, 1)


async def test_status_of_all_projects_says_what_is_next(land: Dreamland) -> None:
    two_of_a_kind(land)
    async with land.awake():
        await land.dream()
        (status,) = land.dreamer.statuses()
    assert status.project == land.root
    assert "not now: the last dream was less than an hour ago; may dream after" in status.message
