"""When a project dreams, whatever happens to clocks, locks and sessions."""

import json
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import msgspec
import pytest

from memoryd.base.config import DreamSettings
from memoryd.base.errors import Refused, StorageError, Unavailable
from memoryd.base.timestamps import iso_time
from memoryd.dreams.apply import Applier
from memoryd.dreams.consolidate import Consolidation
from memoryd.dreams.dream_table import DreamCause, DreamState, Summary
from memoryd.dreams.lock import NOTHING, ConsolidateLock
from tests.support.dream_fixtures import DAY, HOUR, NOW, DreamProject, data_of, two_of_a_kind, until
from tests.support.thinning import hardest


@pytest.fixture
def project(home: Path) -> Iterator[DreamProject]:
    made = DreamProject(home)
    yield made
    made.database.close()


def past_dream(project: DreamProject, state: DreamState, cause: DreamCause = "schedule") -> None:
    """A dream that ended just now, according to the table."""
    number = project.table.begin(
        project.directory, project.root, cause=cause, at=project.now, lock=NOTHING
    )
    project.table.end(number, state, at=project.now, summary=Summary())


# --- gates and clocks ----------------------------------------------------------------------------


async def test_each_gate_says_why_it_is_closed(project: DreamProject) -> None:
    async with project.running():
        assert project.dreamer.status(project.root).gate == "memories"
        project.remember("team/theirs.md", "Theirs.")
        project.remember("MEMORY.md", "Nothing yet.")
        assert project.dreamer.status(project.root).gate == "memories"  # none of its own
        two_of_a_kind(project)
        project.have_sessions(4)
        status = project.dreamer.status(project.root)
        assert (status.gate, status.reason) == (
            "sessions",
            "4 of 5 sessions before the first dream",
        )
        assert status.message == (
            f"{project.root}: no dream yet; the first one starts after 5 sessions (4 so far)."
            " Now: memoryd dream --now"
        )
        project.have_sessions(5)
        assert project.dreamer.status(project.root).gate == "sessions"  # the count is not due
        project.pass_time(601)
        assert project.dreamer.status(project.root).is_open
        await project.dream(force=False)
        status = project.dreamer.status(project.root)
        assert (status.gate, status.opens_at) == ("hours", iso_time(project.now + DAY))
        with pytest.raises(Refused) as refusal:
            await project.dream(force=False)
        assert "--now" in refusal.value.hint
        project.scopes.switch(project.root, enabled=False)
        assert project.dreamer.status(project.root).gate == "switch"
        with pytest.raises(Refused):
            await project.dream(force=True)


async def test_sessions_still_going_on_do_not_count(project: DreamProject) -> None:
    two_of_a_kind(project)
    project.have_sessions(5)
    registry = Path(project.places.claude_dir) / "sessions"
    registry.mkdir()
    entry = {"pid": os.getpid(), "sessionId": "00000002-0000-4000-8000-000000000000"}
    (registry / "1.json").write_text(json.dumps(entry))
    dead = entry | {"pid": 2**22 + 7, "sessionId": "00000003-0000-4000-8000-000000000000"}
    (registry / "2.json").write_text(json.dumps(dead))
    recycled = entry | {"procStart": "1", "sessionId": "00000004-0000-4000-8000-000000000000"}
    (registry / "3.json").write_text(json.dumps(recycled))
    (registry / "4.json").write_text("{")
    folder = Path(project.sessions.folder(project.root))
    os.utime(folder / "00000001-0000-4000-8000-000000000000.jsonl", (project.now - 60,) * 2)
    found = project.sessions.touched(project.root, 0.0, project.now)
    assert sorted(Path(one.path).name[7] for one in found) == ["0", "3", "4"]


async def test_in_log_mode_a_new_daily_log_opens_the_gate(home: Path) -> None:
    project = DreamProject(home, mode="log")
    two_of_a_kind(project)
    async with project.running():
        assert project.dreamer.status(project.root).gate == "logs"
        log = project.memory / "logs/2027/01/2027-01-15.md"
        log.parent.mkdir(parents=True)
        log.write_text("- said something\n")
        project.pass_time(601)
        assert project.dreamer.status(project.root).is_open
        dream = await project.dream(force=False)
    assert dream.summary.daily_logs == 1
    project.database.close()


async def test_the_end_of_a_turn_wakes_the_dreamer(project: DreamProject) -> None:
    two_of_a_kind(project)
    project.have_sessions(5)
    async with project.running():
        project.dreamer.turn_ended(project.root)
        await until(project.has_dreamt)
    assert data_of(project.events, "dream/started")[0]["cause"] == "schedule"


