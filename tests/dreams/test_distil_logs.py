"""A dream turns typed entries of the daily logs into topics, once, with their origin."""

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from memoryd.memories import daily_logs
from memoryd.memories.daily_logs import LogMark
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules.daily_log import LogEntry, LogSection
from memoryd.memories.rules.topics import Topic, TopicType, Trust
from memoryd.system.folder import version_of
from tests.dreams.test_model_dream import dreaming
from tests.support.dream_fixtures import DAY, NOW, DreamProject
from tests.support.scripted_model import says

TABS = "Always use tabs in Makefiles. Why: make insists on them."
BOARD = "Bugs are tracked in the Linear project INGEST."


@pytest.fixture
def project(home: Path) -> Iterator[DreamProject]:
    made = DreamProject(home, mode="log")
    yield made
    made.database.close()


def note(
    project: DreamProject,
    text: str,
    type_: TopicType = "feedback",
    trust: Trust = "user-said",
    *,
    minutes_ago: int = 60,
) -> Path:
    """Adds a line to today's log, as extraction does."""
    at = datetime.fromtimestamp(project.now - minutes_ago * 60).astimezone().replace(second=0)
    section = LogSection("session-1", (f"{text}-turn",), (LogEntry(at, type_, trust, text),))
    file = daily_logs.add(project.directory, section, project.now)
    path = project.memory / file
    os.utime(path, (project.now, project.now))
    return path


def topics_of(project: DreamProject) -> dict[str, Topic]:
    return {one.file: one.topic for one in project.store.read_all(project.directory)}


async def test_entries_become_topics_with_their_time_session_and_trust(
    project: DreamProject,
) -> None:
    note(project, TABS)
    note(project, BOARD, "reference", "agent-concluded", minutes_ago=30)
    async with project.running():
        dream = await project.dream()
    assert (dream.state, dream.summary.how) == ("done", "embedded")
    found = topics_of(project)
    (tabs,) = (one for one in found.values() if one.type == "feedback")
    (board,) = (one for one in found.values() if one.type == "reference")
    assert (tabs.source, tabs.trust) == ("session-1", "user-said")
    assert (board.source, board.trust) == ("session-1", "agent-concluded")
    assert tabs.created < board.created
    assert tabs.body.startswith("Always use tabs in Makefiles.\n\n**Why:** make insists on them.")
    assert board.body.strip() == BOARD
    assert all(f"({file})" in project.index() for file in found)
    ages = [one.modified for one in project.store.scan(project.directory)]
    assert all(NOW - 3660 <= age <= NOW - 1740 for age in ages)


async def test_an_entry_is_read_once(project: DreamProject) -> None:
    path = note(project, TABS)
    async with project.running():
        await project.dream()
        (file,) = topics_of(project)
        project.store.forget(project.directory, file, cause="user")
        project.pass_time(3600)
        note(project, BOARD, "reference")
        before = path.read_bytes()
        await project.dream()
        assert [one.type for one in topics_of(project).values()] == ["reference"]
        project.pass_time(DAY)
        dream = await project.dream()
    assert dream.summary.files == ()
    assert path.read_bytes() == before, "a dream changes no log"


