"""kill -9 at a hundred points of a dream: all of it happened, or nothing did."""

import os
import shutil
import time
from functools import partial
from pathlib import Path

import anyio
import pytest

from memoryd.memories.rules import topics
from tests.support import fault_injection
from tests.support.dream_fixtures import DAY, HOUR, Dreamland, tree_hash, two_of_a_kind
from tests.support.fault_injection import count_calls, killed_at
from tests.support.thinning import thinned

KILLS = 100
DREAMT_AGAIN_AFTER_EVERY = 10


def prepared(home: Path) -> Dreamland:
    land = Dreamland(home, now=time.time())
    two_of_a_kind(land)
    land.remember("d.md", "The demo is tomorrow.", type="project", name="Demo")
    land.have_sessions(9)
    land.lock.write_text("999999999")
    os.utime(land.lock, (land.now - 2 * DAY,) * 2)
    land.state.close()
    return land


def one_dream(home: Path, now: float) -> None:
    async def dream() -> None:
        land = Dreamland(home, now=now)
        async with land.awake():
            await land.dream(force=False)
        land.state.close()

    anyio.run(dream)


class Bed:
    """A prepared home that is made anew for each kill, and what a whole dream makes of it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home, self._saved = folder / "sleeper", folder / "saved"
        self._patch = monkeypatch
        land = prepared(self.home)
        self.now = land.now
        self.before = land.tree()
        shutil.copytree(self.home, self._saved)
        self.deed = partial(one_dream, self.home, self.now)
        self._restore()  # young files are read more often, as they will be before each kill
        self.calls = count_calls(monkeypatch, self.deed)
        self.after = land.tree()
        assert self.before != self.after

    def kill(self, number: int, *, after: bool) -> None:
        """A dream that dies at the n-th of the calls that are counted."""
        self._restore()
        killed_at(self._patch, number, self.deed, after=after)

    def _restore(self) -> None:
        shutil.rmtree(self.home)
        shutil.copytree(self._saved, self.home)

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
    bed = Bed(tmp_path, monkeypatch)
    assert bed.calls > KILLS
    outcomes = set()
    for kill in thinned(range(KILLS)):
        bed.kill(1 + kill * bed.calls // KILLS, after=bool(kill % 2))
        outcomes.add(bed.outcome(dreams_again=kill % DREAMT_AGAIN_AFTER_EVERY == 0))
    bed.kill(2 * bed.calls, after=False)  # beyond its last call: this one ends
    assert outcomes | {bed.outcome()} == {"as before", "done"}


def test_so_does_a_kill_around_each_change_of_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fault_injection, "CALLS", ("ftruncate", "pwrite", "utime"))
    monkeypatch.setattr(fault_injection, "FaultyLibc", lambda real, _before: real)
    bed = Bed(tmp_path, monkeypatch)
    for number in range(1, bed.calls + 1):
        bed.kill(number, after=False)
        bed.outcome()


def test_a_kill_during_the_recovery_is_recovered_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fault_injection, "CALLS", ("rename", "utime"))
    bed = Bed(tmp_path, monkeypatch)
    half_applied = next(number for number in range(bed.calls, 0, -1) if bed.is_torn_by(number))

    def recovery() -> None:
        land = Dreamland(bed.home, now=bed.now)
        land.dreamer._recover()
        land.state.close()

    was_acknowledged, number = False, 0
    while not was_acknowledged:
        number += 1
        bed.kill(half_applied, after=False)
        was_acknowledged = killed_at(monkeypatch, number, recovery, after=False)
        assert bed.outcome() == "as before"
    assert number > 5


async def outcome_of_kill(bed: Bed, dreams_again: bool) -> str:
    """What a restarted daemon finds; every promise is checked here."""
    land = Dreamland(bed.home, now=bed.now)
    async with land.awake():
        assert land.book.unfinished() == []
        for path in land.memory.glob("*.md"):
            assert topics.parse(path.read_text()).body
        gate = land.dreamer.status(land.root).gate
        if land.tree() == bed.before:
            assert land.lock.stat().st_mtime == bed.now - 2 * DAY
            assert gate in {"", "rest"}  # the night is still to come
            outcome = "as before"
            if dreams_again:
                land.pass_time(HOUR + 1)
                await land.dream(force=False)
        else:
            assert gate == "hours"
            outcome = "done"
        if outcome == "done" or dreams_again:
            assert land.tree() == bed.after
            assert land.dreamer.undo(land.root).left == []
            assert land.tree() == bed.before
    assert land.copies() == []
    land.state.close()
    return outcome
