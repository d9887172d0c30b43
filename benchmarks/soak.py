"""A long day of work in short: nothing grows that should not, and the end is a clean one.

usage: benchmarks/soak.py [--minutes M] [--events N]     (20 minutes and 100,000 events by default)

Events come evenly over the time: lines of transcripts, hooks, recalls, saves, edits by other
programs, dreams, clients that come and go. The daemon is looked at all the while; what it was after
the first fifth is compared with the end, and a line through the looks gives the slope. It ends
with 1 if something has grown beyond its limit, or if the daemon does not stop as it should.
"""

import argparse
import random
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.scenarios.test_extraction import Session
from tests.scenarios.test_extraction_kills import processes_of
from tests.support.running import Daemon, Peer, make_home

# Few sessions: of each the last 2,048 lines are known, and that is reached in the first sixth.
SESSIONS, MEMORIES, RETIRED, EDITED, DREAMS, LOOKS = 4, 150, 40, 20, 10, 150
WARM_UP_SHARE = 0.2
LATE_SHARE = 1.5  # a busy machine may take this much longer
STOP_SECONDS = 5.0
WEIGHTS = {"line": 55, "hook": 15, "recall": 14, "client": 10, "edit": 4, "save": 2}
# What may grow: resident memory by a share, the database by bytes for each event (a turn that was
# read is known for ever by its id), the log to what its rotation allows.
RSS_SHARE = 0.05
DATABASE_BYTES_AN_EVENT = 250
LOG_MEGABYTES = 40.0
MORE_AT_MOST = 3
SAID = "From now on always check gauge {} before a release, because it drifts."

Look = dict[str, float]
Looks = list[tuple[float, Look]]


class Work:
    """One method for each kind of event."""

    def __init__(self, home: Path, daemon: Daemon) -> None:
        self.daemon = daemon
        self.dice = random.Random(20)
        self.sessions = [Session(home, f"soak{number}") for number in range(SESSIONS)]
        self.cwd = self.sessions[0].cwd
        Path(self.cwd).mkdir()
        self.memory = self.sessions[0].memory
        self.memory.mkdir(parents=True)
        self.lines = [self._lines(session) for session in self.sessions]
        self.saved: list[str] = []
        self.number = 0

    def _lines(self, session: Session) -> Iterator[None]:
        """Each step appends one line; eight are a turn, and one turn in 30 says something."""
        while True:
            self.number += 1
            says = SAID.format(self.number % 90) if self.number % 30 == 0 else "What is next?"
            session.prompt(says)
            yield
            for _ in range(2):
                call = session.call("Read", {"file_path": f"{self.cwd}/src/{self.number % 50}.py"})
                yield
                session.result(call, "def work() -> None: ...\n" * 20)
                yield
            session.put("api-request-blob", content="x" * 3000)
            yield
            session.answer("It is done, and the tests pass.")
            yield
            session.system("turn_duration")
            yield

    def line(self, _: Peer) -> None:
        next(self.dice.choice(self.lines))

    def hook(self, peer: Peer) -> None:
        session = self.dice.choice(self.sessions)
        name = self.dice.choice(("UserPromptSubmit", "Stop", "SessionStart", "PostToolUse"))
        peer.call(
            "hook",
            hook_event_name=name,
            session_id=session.session_id,
            transcript_path=str(session.path),
            cwd=self.cwd,
            prompt=f"which gauge is checked before release {self.dice.randrange(90)}?",
        )

    def recall(self, peer: Peer) -> None:
        peer.call("recall", cwd=self.cwd, query=f"gauge {self.dice.randrange(90)} and the release")

    def client(self, _: Peer) -> None:
        """One that comes, asks or only looks or breaks off, and goes."""
        with self.daemon.peer(self.dice.choice(("lines", "headers"))) as other:
            way = self.dice.randrange(4)
            if way == 0:
                other.socket.sendall(b'{"half')
            elif way == 1:
                other.call("events/subscribe", kinds=["transcript/turn"])
            else:
                other.call("status", cwd=self.cwd)

    def edit(self, _: Peer) -> None:
        number = self.dice.randrange(EDITED)
        head = f"---\nname: Edited {number}\ndescription: by hand\ntype: project\n---\n\n"
        text = f"{head}Seen {self.dice.randrange(1000)} times by an editor.\n"
        (self.memory / f"project_edited_{number}.md").write_text(text)

    def save(self, peer: Peer) -> None:
        number = self.dice.randrange(10**9)
        given = {"description": f"about pump {number}", "type": "project"}
        body = f"Pump {number} is in hall {number % 31}.\n"
        answer = peer.call("memory/save", cwd=self.cwd, name=f"Pump {number}", body=body, **given)
        self.saved.append(answer["path"])
        if len(self.saved) > MEMORIES:  # a dream may have retired it meanwhile
            peer.ask("memory/forget", cwd=self.cwd, path=self.saved.pop(0))
        # What is said replaces what was said before: the store must not grow, only the work.
        retired = sorted(self.memory.glob(".retired/*.md"))
        if len(retired) > RETIRED:
            peer.ask("memory/forget", cwd=self.cwd, path=str(self.dice.choice(retired)))

    def dream(self, peer: Peer) -> None:
        peer.ask("dream/start", cwd=self.cwd, force=True)


