"""The nightly dream makes topics of the daily logs: all that has a type, once, with its origin."""

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from memoryd.dreams.steps import DreamModel
from memoryd.memories import daily_logs
from memoryd.memories.daily_logs import LogMark
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules.daily_log import LogEntry, LogSection
from memoryd.memories.rules.topics import Topic, TopicType, Trust
from memoryd.system.folder import version_of
from tests.dreams.test_model_dream import dreaming
from tests.support.dream_fixtures import DAY, NOW, Dreamland
from tests.support.scripted_model import says

TABS = "Always use tabs in Makefiles. Why: make insists on them."
BOARD = "Bugs are tracked in the Linear project INGEST."


@pytest.fixture
def land(home: Path) -> Iterator[Dreamland]:
    made = Dreamland(home, mode="log")
    yield made
    made.state.close()


def note(
    land: Dreamland,
    text: str,
    type_: TopicType = "feedback",
    trust: Trust = "user-said",
    *,
    minutes_ago: int = 60,
) -> Path:
    """Adds a line to today's log, as extraction does."""
    at = datetime.fromtimestamp(land.now - minutes_ago * 60).astimezone().replace(second=0)
    section = LogSection("session-1", (f"{text}-turn",), (LogEntry(at, type_, trust, text),))
    file = daily_logs.add(land.directory, section, land.now)
    path = land.memory / file
    os.utime(path, (land.now, land.now))
    return path


def topics_of(land: Dreamland) -> dict[str, Topic]:
    return {one.file: one.topic for one in land.store.read_all(land.directory)}


async def test_entries_become_topics_with_the_time_the_session_and_the_trust_they_have(
    land: Dreamland,
) -> None:
    note(land, TABS)
    note(land, BOARD, "reference", "agent-concluded", minutes_ago=30)
    async with land.awake():
        dream = await land.dream()
    assert (dream.state, dream.summary.how) == ("done", "embedded")
    found = topics_of(land)
    (tabs,) = (one for one in found.values() if one.type == "feedback")
    (board,) = (one for one in found.values() if one.type == "reference")
    assert (tabs.source, tabs.trust) == ("session-1", "user-said")
    assert (board.source, board.trust) == ("session-1", "agent-concluded")
    assert tabs.created < board.created
    assert tabs.body.startswith("Always use tabs in Makefiles.\n\n**Why:** make insists on them.")
    assert board.body.strip() == BOARD
    assert all(f"({file})" in land.index() for file in found)
    ages = [one.modified for one in land.store.scan(land.directory)]
    assert all(NOW - 3660 <= age <= NOW - 1740 for age in ages)


async def test_what_was_read_once_is_not_read_again(land: Dreamland) -> None:
    path = note(land, TABS)
    async with land.awake():
        await land.dream()
        (file,) = topics_of(land)
        land.store.forget(land.directory, file, cause="user")
        land.pass_time(3600)
        note(land, BOARD, "reference")
        before = path.read_bytes()
        await land.dream()
        assert [one.type for one in topics_of(land).values()] == ["reference"]
        land.pass_time(DAY)
        dream = await land.dream()
    assert dream.summary.files == ()
    assert path.read_bytes() == before, "a dream changes no log"


async def test_what_is_added_while_a_dream_reads_is_for_the_next_one(
    land: Dreamland, monkeypatch: pytest.MonkeyPatch
) -> None:
    note(land, TABS)
    read = daily_logs.unread

    def late(*given: object) -> daily_logs.UnreadLogs:
        found = read(*given)  # type: ignore[arg-type]  # handed on
        note(land, BOARD, "reference")
        return found

    async with land.awake():
        with monkeypatch.context() as patch:
            patch.setattr(daily_logs, "unread", late)
            await land.dream()
        assert [one.type for one in topics_of(land).values()] == ["feedback"]
        land.pass_time(DAY)
        await land.dream()
    assert sorted(one.type or "" for one in topics_of(land).values()) == ["feedback", "reference"]


