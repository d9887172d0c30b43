"""Daemons killed in the middle of a model's runs: nothing is lost, doubled, unpaid or left over."""

import json
import random
import re
import signal
import sqlite3
import threading
from pathlib import Path
from typing import Any

from tests.scenarios.test_extraction import (
    LOOK,
    TABS,
    Session,
    configure,
    states,
    wait_until_idle,
    with_model,
)
from tests.support.extraction_fixtures import memory_text
from tests.support.running import Daemon, give_way
from tests.support.scripted_model import (
    Call,
    CutBody,
    Hang,
    Held,
    Reply,
    ScriptedModel,
    SeenRequest,
    StalledBody,
    asks,
    says,
)
from tests.support.tail_fixtures import database

LOG = Call("Write", {"file_path": "logs/YYYY/MM/YYYY-MM-DD.md", "content": "- feedback: Use tabs."})


class Spending:
    """What the ledger on disk says."""

    def __init__(self, home: Path) -> None:
        with sqlite3.connect(f"file:{database(home)}?mode=ro", uri=True) as connection:
            self.rows: list[tuple[str, float, int]] = connection.execute(
                "select project, usd, is_open from spending"
            ).fetchall()
        connection.close()

    @property
    def open_calls(self) -> int:
        return sum(is_open for _, _, is_open in self.rows)

    @property
    def usd(self) -> float:
        return sum(usd for _, usd, _ in self.rows)


def is_first(request: SeenRequest) -> bool:
    return len(request.body["messages"]) == 1


def project_of(request: SeenRequest) -> str:
    opening = request.body["messages"][0]["content"][0]["text"]
    found = re.search(r"^Project: (\S+)$", opening, re.MULTILINE)
    assert found
    return found[1].rpartition("/")[2]


def was_told(request: SeenRequest) -> bool:
    return "broke off after it had saved" in json.dumps(request.body["messages"][0])


class Stations:
    """A model that leaves every project's run hanging at a point of its own, until it recovers."""

    POINTS = ("asked", "half", "cut", "called", "wrote", "log", "last")

    def __init__(self) -> None:
        self._crowd = threading.Condition()
        self._reached: set[str] = set()
        self._cut: set[str] = set()
        self.is_recovered = False

    def __call__(self, request: SeenRequest) -> Reply:
        point = project_of(request)
        if self.is_recovered:
            return self._answer(request, point)
        match point, is_first(request):
            case "half", _:
                return StalledBody(asks(TABS), lambda: self._reach(point))
            case "cut", True if point not in self._cut:
                self._cut.add(point)
                return CutBody(asks(TABS))
            case ("called", True):
                return asks(LOOK, Call("Read", {"file_path": "MEMORY.md"}))
            case ("wrote" | "last", True):
                return asks(TABS, LOOK)  # the look makes it go on
            case ("log", True):
                return asks(LOG, LOOK)
        if point == "last":
            # The answer is on its way: the daemon dies before, while or after it concludes.
            return Held(lambda: self._reach(point), says("Done."))
        self._reach(point)
        return Hang()

    def _answer(self, request: SeenRequest, point: str) -> Reply:
        if was_told(request) or not is_first(request):
            return says("Done.")
        return asks(LOG if point == "log" else TABS)

    def _reach(self, point: str) -> None:
        with self._crowd:
            self._reached.add(point)
            self._crowd.notify_all()

    def wait_for_all(self) -> None:
        with self._crowd:
            assert self._crowd.wait_for(lambda: self._reached == set(self.POINTS), 100), (
                self._reached
            )