def look(daemon: Daemon) -> Look:
    assert daemon.process is not None
    process = Path(f"/proc/{daemon.process.pid}")
    status = dict(
        line.split(":", 1) for line in (process / "status").read_text().splitlines() if ":" in line
    )
    children = [path.read_text().split() for path in process.glob("task/*/children")]
    state = daemon.home / ".local/state/memoryd"
    return {
        "RSS, MB": int(status["VmRSS"].split()[0]) / 1024,
        "descriptors": len(list((process / "fd").iterdir())),
        "threads": int(status["Threads"]),
        "children": sum(map(len, children)),
        "database, MB": _megabytes(state, "state.db*"),
        "log, MB": _megabytes(state, "memoryd.log*"),
        "kept index, MB": _megabytes(state, "shelves/*"),
    }


def _megabytes(folder: Path, pattern: str) -> float:
    total = 0
    for path in folder.glob(pattern):
        try:
            total += path.stat().st_size
        except FileNotFoundError:  # rotated or replaced at this moment
            continue
    return total / 1e6


def work_evenly(work: Work, peer: Peer, seconds: float, events: int) -> tuple[Counter[str], Looks]:
    """Does so many events over the time; gives up when it is far too late."""
    done, looks = Counter[str](), list[tuple[float, Look]]()
    kinds, weights = list(WEIGHTS), list(WEIGHTS.values())
    began = time.monotonic()
    for number in range(events):
        due = number / events * seconds
        late = time.monotonic() - began
        if late > seconds * LATE_SHARE:
            break
        time.sleep(max(0.0, due - late))
        if number % max(1, events // DREAMS) == events // DREAMS // 2:
            work.dream(peer)
            done["dream"] += 1
        [kind] = work.dice.choices(kinds, weights)
        getattr(work, kind)(peer)
        done[kind] += 1
        if number % max(1, events // LOOKS) == 0:
            looks.append((time.monotonic() - began, look(work.daemon)))
            if len(looks) % (LOOKS // 10) == 1:
                show(number, looks[-1][1])
    return done, looks


def show(number: int, seen: Look) -> None:
    told = ", ".join(f"{name} {value:.1f}" for name, value in seen.items())
    print(f"  {number:>7,} events: {told}", flush=True)


def slope_an_hour(looks: Looks, name: str) -> float:
    times, values = [at for at, _ in looks], [seen[name] for _, seen in looks]
    return statistics.linear_regression(times, values).slope * 3600


def grown(looks: Looks, events: int) -> list[str]:
    """Prints what each figure was and is; returns those that have grown beyond their limit."""
    settled = looks[int(len(looks) * WARM_UP_SHARE) :]
    edge = max(1, len(settled) // 5)
    wrong = []
    print(f"{'':<18}{'first':>10}{'last':>10}{'an hour':>12}   limit")
    for name in settled[0][1]:
        first, last = (
            statistics.median(seen[name] for _, seen in some)
            for some in (settled[:edge], settled[-edge:])
        )
        limit = {
            "RSS, MB": first * (1 + RSS_SHARE),
            "database, MB": first + events * DATABASE_BYTES_AN_EVENT / 1e6,
            "log, MB": LOG_MEGABYTES,
            "kept index, MB": first * 2 + 1,
        }.get(name, first + MORE_AT_MOST)
        slope = slope_an_hour(settled, name)
        verdict = "" if last <= limit else "   GREW"
        print(f"{name:<18}{first:>10.1f}{last:>10.1f}{slope:>+12.2f}   {limit:.1f}{verdict}")
        wrong += [name] * (last > limit)
    return wrong


def stop(daemon: Daemon) -> list[str]:
    assert daemon.process is not None
    began = time.monotonic()
    code = daemon.stop(signal.SIGTERM)
    seconds = time.monotonic() - began
    wrong = []
    if code != 0:
        wrong.append(f"it ended with {code}")
    if seconds > STOP_SECONDS:
        wrong.append(f"it took {seconds:.1f} s to stop")
    is_gone = not Path(daemon.socket).exists()
    if not is_gone:
        wrong.append("its socket is still there")
    left = processes_of(daemon.home)
    wrong += (f"still running: {process}" for process in left)
    print(f"stopped with {code} in {seconds:.2f} s; socket gone: {is_gone}; left: {len(left)}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description="a long day of work in short")
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--events", type=int, default=0, help="83 a second if not given")
    given = parser.parse_args()
    seconds = given.minutes * 60
    events = given.events or round(seconds * 100_000 / 1200)
    with tempfile.TemporaryDirectory(prefix="memoryd-soak-") as folder:
        home = make_home(Path(folder))
        daemon = Daemon(home).start()
        try:
            work = Work(home, daemon)
            began = time.monotonic()
            with daemon.peer() as peer:
                peer.call("recall", cwd=work.cwd, query="warm up")
                done, looks = work_evenly(work, peer, seconds, events)
            count, took = done.total(), time.monotonic() - began
            kinds = ", ".join(f"{name} {number:,}" for name, number in done.most_common())
            print(f"\n{count:,} of {events:,} events in {took:.0f} s: {kinds}")
            wrong = grown(looks, count) + stop(daemon)
        finally:
            daemon.end()
    print(f"violations: {len(wrong)}" + "".join(f"\n  {one}" for one in wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
