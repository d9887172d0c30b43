"""Kills of the daemon and floods of files: no turn is lost and none is stored twice."""

import json
import os
import random
import signal
import sqlite3
import time
import zlib
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memoryd.system.database import Cell, Database
from memoryd.transcripts.cursor_table import CursorTable
from memoryd.transcripts.reader import TranscriptReader
from memoryd.transcripts.rules.assembler import Follower
from memoryd.transcripts.rules.cursor import differences, plan
from memoryd.transcripts.rules.turns import Turn
from memoryd.transcripts.scan import scan
from tests.support.running import Daemon, give_way
from tests.support.tail_fixtures import (
    FOLDER,
    age,
    append,
    database,
    make_reader,
    projects,
    rows,
    session,
    turns,
    write,
)
from tests.support.thinning import stride, strides
from tests.transcripts.test_recorded_sessions import ALL_FILES, ASIDE, CASES, as_scripted

pytestmark = pytest.mark.usefixtures("turns_are_held")


def stored(home: Path) -> dict[str, tuple[str, Turn | None]]:
    """State and content of every turn in the daemon's database, by id."""
    with sqlite3.connect(f"file:{database(home)}?mode=ro", uri=True) as connection:
        found = connection.execute("select id, state, packed from turns order by number").fetchall()
    connection.close()
    return {
        turn_id: (state, packed and msgspec.msgpack.decode(zlib.decompress(packed), type=Turn))
        for turn_id, state, packed in found
    }


def busy(status: dict[str, Any]) -> int:
    """What is unread, and turns that are not confirmed by silence yet."""
    return int(status["transcripts"]["behind"] + status["queue"]["waiting"])


def wait_until_caught_up(daemon: Daemon) -> None:
    """Polls the status; the time limit of the test ends a wait that never would."""
    with daemon.peer() as peer:
        while busy(peer.call("status")):
            give_way()


def scripted_turns() -> Iterator[tuple[str, dict[str, Any]]]:
    """By id, what expected.json says of each turn that has an end; a copy counts once."""
    for case in sorted(CASES.glob("c*")):
        for name, expected in json.loads((case / "expected.json").read_bytes())["sessions"].items():
            follower = Follower()
            events = follower.feed(ALL_FILES[f"{case.name}/{name[:8]}"].read_bytes())
            ended = [one for one in events + follower.settle() if isinstance(one, Turn)]
            for turn, outline in zip(ended, expected, strict=False):
                if "copied_from" not in outline:
                    yield turn.id, {k: v for k, v in outline.items() if k not in ASIDE}


def test_what_the_real_client_wrote_gives_what_was_scripted(daemon: Daemon, home: Path) -> None:
    daemon.start()
    for name, path in ALL_FILES.items():
        there = projects(home) / path.parent.name / path.name
        there.parent.mkdir(exist_ok=True)
        there.write_bytes(path.read_bytes())
        age(there)
        assert name
    expected = dict(scripted_turns())
    wait_until_caught_up(daemon)
    found = stored(home)
    assert found.keys() >= expected.keys()
    abandoned = {turn_id for turn_id, (state, _) in found.items() if state == "abandoned"}
    assert abandoned == {key for key, outline in expected.items() if outline.get("abandoned")}
    for turn_id, outline in expected.items():
        turn = found[turn_id][1]
        assert turn is None or as_scripted(turn, abandoned) == outline
    assert sum(turn is None for _, turn in found.values()) == len(abandoned)
    everything = {
        event.id
        for path in ALL_FILES.values()
        for event in Follower().feed(path.read_bytes() + b"\n")
        if isinstance(event, Turn)
    }
    assert found.keys() >= everything


def test_the_status_is_honest_from_the_first_byte_on(daemon: Daemon, home: Path) -> None:
    daemon.start()
    path = projects(home) / FOLDER / "s.jsonl"
    path.parent.mkdir()
    with daemon.peer() as peer:
        assert peer.call("status")["transcripts"] == {"watched": 0, "behind": 0}
        for number in range(1, 20):
            script = session(f"s{number}", f"turn {number}")
            script.leaf = None
            append(path.with_name(f"s{number}.jsonl"), script.data)
            status = peer.call("status")
            assert busy(status) or status["queue"]["held"] == number
            assert status["transcripts"]["watched"] == number
    wait_until_caught_up(daemon)
    assert len(stored(home)) == 19


def test_events_of_turns_reach_a_subscriber(daemon: Daemon, home: Path) -> None:
    daemon.start()
    (home / "work").mkdir()
    with daemon.peer() as peer, daemon.peer() as other:
        peer.call("events/subscribe", kinds=["transcript/turn"], cwd=str(home / "work"))
        script = session("s")
        script.cwd = str(home / "work")
        turn_id = script.turn("hello", "hi")
        path = projects(home) / FOLDER / "s.jsonl"
        path.parent.mkdir()
        append(path, script.data)
        answer = other.call("turn/ended", session_id="s", transcript_path=str(path))
        assert answer == {"queued": True}
        event = peer.next_event()
        assert (event["turn_id"], event["project"]) == (turn_id, str(home / "work"))
        refused = other.ask("turn/ended", session_id="s", transcript_path="/etc/passwd")
        assert refused["error"]["data"]["kind"] == "refused"