class Month(msgspec.Struct, frozen=True):
    """Thirty days and what happens to the clock; `jumps` are by the day on which it is set."""

    jumps: dict[float, float] = {}
    stamp: float | None = None
    """The lock's time at the beginning."""
    naps_hours: float = 0.0
    """How long the machine sleeps every evening."""
    restarts_days: tuple[float, ...] = ()


class Sleeper:
    """Sleeps by moving the clocks, so that a month passes at once; then the dreamer ends."""

    def __init__(self, project: DreamProject, month: Month, began: float, ends: float) -> None:
        self._land = project
        self._naps_hours = month.naps_hours
        self._until = ends
        self._jumps = {began + day * DAY: seconds for day, seconds in month.jumps.items()}
        self._jumps = {at: by for at, by in self._jumps.items() if project.real < at <= ends}
        self.over = anyio.Event()

    async def sleep(self, seconds: float) -> None:
        project = self._land
        evening = project.real // DAY
        project.pass_time(seconds)
        if project.real // DAY > evening:
            project.pass_time(self._naps_hours * HOUR)
        for at in [at for at in self._jumps if project.real >= at]:
            project.now += self._jumps.pop(at)
        if project.real >= self._until:
            self.over.set()
            await anyio.sleep_forever()


def take_a_while(projects: list[DreamProject]) -> None:
    """Called in the middle of a dream."""
    projects[0].pass_time(40)


async def dreams_in(home: Path, month: Month) -> list[float]:
    """When each dream of the month was, in real time."""
    now, began = NOW, 1000.0
    real, times = began, list[float]()
    for day in (*month.restarts_days, 30):
        projects: list[DreamProject] = []
        project = DreamProject(
            home,
            dream=DreamSettings(min_sessions=0),
            now=now,
            real=real,
            load_similarity=partial(take_a_while, projects),
        )
        projects.append(project)
        if not times:
            project.remember("a.md", "Use tabs.")
            past_dream(project, "previewed", cause="dry-run")  # makes the project known
            if month.stamp is not None:
                project.lock.write_text("999999999")
                os.utime(project.lock, (month.stamp, month.stamp))
        sleeper = Sleeper(project, month, began, began + day * DAY)
        project.dreamer._sleep = sleeper.sleep
        async with project.running():
            with anyio.fail_after(300):
                await sleeper.over.wait()
        now, real = project.now, project.real
        times += project.dreamt_at
        project.database.close()
    return times


MONTHS = {
    "steady": Month(),
    "ten days back": Month(jumps={10.5: -10 * DAY}),
    "four hundred days ahead": Month(jumps={10.5: 400 * DAY}),
    "summer time": Month(jumps={10.5: HOUR, 20.5: -HOUR}),
    "stamped in the future": Month(stamp=NOW + 400 * DAY),
    "stamped with nothing": Month(stamp=0.0),
    "asleep every evening": Month(naps_hours=9.5),
    "restarted when the clock is set": Month(
        jumps={9.5: 400 * DAY, 19.5: -410 * DAY}, restarts_days=(3.1, 9.5, 9.6, 19.5, 22.0)
    ),
}


@pytest.mark.parametrize("name", hardest(list(MONTHS)))
async def test_thirty_days_bring_thirty_dreams_whatever_the_clock_does(
    home: Path, name: str
) -> None:
    times = await dreams_in(home, MONTHS[name])
    assert 29 <= len(times) <= 31
    assert all(later - earlier >= DAY for earlier, later in pairwise(times))


async def test_a_machine_that_slept_dreams_once_when_it_wakes(project: DreamProject) -> None:
    project.remember("a.md", "Use tabs.")
    past_dream(project, "done")
    project.have_sessions(9, hours_ago=-1)
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        project.pass_time(3 * DAY)  # the machine slept
        if len(waits) == 3:
            await anyio.sleep_forever()

    project.dreamer._sleep = sleep
    async with project.running():
        await until(project.has_dreamt)
    assert project.kinds().count("dream/finished") == 1
    assert max(waits) <= 60  # it checks the clock again soon, not only after half an hour


async def test_a_failed_dream_is_not_tried_again_at_once(project: DreamProject) -> None:
    two_of_a_kind(project)
    project.have_sessions(9)
    async with project.running():
        for rest_hours in (1, 2, 4):
            past_dream(project, "failed")
            status = project.dreamer.status(project.root)
            assert status.gate == "rest"
            assert status.opens_at == iso_time(project.now + rest_hours * HOUR)
            project.pass_time(rest_hours * HOUR)
            assert project.dreamer.status(project.root).is_open


# --- lock ---------------------------------------------------------------------------------------


async def test_the_lock_has_our_pid_and_the_time_of_the_dream(
    project: DreamProject,
) -> None:
    two_of_a_kind(project)
    async with project.running():
        await project.dream()
    assert project.lock.read_text() == str(os.getpid())
    assert project.lock.stat().st_mtime == NOW