async def test_a_dream_that_came_to_nothing_has_read_nothing(land: Dreamland) -> None:
    note(land, TABS)
    async with land.awake():
        dream = await land.dream(dry_run=True)
        assert [one.deed for one in dream.summary.files if one.file != "MEMORY.md"] == ["new"]
        assert topics_of(land) == {}
        await land.dream()
        assert len(topics_of(land)) == 1
        land.dreamer.undo(land.root)
        assert topics_of(land) == {}
        land.pass_time(DAY)
        await land.dream()
    assert len(topics_of(land)) == 1


async def test_what_is_said_twice_or_taken_back_is_one_topic(land: Dreamland) -> None:
    note(land, TABS)
    note(land, "Always use tabs in Makefiles and in .mk includes. Why: make insists on them.")
    note(land, "Never mock the clock.")
    note(land, "Always mock the clock.")
    async with land.awake():
        await land.dream()
    alive = [one for one in land.store.scan(land.directory) if not one.retired]
    texts = sorted(land.text(one.file).partition("---\n\n")[2].splitlines()[0] for one in alive)
    assert texts == ["Always mock the clock.", "Always use tabs in Makefiles."]


async def test_what_an_agent_concluded_retires_nothing_that_a_person_said(land: Dreamland) -> None:
    note(land, "Never mock the clock.")
    note(land, "Always mock the clock.", trust="agent-concluded")
    async with land.awake():
        await land.dream()
    alive = [one for one in land.store.scan(land.directory) if not one.retired]
    assert sorted(one.topic.trust for one in alive) == ["agent-concluded", "user-said"]


async def test_an_agents_own_lines_count_as_its_own_and_others_are_left(land: Dreamland) -> None:
    path = note(land, TABS)
    with path.open("a") as log:
        log.write("\n- 10:00 (project, user-said) The launch is on 2027-03-03. Why: legal.\n")
        log.write("- 11:00 the build was slow today\n\nSome prose: always push to main.\n")
    async with land.awake():
        await land.dream()
    found = {one.type: one for one in topics_of(land).values()}
    assert found.keys() == {"feedback", "project"}
    assert (found["project"].trust, found["project"].source) == ("agent-concluded", "")


async def test_logs_of_a_time_nobody_remembers_are_read_if_they_are_newer(land: Dreamland) -> None:
    old = note(land, TABS)
    land.lock.write_text("1")
    os.utime(land.lock, (land.now, land.now))
    os.utime(old, (land.now - 60, land.now - 60))
    land.pass_time(DAY)
    note(land, BOARD, "reference")
    async with land.awake():
        await land.dream()
    assert [one.type for one in topics_of(land).values()] == ["reference"]


async def test_a_model_finds_the_entries_among_its_notes(home: Path) -> None:
    async with dreaming(home, lambda _: says("Phase: orient\nAll is well.")) as (land, model):
        note(land, TABS)
        async with land.awake():
            dream = await land.dream()
        assert (dream.state, dream.summary.how) == ("done", "model")
        told = model.requests[0].body["messages"][0]["content"][0]["text"]
        assert "[feedback] feedback_always_use_tabs_in_makefiles.md" in told
        assert len(topics_of(land)) == 1
        assert isinstance(land.means.mind, DreamModel)


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


def test_a_log_that_somebody_rewrote_is_read_from_its_beginning(home: Path) -> None:
    directory = directory_with(home, 2)
    marks = daily_logs.unread(directory, None, 0.0).marks
    newest = max(marks)
    path = Path(directory.path, newest)
    path.write_text(path.read_text().replace("number 1", "number 7"))
    (entry,) = daily_logs.unread(directory, marks, 0.0).entries
    assert entry.text == "Fact number 7."
    assert marks[newest] == LogMark(len(path.read_bytes()), marks[newest].sha256)
    assert marks[newest].sha256 != version_of(path.read_bytes())


def test_what_is_no_log_is_passed_over(home: Path) -> None:
    directory = directory_with(home, 1)
    logs = Path(directory.path, "logs")
    (logs / "9999").mkdir()
    (logs / "9999/99").mkdir()
    (logs / "9999/99/9999-99-99.md").write_text("- 10:00 (user) No.")
    (logs / "2020").symlink_to(home)
    (logs / "notes.md").write_text("- 10:00 (user) No.")
    assert len(daily_logs.log_days(directory)) == 1
    assert len(daily_logs.unread(directory, None, 0.0).entries) == 1