def processes_of(home: Path) -> list[str]:
    """What runs in the home or with it in its arguments, by its number and name."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            where = str((process / "cwd").readlink())
            told = (process / "cmdline").read_bytes().decode("utf-8", "replace")
            environ = (process / "environ").read_bytes().decode("utf-8", "replace")
        except OSError:  # gone, or not ours
            continue
        if where.startswith(str(home)) or str(home) in told or f"HOME={home}\0" in environ:
            found.append(f"{process.name} {told[:60]}")
    return found


def test_after_a_kill_with_runs_at_every_point_the_next_start_recovers(
    daemon: Daemon, home: Path
) -> None:
    configure(home, f"[extraction]\nparallel = 8\n[projects.\"{home / 'log'}\"]\nmode = 'log'\n")
    stations = Stations()
    with ScriptedModel(stations) as model:
        with_model(daemon, model).start()
        sessions = {point: Session(home, point, point) for point in Stations.POINTS}
        for session in sessions.values():
            Path(session.cwd).mkdir()
        turns = {point: one.turn("Use tabs", "Fine.") for point, one in sessions.items()}
        stations.wait_for_all()
        daemon.stop(signal.SIGKILL)
        before = len(model.requests)
        bill = Spending(home)
        assert len(bill.rows) == before, "every request was debited before it was made"
        left = states(home)
        assert all(left[turns[point]][0] == "pending" for point in turns if point != "last")
        assert not sessions["log"].memory.exists() or not list(sessions["log"].memory.rglob("*.md"))
        stations.is_recovered = True
        daemon.start()
        wait_until_idle(daemon)
        for point, session in sessions.items():
            assert states(home)[turns[point]][0] == "done", point
            texts = [path.read_text() for path in session.memory.rglob("*.md")]
            kept = [text for text in texts if "Use tabs." in text]
            assert len(kept) == 1, point
            assert kept[0].count("Use tabs.") == 1
            assert "session=log" in kept[0] or f"source: {point}" in kept[0]
        again = Spending(home)
        assert len(again.rows) == len(model.requests)
        # Those that hung or were cut may have been billed: they stay debited at their worst.
        # The one that was cut has two, and that of "last" may not have been closed in time.
        assert again.open_calls == bill.open_calls <= 8
        assert again.usd > bill.usd
        daemon.stop()
    while processes_of(home):
        give_way()


def test_random_kills_leave_each_note_once_and_every_call_on_the_bill(
    daemon: Daemon, home: Path
) -> None:
    kill_at_random(daemon, home, sessions=3, seed=5)


RULE = re.compile(r"always check gauge (\d+)\b")


def test_random_kills_while_a_long_talk_is_saved_lose_no_statement_and_double_none(
    daemon: Daemon, home: Path
) -> None:
    """Twenty-five turns with two rules each: more than one run may write, so it hits its limit."""
    chance = random.Random(7)
    configure(home, "[budget]\nusd_per_day = 100\nusd_per_month = 1000\n")

    def script(request: SeenRequest) -> Reply:
        opening = request.body["messages"][0]["content"][-1]["text"]
        told = opening.partition("broke off after it had saved")[2].partition("Do not")[0]
        new = opening.rpartition("@memoryd The new messages:")[2]
        saved = set(re.findall(r"feedback_gauge_(\d+)_", told))
        left = [rule for rule in dict.fromkeys(RULE.findall(new)) if rule not in saved]
        return asks(*map(note, left)) if left else says("Nothing more.")

    def note(rule: str) -> Call:
        text = memory_text(f"Gauge {rule}", body=f"Always check gauge {rule}.")
        file = f"feedback_gauge_{rule}_{len(model.requests)}.md"
        return Call("Write", {"file_path": file, "content": text})

    with ScriptedModel(script) as model:
        with_model(daemon, model).start()
        session = Session(home)
        turns = [
            session.turn(f"always check gauge {n}, and always check gauge {n + 100}", "Fine.")
            for n in range(25)
        ]
        for _ in range(3):
            with daemon.peer() as peer:
                for _ in range(chance.randrange(120)):
                    peer.call("status")
            daemon.stop(signal.SIGKILL)
            daemon.start()
        # The last turn is settled by silence, and what crashed twice runs alone, some time later.
        while {states(home).get(turn, ("new",))[0] for turn in turns} != {"done"}:
            wait_until_idle(daemon)
        daemon.stop()
    notes = "".join(session.files().values())
    found = sorted(int(rule) for rule in re.findall(r"check gauge (\d+)\.\n", notes))
    assert found == [*range(25), *range(100, 125)]


def test_a_cap_holds_over_kills(daemon: Daemon, home: Path) -> None:
    cap_usd = 0.008
    chance = random.Random(3)
    configure(home, f"[budget]\nusd_per_day = {cap_usd}\n")
    with ScriptedModel(lambda _: asks(Call("Glob", {"pattern": "*"}))) as model:
        with_model(daemon, model).start()
        for number in range(30):
            Session(home, f"s{number}", f"p{number % 3}").turn("Use tabs", "Fine.")
        kills_left = 2
        is_paused = False
        while not is_paused:
            with daemon.peer() as peer:
                for _ in range(chance.randrange(1, 60) if kills_left else 1):
                    is_paused = peer.call("status")["spending"]["paused"]
            if kills_left:
                kills_left -= 1
                daemon.stop(signal.SIGKILL)
                daemon.start()
        daemon.stop()
        bill = Spending(home)
        assert len(model.requests) <= len(bill.rows)
        assert 0 < bill.usd <= cap_usd


def kill_at_random(daemon: Daemon, home: Path, *, sessions: int, seed: int) -> dict[str, Any]:
    """So many extractions, with a kill in the middle of each; what came of it."""
    chance = random.Random(seed)
    configure(home, "[budget]\nusd_per_day = 100\nusd_per_month = 1000\n")

    def script(request: SeenRequest) -> Reply:
        if was_told(request) or not is_first(request):
            return says("Done.")
        name = project_of(request)
        text = memory_text(f"Tabs of {name}", body=f"Use tabs in {name}.")
        number = sum(project_of(seen) == name for seen in model.requests)
        file = {"file_path": f"feedback_tabs_{number}.md", "content": text}
        return asks(Call("Write", file))

    with ScriptedModel(script) as model:
        with_model(daemon, model).start()
        made = [Session(home, f"s{number}", f"p{number}") for number in range(sessions)]
        turns = []
        for session in made:
            name = session.cwd.rpartition("/")[2]
            turns.append(session.turn(f"Use tabs in {name}", "Fine."))
            # Long enough to be in the middle of something, whatever that is.
            with daemon.peer() as peer:
                for _ in range(chance.randrange(80)):
                    peer.call("status")
            daemon.stop(signal.SIGKILL)
            daemon.start()
        wait_until_idle(daemon)
        found = states(home)
        assert {found[turn][0] for turn in turns} == {"done"}
        notes = [list(session.files().values()) for session in made]
        assert [len(texts) for texts in notes] == [1] * sessions
        assert all("trust: user-said" in text for texts in notes for text in texts)
        bill = Spending(home)
        # A kill may come between debits and requests of two runs, never the other way round.
        assert len(model.requests) <= len(bill.rows) <= len(model.requests) + 2 * sessions
        daemon.stop()
    while processes_of(home):
        give_way()
    return {"requests": len(model.requests), "debits": len(bill.rows), "usd": bill.usd}
