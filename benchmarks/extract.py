"""What a turn costs to extract, in tokens and in requests, beside the obvious ways to do it.

The daemon is the real one and so is the SDK; the model is scripted, on loopback, and counts a token
for every four characters. Every turn has some talk and a few tools that print at length.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memoryd.transcripts.rules.assembler import living_history, read_entries
from memoryd.transcripts.rules.turns import Turn
from tests.scenarios.test_extraction import (
    TABS,
    Session,
    configure,
    states,
    wait_until_idle,
    with_model,
)
from tests.support.extraction_fixtures import memory_text
from tests.support.running import Daemon, make_home
from tests.support.scripted_model import Call, Reply, ScriptedModel, SeenRequest, asks, says

TURNS = 30
BURST = 3  # turns that are said in one go
WORTH_A_NOTE = 3  # every third turn is
CHARACTERS_PER_TOKEN = 4
OUTPUT_LINES = 80


@contextmanager
def running(
    model: ScriptedModel | None = None, quiet_seconds: int = 0
) -> Iterator[tuple[Daemon, Path]]:
    with tempfile.TemporaryDirectory(prefix="memoryd-bench-") as folder:
        home = make_home(Path(folder))
        configure(home, "", quiet_seconds)
        daemon = Daemon(home)
        if model is not None:
            with_model(daemon, model)
        daemon.start()
        try:
            yield daemon, home
        finally:
            daemon.end()


def work_on(session: Session, number: int) -> None:
    """One turn as a person and an agent have it."""
    session.prompt(f"The import of part {number} fails when run twice; find out why, and use tabs.")
    for tool, given in (
        ("Grep", {"pattern": f"def load_part_{number}"}),
        ("Read", {"file_path": f"src/part_{number}.py"}),
        ("Bash", {"command": f"make test PART={number}"}),
    ):
        lines = (f"{n:5} value_{number}_{n} = compute(part[{n}])" for n in range(OUTPUT_LINES))
        session.result(session.call(tool, given), "\n".join(lines))
    session.answer(f"Part {number} kept its lock file. It is removed now, and the tests pass.")
    session.system("turn_duration", durationMs=1000)


def tokens_of_whole(session: Session) -> list[int]:
    """How much each turn's request would be if it held the conversation up to there."""
    history = living_history(read_entries([session.data]))
    sizes = [
        sum(len(part.text) for part in event.parts) for event in history if isinstance(event, Turn)
    ]
    return [sum(sizes[: end + 1]) // CHARACTERS_PER_TOKEN for end in range(len(sizes))]


def measure_cost() -> None:
    asked_at: list[float] = []

    def script(request: SeenRequest) -> Reply:
        if len(request.body["messages"]) > 1:
            return says("Saved.")
        asked_at.append(time.perf_counter())
        # The first turn is worth a note, as in most sessions; the others are worth nothing.
        return asks(TABS) if len(asked_at) == 1 else says("Nothing worth keeping.")

    with ScriptedModel(script) as model, running(model) as (daemon, home):
        session = Session(home)
        waited: list[float] = []
        with daemon.peer() as peer:
            for number in range(TURNS):
                work_on(session, number)
                said_at = time.perf_counter()
                peer.call("turn/ended", session_id="s", transcript_path=str(session.path))
                wait_for_run(peer_count=number + 1, asked_at=asked_at, daemon=daemon)
                waited.append(asked_at[number] - said_at)
        runs = runs_of(daemon)
    assert len(runs) == TURNS
    sent = [run["input_tokens"] / run["model_turns"] for run in runs]
    paid = [run["input_tokens"] - 0.9 * run["cached_tokens"] for run in runs]
    whole = tokens_of_whole(session)
    print(f"\n{TURNS} turns of one session, tokens of the prompt in each request")
    print(f"  {'':34}{'mean':>8}{'last turn':>11}")
    print(f"  {'as memoryd sends it':34}{statistics.mean(sent):8.0f}{sent[-1]:11.0f}")
    print(f"  {'the whole conversation instead':34}{statistics.mean(whole):8.0f}{whole[-1]:11.0f}")
    print(f"  {'paid for, the cache counted':34}{statistics.mean(paid):8.0f}{paid[-1]:11.0f}")
    share = sum(run["cached_tokens"] for run in runs) / sum(run["input_tokens"] for run in runs)
    print(f"  cache-hit share: {share:.0%} of all prompt tokens, {usd_of(runs)}")
    print_times("from the turn's last line to the request", waited[1:])


def runs_of(daemon: Daemon) -> list[dict[str, Any]]:
    return [line for line in daemon.lines() if line["event"] == "extraction-finished"]


def measure_requests() -> None:
    """The same turns, extracted one by one and in pauses of the talk."""
    rows = [
        ("each turn by itself", requests_for(burst=1, quiet_seconds=0)),
        (f"in pauses, {BURST} turns between them", requests_for(burst=BURST, quiet_seconds=1)),
    ]
    print(f"\n{TURNS} turns, every third worth a note: requests and tokens of the prompt")
    print(f"  {'':34}{'requests':>10}{'a turn':>8}{'tokens a turn':>15}{'paid':>8}")
    notes = TURNS // WORTH_A_NOTE
    print(f"  {'each turn, and once more for done':34}{TURNS + notes:10}{1 + notes / TURNS:8.2f}")
    for name, runs in rows:
        requests = sum(run["model_turns"] for run in runs)
        tokens = sum(run["input_tokens"] for run in runs)
        paid = tokens - 0.9 * sum(run["cached_tokens"] for run in runs)
        shown = f"{requests:10}{requests / TURNS:8.2f}{tokens / TURNS:15.0f}{paid / TURNS:8.0f}"
        print(f"  {name:34}{shown}")


def requests_for(burst: int, quiet_seconds: int) -> list[dict[str, Any]]:
    """The runs over a session whose person pauses after each `burst` of turns."""

    def script(request: SeenRequest) -> Reply:
        text = str(request.body["messages"][0]["content"][-1]["text"])
        new = text.rpartition("@memoryd The new messages:")[2]
        worth = [n for n in range(0, TURNS, WORTH_A_NOTE) if f"import of part {n} fails" in new]
        if len(request.body["messages"]) > 1 or not worth:
            return says("Nothing worth keeping.")
        return asks(*(note_on(number) for number in worth))

    with ScriptedModel(script) as model, running(model, quiet_seconds) as (daemon, home):
        session = Session(home)
        for number in range(0, TURNS, burst):
            for turn in range(number, number + burst):
                work_on(session, turn)
            wait_until_done(daemon, home, number + burst)
        runs = runs_of(daemon)
        notes = len(session.files())
    assert notes == TURNS // WORTH_A_NOTE, "every note is written, whatever it costs"
    return runs


def note_on(number: int) -> Call:
    text = memory_text(f"Part {number}", body=f"Use tabs in part {number}.")
    return Call("Write", {"file_path": f"feedback_part_{number}.md", "content": text})


def wait_until_done(daemon: Daemon, home: Path, turns: int) -> None:
    while sum(state == "done" for state, _ in states(home).values()) < turns:
        time.sleep(0.01)
    wait_until_idle(daemon)


def usd_of(runs: Sequence[dict[str, float]]) -> str:
    mean = statistics.mean(run["usd"] for run in runs)
    return f"${mean:.6f} a turn, so ${mean * 50 * 22:.2f} for 22 days of 50 turns"


def wait_for_run(peer_count: int, asked_at: Sequence[float], daemon: Daemon) -> None:
    while len(asked_at) < peer_count:
        time.sleep(0.001)
    wait_until_idle(daemon)


def measure_embedded() -> None:
    with running() as (daemon, home):
        waited: list[float] = []
        with daemon.peer() as peer, daemon.peer() as other:
            peer.call("events/subscribe", kinds=["memory/saved"])
            for number in range(TURNS):
                session = Session(home, f"s{number}", project=f"p{number}")
                session.prompt("From now on always use tabs here, because make insists on them.")
                session.answer("Understood.")
                session.system("turn_duration", durationMs=1000)
                said_at = time.perf_counter()
                other.call(
                    "turn/ended", session_id=session.session_id, transcript_path=str(session.path)
                )
                peer.next_event()
                waited.append(time.perf_counter() - said_at)
    print("\nwithout a model")
    print_times("from the turn's last line to the saved memory", waited[1:])


def print_times(name: str, seconds: Sequence[float]) -> None:
    late = statistics.quantiles(seconds, n=10)[-1]
    print(f"  {name}: p50 {statistics.median(seconds) * 1000:.0f} ms, p90 {late * 1000:.0f} ms")


def main() -> None:
    parts: tuple[Callable[[], None], ...] = (measure_cost, measure_requests, measure_embedded)
    for part in parts:
        part()


if __name__ == "__main__":
    main()
