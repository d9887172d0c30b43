"""When a project dreams, whatever clocks, locks and sessions do."""

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
from memoryd.dreams import run as dream_run
from memoryd.dreams.apply import Applier
from memoryd.dreams.dream_table import DreamCause, DreamState, Summary
from memoryd.dreams.lock import NOTHING, ConsolidateLock
from memoryd.memories.rules import topics
from tests.support.dream_fixtures import DAY, HOUR, NOW, Dreamland, data_of, two_of_a_kind, until
from tests.support.thinning import thinned


@pytest.fixture
def land(home: Path) -> Iterator[Dreamland]:
    made = Dreamland(home)
    yield made
    made.state.close()


def past_dream(land: Dreamland, state: DreamState, cause: DreamCause = "schedule") -> None:
    """One that ended a moment ago, as far as the book knows."""
    number = land.book.begin(land.directory, land.root, cause=cause, at=land.now, lock=NOTHING)
    land.book.end(number, state, at=land.now, summary=Summary())


# --- gates and clocks ----------------------------------------------------------------------------


async def test_each_gate_says_why_it_is_closed(land: Dreamland) -> None:
    async with land.awake():
        assert land.dreamer.status(land.root).gate == "memories"
        land.remember("team/theirs.md", "Theirs.")
        land.remember("MEMORY.md", "Nothing yet.")
        assert land.dreamer.status(land.root).gate == "memories"  # nothing that is its own
        two_of_a_kind(land)
        land.have_sessions(4)
        status = land.dreamer.status(land.root)
        assert (status.gate, status.reason) == (
            "sessions",
            "4 of 5 sessions since the last dream",
        )
        land.have_sessions(5)
        assert land.dreamer.status(land.root).gate == "sessions"  # looked not ten minutes ago
        land.pass_time(601)
        assert land.dreamer.status(land.root).is_open
        await land.dream(force=False)
        status = land.dreamer.status(land.root)
        assert (status.gate, status.opens_at) == ("hours", topics.iso_time(land.now + DAY))
        with pytest.raises(Refused) as refusal:
            await land.dream(force=False)
        assert "--now" in refusal.value.hint
        land.scopes.switch(land.root, enabled=False)
        assert land.dreamer.status(land.root).gate == "switch"
        with pytest.raises(Refused):
            await land.dream(force=True)


async def test_sessions_that_are_going_on_are_no_other_sessions(land: Dreamland) -> None:
    two_of_a_kind(land)
    land.have_sessions(5)
    registry = Path(land.places.claude_dir) / "sessions"
    registry.mkdir()
    entry = {"pid": os.getpid(), "sessionId": "00000002-0000-4000-8000-000000000000"}
    (registry / "1.json").write_text(json.dumps(entry))
    dead = entry | {"pid": 2**22 + 7, "sessionId": "00000003-0000-4000-8000-000000000000"}
    (registry / "2.json").write_text(json.dumps(dead))
    recycled = entry | {"procStart": "1", "sessionId": "00000004-0000-4000-8000-000000000000"}
    (registry / "3.json").write_text(json.dumps(recycled))
    (registry / "4.json").write_text("{")
    folder = Path(land.means.sessions.folder(land.root))
    os.utime(folder / "00000001-0000-4000-8000-000000000000.jsonl", (land.now - 60,) * 2)
    found = land.means.sessions.touched(land.root, 0.0, land.now)
    assert sorted(Path(one.path).name[7] for one in found) == ["0", "3", "4"]


async def test_in_log_mode_a_fresh_daily_log_is_what_counts(home: Path) -> None:
    land = Dreamland(home, mode="log")
    two_of_a_kind(land)
    async with land.awake():
        assert land.dreamer.status(land.root).gate == "logs"
        log = land.memory / "logs/2027/01/2027-01-15.md"
        log.parent.mkdir(parents=True)
        log.write_text("- said something\n")
        land.pass_time(601)
        assert land.dreamer.status(land.root).is_open
        dream = await land.dream(force=False)
    assert dream.summary.daily_logs == 1
    land.state.close()


async def test_the_end_of_a_turn_wakes_the_dreamer(land: Dreamland) -> None:
    two_of_a_kind(land)
    land.have_sessions(5)
    async with land.awake():
        land.dreamer.turn_ended(land.root)
        await until(land.has_dreamt)
    assert data_of(land.events, "dream/started")[0]["cause"] == "schedule"


class Month(msgspec.Struct, frozen=True):
    """Thirty days and what is wrong with them; `jumps` are by the day on which a clock is set."""

    jumps: dict[float, float] = {}
    stamp: float | None = None
    """The lock's time at the beginning."""
    naps_hours: float = 0.0
    """How long the lid is shut every evening."""
    restarts_days: tuple[float, ...] = ()