def test_kills_of_the_daemon_lose_and_double_nothing(daemon: Daemon, home: Path) -> None:
    daemon.start()
    chance = random.Random(7)
    scripts = [session(f"s{number}", "begin") for number in range(4)]
    wanted = {"s0-line-1", "s1-line-1", "s2-line-1", "s3-line-1"}
    paths = [write(home, script) for script in scripts]
    written = [len(script.data) for script in scripts]
    for _ in range(4):
        for step in range(60):
            which = chance.randrange(4)
            script = scripts[which]
            if step % 3 == 0:
                wanted.add(script.turn(f"step {step}", "x" * chance.randrange(3000)))
            end = min(written[which] + chance.randrange(1, 4000), len(script.data))
            append(paths[which], script.data[written[which] : end])
            written[which] = end
        daemon.stop(signal.SIGKILL)
        daemon.start()
    for path, script, position in zip(paths, scripts, written, strict=True):
        append(path, script.data[position:])
        age(path)
    wait_until_caught_up(daemon)
    assert stored(home).keys() == wanted


class DeadlyState(Database):
    """Dies before its n-th statement."""

    statements_left = -1

    def run(self, sql: str, *values: Cell) -> list[tuple[Cell, ...]]:
        self.statements_left -= 1
        if self.statements_left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().run(sql, *values)


def read_everything(home: Path, state: Database) -> None:
    """What the tail does at its start, without a loop around it."""
    reader, cursors = make_reader(home, state), CursorTable(state)
    if not reader.has_begun:
        reader.begin(scan(str(projects(home))))
    known = {cursor.path: cursor for cursor in cursors.load()[0]}
    found = scan(str(projects(home)))
    differing = differences(known, found.files, found.unreadable)
    what = plan(known, (), differing.changed, differing.gone)
    for cursor in (*(known[path] for path in what.look), *what.placed):
        _read_whole(reader, cursor)


def _read_whole(reader: TranscriptReader, cursor: Any) -> None:
    reading = reader.read(cursor)
    while reading.has_more:
        reading = reader.read(reading.cursor)


def dies(home: Path, *, statements: int = -1, seconds: float = 0.0) -> bool:
    """Whether a child that reads everything was killed before that statement, or after so long."""
    child = os.fork()
    if child == 0:
        try:
            state = DeadlyState.open(database(home))
            state.statements_left = statements
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, seconds)
            read_everything(home, state)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def expected_turns(home: Path) -> dict[str, Turn]:
    found: dict[str, Turn] = {}
    for path in sorted(projects(home).rglob("*.jsonl")):
        follower = Follower()
        for event in follower.feed(path.read_bytes()) + follower.settle():
            if isinstance(event, Turn):
                found[event.id] = event
    return found


def begin(home: Path) -> None:
    state = Database.open(database(home))
    read_everything(home, state)
    state.close()


def check_that_all_is_there_once(home: Path) -> None:
    state = Database.open(database(home))
    read_everything(home, state)
    assert turns(state) == expected_turns(home)
    assert {turn_state for _, turn_state in rows(state)} == {"pending"}
    state.close()


def test_a_kill_at_any_statement_loses_and_doubles_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small slices make a long file as dangerous as many."""
    monkeypatch.setattr("memoryd.transcripts.reader.SLICE_BYTES", 700)
    begin(home)
    chance, deaths, first = random.Random(3), 0, count()
    scripts = [session(f"s{number}", "begin") for number in range(3)]
    while deaths < 200 // stride():
        for script in scripts:
            script.turn("more", "x" * chance.randrange(1500))
            write(home, script)
        for at in strides(1 + next(first) % stride()):
            if not dies(home, statements=at):
                break
            deaths += 1
    check_that_all_is_there_once(home)


def test_a_kill_at_any_moment_loses_and_doubles_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoryd.transcripts.reader.SLICE_BYTES", 2000)
    begin(home)
    chance, deaths, whole_seconds = random.Random(5), 0, 0.02
    script = session("s", "begin")
    while deaths < 30 // stride(3):
        for _ in range(8):
            script.turn("more", "x" * chance.randrange(2000))
        write(home, script)
        began = time.perf_counter()
        if dies(home, seconds=chance.uniform(0.03, 1) * whole_seconds):
            deaths += 1
        else:  # on a faster machine, the next one dies earlier
            whole_seconds = time.perf_counter() - began
    check_that_all_is_there_once(home)


def test_files_that_come_while_it_is_frozen_are_all_found(daemon: Daemon, home: Path) -> None:
    daemon.start()
    assert daemon.process is not None
    with daemon.peer() as peer:
        peer.call("events/subscribe", kinds=["transcript/turn"])
        daemon.process.send_signal(signal.SIGSTOP)
        for number in range(800):
            write(home, session(f"s{number}", "hello"), folder=f"-p-{number % 40}")
        daemon.process.send_signal(signal.SIGCONT)
        seen = {peer.next_event()["session_id"] for _ in range(800)}
    assert seen == {f"s{number}" for number in range(800)}
    assert len(stored(home)) == 800
