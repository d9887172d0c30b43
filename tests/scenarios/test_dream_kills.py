"""kill -9 at a hundred points of a dream: all of it happened, or nothing did.

The dream does all that dreams by rules do: it merges, makes dates absolute, retires what is
contradicted and what has ended, notes a citation that is gone, and shortens the index.
"""

import os
import re
import shutil
import time
from functools import partial
from pathlib import Path

import anyio
import pytest

from memoryd.memories.rules import topics
from memoryd.memories.rules.index import LINE_LIMIT
from tests.support import fault_injection
from tests.support.dream_fixtures import DAY, HOUR, DreamProject, tree_hash, two_of_a_kind
from tests.support.fault_injection import count_calls, killed_at
from tests.support.thinning import stride, thinned

KILLS = 100
# How many headers are read again depends on timing.
VARYING_CALLS = 120
DREAM_AGAIN_EVERY = 10
TIME = re.compile(r"\d{4}-\d\d-\d\d(T[\d:]+Z)?")


def prepared(home: Path) -> DreamProject:
    project = DreamProject(home, now=time.time())
    two_of_a_kind(project)
    project.remember("d.md", "The demo is tomorrow.", type="project", name="Demo")
    for file, day, age_days in (("old.md", "Tuesdays", 8), ("new.md", "Thursdays", 2)):
        body = f"The invoice import runs on {day}."
        project.remember(file, body, age_days=age_days, type="project", trust="user-said")
    project.remember("past.md", "The mail freeze.", type="project", valid_until="2026-01-31")
    project.remember("cites.md", "See `src/lost.py`.", name="Places", checked="2026-01-01")
    project.store.repair(project.directory)
    index = project.memory / "MEMORY.md"
    index.write_text("A person's line.\n" * (LINE_LIMIT - 3) + index.read_text())
    project.have_sessions(9)
    project.lock.write_text("999999999")
    os.utime(project.lock, (project.now - 2 * DAY,) * 2)
    project.database.close()
    return project


def one_dream(home: Path, now: float) -> None:
    async def dream() -> None:
        project = DreamProject(home, now=now)
        async with project.running():
            await project.dream(force=False)
        project.database.close()

    anyio.run(dream)


class Scenario:
    """A prepared home that is restored before each kill, and the result of a complete dream."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home, self._saved = folder / "home", folder / "saved"
        self._patch = monkeypatch
        project = prepared(self.home)
        self.now = project.now
        self.before = project.tree()
        shutil.copytree(self.home, self._saved)
        self.action = partial(one_dream, self.home, self.now)
        self._restore()
        self.calls = count_calls(monkeypatch, self.action)
        self.after = project.tree()
        self.after_later = timeless(project)
        retired = sorted(path.name for path in (project.memory / ".retired").iterdir())
        assert retired == ["b.md", "old.md", "past.md"]
        assert "gone: src/lost.py" in project.text("cites.md")
        assert "not listed here since" in project.index()

    def kill(self, number: int, *, after: bool) -> None:
        """A dream that is killed at the n-th counted call."""
        self._restore()
        killed_at(self._patch, number, self.action, after=after)

    def _restore(self) -> None:
        shutil.rmtree(self.home)
        shutil.copytree(self._saved, self.home)

    def restart_here(self) -> None:
        """From now on, the home as it is now is what is restored."""
        shutil.rmtree(self._saved)
        shutil.copytree(self.home, self._saved)

    def kill_recovery(self, number: int) -> bool:
        """Whether a recovery ended before it was killed at the n-th counted call."""
        self._restore()
        return killed_at(self._patch, number, self._recover, after=False)

    def _recover(self) -> None:
        project = DreamProject(self.home, now=self.now)
        project.dreamer._recover()
        project.database.close()

    def is_torn_by(self, number: int) -> bool:
        """Whether a kill there leaves some files changed and others not."""
        self.kill(number, after=False)
        (memory,) = self.home.glob(".claude/projects/*/memory")
        return tree_hash(memory) not in {self.before, self.after}

    def outcome(self, *, dreams_again: bool = False) -> str:
        return anyio.run(outcome_of_kill, self, dreams_again)


def test_a_kill_at_any_of_a_hundred_points_loses_nothing_and_skips_no_night(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = Scenario(tmp_path, monkeypatch)
    assert scenario.calls > KILLS
    most_calls = scenario.calls + VARYING_CALLS
    outcomes = set()
    for kill in thinned(range(KILLS)):
        scenario.kill(1 + kill * most_calls // KILLS, after=bool(kill % 2))
        outcomes.add(scenario.outcome(dreams_again=kill % DREAM_AGAIN_EVERY == 0))
    assert outcomes == {"as before", "done"}


def test_a_kill_around_each_change_of_the_lock_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fault_injection, "CALLS", ("ftruncate", "pwrite", "utime"))
    monkeypatch.setattr(fault_injection, "FaultyLibc", lambda real, _before: real)
    scenario = Scenario(tmp_path, monkeypatch)
    calls = range(1, scenario.calls + 1)
    # The lock changes at the beginning and at the end; between them, the working copy is dated.
    for number in (*calls[:5], *thinned(calls[5:-5]), *calls[-5:]):
        scenario.kill(number, after=False)
        scenario.outcome()


def test_a_kill_during_the_recovery_is_recovered_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fault_injection, "CALLS", ("rename", "utime"))
    scenario = Scenario(tmp_path, monkeypatch)
    half_applied = next(
        number for number in range(scenario.calls, 0, -1) if scenario.is_torn_by(number)
    )
    scenario.kill(half_applied, after=False)
    scenario.restart_here()
    was_acknowledged, number = False, 1
    while not was_acknowledged:
        was_acknowledged = scenario.kill_recovery(number)
        assert scenario.outcome() == "as before"
        number += stride(3)
    assert number > 5


def timeless(project: DreamProject) -> dict[str, str]:
    """The texts of the memories, without the times at which they were retired or left out."""
    return {
        str(path.relative_to(project.memory)): TIME.sub("", path.read_text())
        for path in project.memory.rglob("*.md")
    }


async def outcome_of_kill(scenario: Scenario, dreams_again: bool) -> str:
    """What a restarted daemon finds; every guarantee is checked here."""
    project = DreamProject(scenario.home, now=scenario.now)
    async with project.running():
        assert project.table.unfinished() == []
        for path in project.memory.glob("*.md"):
            assert topics.parse(path.read_text()).body
        gate = project.dreamer.status(project.root).gate
        if project.tree() == scenario.before:
            assert project.lock.stat().st_mtime == scenario.now - 2 * DAY
            assert gate in {"", "rest"}  # the dream is still due
            outcome = "as before"
            if dreams_again:
                project.pass_time(HOUR + 1)
                await project.dream(force=False)
        else:
            assert gate == "hours"
            outcome = "done"
        if outcome == "done":
            assert project.tree() == scenario.after
        if outcome == "done" or dreams_again:
            assert timeless(project) == scenario.after_later
            assert (await project.dreamer.undo(project.root)).left == []
            assert project.tree() == scenario.before
    assert project.copies() == []
    project.database.close()
    return outcome