class Sleeper:
    """Sleeps by moving the clocks, so that a month passes at once; then the dreamer's life ends."""

    def __init__(self, land: Dreamland, month: Month, began: float, ends: float) -> None:
        self._land = land
        self._naps_hours = month.naps_hours
        self._until = ends
        self._jumps = {began + day * DAY: seconds for day, seconds in month.jumps.items()}
        self._jumps = {at: by for at, by in self._jumps.items() if land.real < at <= ends}
        self.over = anyio.Event()

    async def sleep(self, seconds: float) -> None:
        land = self._land
        evening = land.real // DAY
        land.pass_time(seconds)
        if land.real // DAY > evening:
            land.pass_time(self._naps_hours * HOUR)
        for at in [at for at in self._jumps if land.real >= at]:
            land.now += self._jumps.pop(at)
        if land.real >= self._until:
            self.over.set()
            await anyio.sleep_forever()


def take_a_while(lands: list[Dreamland]) -> None:
    """Called in the middle of a dream."""
    lands[0].pass_time(40)


async def dreams_in(home: Path, month: Month) -> list[float]:
    """When each dream of the month was, by time that nobody can set."""
    now, began = NOW, 1000.0
    real, times = began, list[float]()
    for day in (*month.restarts_days, 30):
        lands: list[Dreamland] = []
        land = Dreamland(
            home,
            dream=DreamSettings(min_sessions=0),
            now=now,
            real=real,
            similarity=partial(take_a_while, lands),
        )
        lands.append(land)
        if not times:
            land.remember("a.md", "Use tabs.")
            past_dream(land, "previewed", cause="dry-run")  # from now on the project is known
            if month.stamp is not None:
                land.lock.write_text("999999999")
                os.utime(land.lock, (month.stamp, month.stamp))
        sleeper = Sleeper(land, month, began, began + day * DAY)
        land.dreamer._sleep = sleeper.sleep
        async with land.awake():
            with anyio.fail_after(300):
                await sleeper.over.wait()
        now, real = land.now, land.real
        times += land.dreamt_at
        land.state.close()
    return times


MONTHS = {
    "steady": Month(),
    "ten days back": Month(jumps={10.5: -10 * DAY}),
    "four hundred days ahead": Month(jumps={10.5: 400 * DAY}),
    "summer time": Month(jumps={10.5: HOUR, 20.5: -HOUR}),
    "stamped in the future": Month(stamp=NOW + 400 * DAY),
    "stamped with nothing": Month(stamp=0.0),
    "shut every evening": Month(naps_hours=9.5),
    "started anew when the clock is set": Month(
        jumps={9.5: 400 * DAY, 19.5: -410 * DAY}, restarts_days=(3.1, 9.5, 9.6, 19.5, 22.0)
    ),
}


@pytest.mark.parametrize("name", thinned(list(MONTHS), every=3))
async def test_thirty_days_bring_thirty_dreams_whatever_the_clock_does(
    home: Path, name: str
) -> None:
    times = await dreams_in(home, MONTHS[name])
    assert 29 <= len(times) <= 31
    assert all(later - earlier >= DAY for earlier, later in pairwise(times))


async def test_a_machine_that_slept_dreams_once_when_it_wakes(land: Dreamland) -> None:
    land.remember("a.md", "Use tabs.")
    past_dream(land, "done")
    land.have_sessions(9, hours_ago=-1)
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        land.pass_time(3 * DAY)  # the lid was shut
        if len(waits) == 3:
            await anyio.sleep_forever()

    land.dreamer._sleep = sleep
    async with land.awake():
        await until(land.has_dreamt)
    assert land.kinds().count("dream/finished") == 1
    assert max(waits) <= 60  # it looks at the clock again soon, not only after its whole hour


async def test_a_failed_dream_is_not_tried_again_at_once(land: Dreamland) -> None:
    two_of_a_kind(land)
    land.have_sessions(9)
    async with land.awake():
        for rest_hours in (1, 2, 4):
            past_dream(land, "failed")
            status = land.dreamer.status(land.root)
            assert status.gate == "rest"
            assert status.opens_at == topics.iso_time(land.now + rest_hours * HOUR)
            land.pass_time(rest_hours * HOUR)
            assert land.dreamer.status(land.root).is_open


# --- lock ---------------------------------------------------------------------------------------


async def test_the_lock_names_us_while_we_dream_and_the_time_when_we_did(land: Dreamland) -> None:
    two_of_a_kind(land)
    async with land.awake():
        await land.dream()
    assert land.lock.read_text() == str(os.getpid())
    assert land.lock.stat().st_mtime == NOW


