"""kill -9 at a hundred points of a dream: all of it happened, or nothing did."""

import os
import shutil
import time
from functools import partial
from pathlib import Path

import anyio
import pytest

from memoryd import topics
from tests.dreamland import DAY, HOUR, Dreamland, two_of_a_kind
from tests.faults import count_calls, killed_at

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


def test_a_kill_at_any_of_a_hundred_points_loses_nothing_and_skips_no_night(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, saved = tmp_path / "sleeper", tmp_path / "saved"
    land = prepared(home)
    before = land.tree()
    shutil.copytree(home, saved)
    deed = partial(one_dream, home, land.now)
    calls = count_calls(monkeypatch, deed)
    after = land.tree()
    assert before != after
    outcomes = []
    for kill in range(KILLS):
        shutil.rmtree(home)
        shutil.copytree(saved, home)
        killed_at(monkeypatch, 1 + kill * calls // KILLS, deed, after=bool(kill % 2))
        dreams_again = kill % DREAMT_AGAIN_AFTER_EVERY == 0
        outcomes.append(anyio.run(outcome_of_kill, home, land.now, (before, after), dreams_again))
    assert set(outcomes) == {"as before", "done"}
    assert calls > KILLS


async def outcome_of_kill(
    home: Path, now: float, trees: tuple[str, str], dreams_again: bool
) -> str:
    """What a restarted daemon finds; every promise is checked here."""
    land = Dreamland(home, now=now)
    before, after = trees
    async with land.awake():
        assert land.book.unfinished() == []
        for path in land.memory.glob("*.md"):
            assert topics.parse(path.read_text()).body
        gate = land.dreamer.status(land.root).gate
        if land.tree() == before:
            assert land.lock.stat().st_mtime == now - 2 * DAY
            assert gate in {"", "rest"}  # the night is still to come
            outcome = "as before"
            if dreams_again:
                land.pass_time(HOUR + 1)
                await land.dream(force=False)
        else:
            assert gate == "hours"
            outcome = "done"
        if outcome == "done" or dreams_again:
            assert land.tree() == after
            assert land.dreamer.undo(land.root).left == []
            assert land.tree() == before
    assert land.copies() == []
    land.state.close()
    return outcome