async def test_an_entry_added_during_a_dream_is_left_for_the_next(
    project: DreamProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    note(project, TABS)
    read = daily_logs.unread

    def late(*given: object) -> daily_logs.UnreadLogs:
        found = read(*given)  # type: ignore[arg-type]  # as given
        note(project, BOARD, "reference")
        return found

    async with project.running():
        with monkeypatch.context() as patch:
            patch.setattr(daily_logs, "unread", late)
            await project.dream()
        assert [one.type for one in topics_of(project).values()] == ["feedback"]
        project.pass_time(DAY)
        await project.dream()
    assert sorted(one.type or "" for one in topics_of(project).values()) == [
        "feedback",
        "reference",
    ]


async def test_a_preview_or_an_undone_dream_has_read_nothing(project: DreamProject) -> None:
    note(project, TABS)
    async with project.running():
        dream = await project.dream(dry_run=True)
        assert [one.action for one in dream.summary.files if one.file != "MEMORY.md"] == ["new"]
        assert topics_of(project) == {}
        await project.dream()
        assert len(topics_of(project)) == 1
        await project.dreamer.undo(project.root)
        assert topics_of(project) == {}
        project.pass_time(DAY)
        await project.dream()
    assert len(topics_of(project)) == 1


async def test_a_repeated_or_reversed_statement_is_one_topic(project: DreamProject) -> None:
    note(project, TABS)
    note(project, "Always use tabs in Makefiles and in .mk includes. Why: make insists on them.")
    note(project, "Never mock the clock.")
    note(project, "Always mock the clock.")
    async with project.running():
        await project.dream()
    alive = [one for one in project.store.scan(project.directory) if not one.retired]
    texts = sorted(project.text(one.file).partition("---\n\n")[2].splitlines()[0] for one in alive)
    assert texts == ["Always mock the clock.", "Always use tabs in Makefiles."]


async def test_what_an_agent_concluded_retires_nothing_that_a_person_said(
    project: DreamProject,
) -> None:
    note(project, "Never mock the clock.")
    note(project, "Always mock the clock.", trust="agent-concluded")
    async with project.running():
        await project.dream()
    alive = [one for one in project.store.scan(project.directory) if not one.retired]
    assert sorted(one.topic.trust for one in alive) == ["agent-concluded", "user-said"]


async def test_lines_an_agent_added_are_agent_concluded_and_untyped_ones_are_left(
    project: DreamProject,
) -> None:
    path = note(project, TABS)
    with path.open("a") as log:
        log.write("\n- 10:00 (project, user-said) The launch is on 2027-03-03. Why: legal.\n")
        log.write("- 11:00 the build was slow today\n\nSome prose: always push to main.\n")
    async with project.running():
        await project.dream()
    found = {one.type: one for one in topics_of(project).values()}
    assert found.keys() == {"feedback", "project"}
    assert (found["project"].trust, found["project"].source) == ("agent-concluded", "")


async def test_without_a_record_only_logs_newer_than_the_lock_are_read(
    project: DreamProject,
) -> None:
    old = note(project, TABS)
    project.lock.write_text("1")
    os.utime(project.lock, (project.now, project.now))
    os.utime(old, (project.now - 60, project.now - 60))
    project.pass_time(DAY)
    note(project, BOARD, "reference")
    async with project.running():
        await project.dream()
    assert [one.type for one in topics_of(project).values()] == ["reference"]


async def test_a_model_finds_the_entries_among_the_memories(home: Path) -> None:
    async with dreaming(home, lambda _: says("Phase: orient\nAll is well.")) as (project, model):
        note(project, TABS)
        async with project.running():
            dream = await project.dream()
        assert (dream.state, dream.summary.how) == ("done", "model")
        opening = model.requests[0].body["messages"][0]["content"][0]["text"]
        assert "[feedback] feedback_always_use_tabs_makefiles.md" in opening
        assert len(topics_of(project)) == 1


# --- how far was read -------------------------------------------------------------------------


def directory_with(home: Path, days: int) -> MemoryDirectory:
    directory = MemoryDirectory(str(home / "memory"), "project")
    for number in range(days):
        at = datetime.fromtimestamp(NOW + number * DAY).astimezone()
        entry = LogEntry(at, "project", "user-said", f"Fact number {number}.")
        daily_logs.add(directory, LogSection("s", (str(number),), (entry,)), at.timestamp())
    return directory


def test_every_log_is_read_once_however_many_there_are(home: Path) -> None:
    directory = directory_with(home, 100)
    first = daily_logs.unread(directory, None, 0.0)
    assert len(first.entries) == 100
    assert len(first.marks) == daily_logs.REMEMBERED_LOGS
    assert daily_logs.unread(directory, first.marks, 0.0).entries == ()
    assert len(daily_logs.unread(directory, {}, 0.0).entries) == 100


def test_a_rewritten_log_is_read_from_its_start(home: Path) -> None:
    directory = directory_with(home, 2)
    marks = daily_logs.unread(directory, None, 0.0).marks
    newest = max(marks)
    path = Path(directory.path, newest)
    path.write_text(path.read_text().replace("number 1", "number 7"))
    (entry,) = daily_logs.unread(directory, marks, 0.0).entries
    assert entry.text == "Fact number 7."
    assert marks[newest] == LogMark(len(path.read_bytes()), marks[newest].sha256)
    assert marks[newest].sha256 != version_of(path.read_bytes())


def test_other_files_among_the_logs_are_ignored(home: Path) -> None:
    directory = directory_with(home, 1)
    logs = Path(directory.path, "logs")
    (logs / "9999").mkdir()
    (logs / "9999/99").mkdir()
    (logs / "9999/99/9999-99-99.md").write_text("- 10:00 (user) No.")
    (logs / "2020").symlink_to(home)
    (logs / "notes.md").write_text("- 10:00 (user) No.")
    assert len(daily_logs.log_days(directory)) == 1
    assert len(daily_logs.unread(directory, None, 0.0).entries) == 1


def test_a_clock_that_was_set_west_loses_no_entry(home: Path) -> None:
    directory = directory_with(home, 1)
    marks = daily_logs.unread(directory, None, 0.0).marks
    at = datetime.fromtimestamp(NOW - DAY).astimezone()  # the local day before the first log
    entry = LogEntry(at, "project", "user-said", "Fact from further west.")
    daily_logs.add(directory, LogSection("s", ("w",), (entry,)), at.timestamp())
    (found,) = daily_logs.unread(directory, marks, NOW).entries
    assert found.text == "Fact from further west."