async def test_somebody_elses_dream_is_respected(land: Dreamland) -> None:
    two_of_a_kind(land)
    land.lock.write_text(str(os.getppid()))
    os.utime(land.lock, (NOW - 60, NOW - 60))
    async with land.awake():
        with pytest.raises(Refused, match="another dream is running"):
            await land.dream()
    assert land.book.past(land.directory.path, 9) == []
    assert land.lock.read_text() == str(os.getppid())


async def test_one_who_dreamt_between_the_look_and_the_lock_counts(
    land: Dreamland, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_of_a_kind(land)
    land.have_sessions(9)
    take = ConsolidateLock.take

    def just_after_another(path: str, now: float) -> ConsolidateLock | None:
        land.lock.write_text("999999999")
        os.utime(land.lock, (NOW - 1, NOW - 1))
        return take(path, now)

    async with land.awake():
        monkeypatch.setattr(ConsolidateLock, "take", just_after_another)
        with pytest.raises(Refused, match="somebody else"):
            await land.dream(force=False)
    assert (land.lock.read_text(), land.lock.stat().st_mtime) == ("999999999", NOW - 1)
    assert land.book.past(land.directory.path, 9) == []


def stale_pointer(land: Dreamland) -> None:
    land.remember("a.md", "Use tabs.")
    (land.memory / "MEMORY.md").write_text("- [Gone](gone.md)\n")


@pytest.mark.parametrize("prepare", [two_of_a_kind, stale_pointer])
async def test_a_frozen_dream_that_lost_the_lock_applies_nothing(
    land: Dreamland, monkeypatch: pytest.MonkeyPatch, prepare: Callable[[Dreamland], None]
) -> None:
    prepare(land)
    before = land.tree()
    conclude = dream_run.DreamRun._conclude
    successors = []

    def after_an_hour(run: Any, stage: Any) -> None:
        os.utime(land.lock, (NOW - 4000, NOW - 4000))
        successors.append(ConsolidateLock.take(str(land.lock), NOW))
        conclude(run, stage)

    monkeypatch.setattr(dream_run.DreamRun, "_conclude", after_an_hour)
    async with land.awake():
        dream = await land.dream()
    assert (dream.state, land.tree()) == ("failed", before)
    assert "took over" in dream.reason
    (successor,) = successors
    assert successor is not None
    assert successor.is_ours()
    successor.roll_back()


async def test_one_that_loses_the_lock_half_way_takes_everything_back(
    land: Dreamland, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_of_a_kind(land)
    land.remember("d.md", "The demo is tomorrow.", type="project")
    before = land.tree()
    write = Applier._write
    written = []

    def then_lose_it(applier: Applier, directory: Any, file: str, old: Any, new: Any) -> bool:
        written.append(file)
        land.lock.unlink(missing_ok=True)
        return write(applier, directory, file, old, new)

    monkeypatch.setattr(Applier, "_write", then_lose_it)
    async with land.awake():
        dream = await land.dream()
    assert written == ["a.md"]
    assert (dream.state, land.tree()) == ("failed", before)


async def test_a_failure_gives_the_lock_its_old_time_back(
    land: Dreamland, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_of_a_kind(land)
    land.lock.write_text("999999999")
    os.utime(land.lock, (NOW - 2 * DAY, NOW - 2 * DAY))
    before = land.tree()

    def full_disk(*_: object, **__: object) -> None:
        raise StorageError("/m", "write", OSError(28, "No space left on device"))

    monkeypatch.setattr(land.store, "put_back", full_disk)
    async with land.awake():
        dream = await land.dream()
        assert dream.state == "failed"
        assert "No space left" in dream.reason
        assert land.lock.stat().st_mtime == NOW - 2 * DAY
        assert land.tree() == before
        monkeypatch.undo()
        assert (await land.dream()).state == "done"


def test_of_two_dreamers_over_one_directory_one_dreams(home: Path) -> None:
    land = Dreamland(home, now=time.time())  # a lock that is written now is not an hour old
    two_of_a_kind(land)
    land.have_sessions(9)
    other = Dreamland(home, now=land.now, state_home="other/state")
    results: list[str] = []

    async def both() -> None:
        async with land.awake(), other.awake(), anyio.create_task_group() as tasks:
            for one in (land, other):
                tasks.start_soon(attempt, one)

    async def attempt(one: Dreamland) -> None:
        try:
            results.append((await one.dream(force=False)).state)
        except (Refused, Unavailable):
            results.append("no")

    anyio.run(both)
    assert sorted(results) == ["done", "no"]
    land.state.close()
    other.state.close()