async def test_a_dream_of_another_process_is_respected(project: DreamProject) -> None:
    two_of_a_kind(project)
    project.lock.write_text(str(os.getppid()))
    os.utime(project.lock, (NOW - 60, NOW - 60))
    async with project.running():
        with pytest.raises(Refused, match="another dream is running"):
            await project.dream()
    assert project.table.past(project.directory.path, 9) == []
    assert project.lock.read_text() == str(os.getppid())


async def test_a_dream_between_the_check_and_the_lock_counts(
    project: DreamProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_of_a_kind(project)
    project.have_sessions(9)
    take = ConsolidateLock.take

    def just_after_another(path: str, now: float) -> ConsolidateLock | None:
        project.lock.write_text("999999999")
        os.utime(project.lock, (NOW - 1, NOW - 1))
        return take(path, now)

    async with project.running():
        monkeypatch.setattr(ConsolidateLock, "take", just_after_another)
        with pytest.raises(Refused, match="another one has just finished"):
            await project.dream(force=False)
    assert (project.lock.read_text(), project.lock.stat().st_mtime) == ("999999999", NOW - 1)
    assert project.table.past(project.directory.path, 9) == []


def stale_pointer(project: DreamProject) -> None:
    project.remember("a.md", "Use tabs.")
    (project.memory / "MEMORY.md").write_text("- [Gone](gone.md)\n")


@pytest.mark.parametrize("prepare", [two_of_a_kind, stale_pointer])
async def test_a_suspended_dream_that_lost_the_lock_applies_nothing(
    project: DreamProject, monkeypatch: pytest.MonkeyPatch, prepare: Callable[[DreamProject], None]
) -> None:
    prepare(project)
    before = project.tree()
    conclude = Consolidation._conclude
    successors = []

    def after_an_hour(consolidation: Consolidation, run: Any, copy: Any) -> None:
        os.utime(project.lock, (NOW - 4000, NOW - 4000))
        successors.append(ConsolidateLock.take(str(project.lock), NOW))
        conclude(consolidation, run, copy)

    monkeypatch.setattr(Consolidation, "_conclude", after_an_hour)
    async with project.running():
        dream = await project.dream()
    assert (dream.state, project.tree()) == ("failed", before)
    assert "took over" in dream.reason
    (successor,) = successors
    assert successor is not None
    assert successor.is_ours()
    successor.roll_back()


async def test_a_dream_that_loses_the_lock_half_way_is_reverted(
    project: DreamProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_of_a_kind(project)
    project.remember("d.md", "The demo is tomorrow.", type="project")
    before = project.tree()
    write = Applier._write
    written = []

    def then_lose_it(applier: Applier, directory: Any, file: str, old: Any, new: Any) -> bool:
        written.append(file)
        project.lock.unlink(missing_ok=True)
        return write(applier, directory, file, old, new)

    monkeypatch.setattr(Applier, "_write", then_lose_it)
    async with project.running():
        dream = await project.dream()
    assert written == [".retired/b.md"]
    assert (dream.state, project.tree()) == ("failed", before)


async def test_a_failure_restores_the_time_of_the_lock(
    project: DreamProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_of_a_kind(project)
    project.lock.write_text("999999999")
    os.utime(project.lock, (NOW - 2 * DAY, NOW - 2 * DAY))
    before = project.tree()

    def full_disk(*_: object, **__: object) -> None:
        raise StorageError("/m", "write", OSError(28, "No space left on device"))

    monkeypatch.setattr(project.store, "put_back", full_disk)
    async with project.running():
        dream = await project.dream()
        assert dream.state == "failed"
        assert "No space left" in dream.reason
        assert project.lock.stat().st_mtime == NOW - 2 * DAY
        assert project.tree() == before
        monkeypatch.undo()
        assert (await project.dream()).state == "done"


def test_of_two_dreamers_for_one_directory_only_one_dreams(home: Path) -> None:
    project = DreamProject(home, now=time.time())  # so that a lock written now is not an hour old
    two_of_a_kind(project)
    project.have_sessions(9)
    other = DreamProject(home, now=project.now, state_home="other/state")
    results: list[str] = []

    async def both() -> None:
        async with project.running(), other.running(), anyio.create_task_group() as tasks:
            for one in (project, other):
                tasks.start_soon(attempt, one)

    async def attempt(one: DreamProject) -> None:
        try:
            results.append((await one.dream(force=False)).state)
        except (Refused, Unavailable):
            results.append("no")

    anyio.run(both)
    assert sorted(results) == ["done", "no"]
    project.database.close()
    other.database.close()
