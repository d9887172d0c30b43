"""A run that ends at a limit: what it did not get to is saved by the next, nothing twice."""

import re
from collections import Counter
from pathlib import Path

import anyio
import msgspec
import pytest
import structlog

from memoryd.agent.rules.limits import RunLimits
from memoryd.extraction.rules.batching import MOST_UNFINISHED
from memoryd.llm.rules.messages import ModelAnswer, ModelRequest, Text, UserTurn
from tests.support.extraction_fixtures import ExtractionBench, memory_text
from tests.support.scripted_model import Call, Message, answer_of, asks, says

RULE = re.compile(r"always check gauge (\d+)\b")
SAVED = re.compile(r"feedback_gauge_(\d+)_\d+\.md")
LOOK = Call("Glob", {"pattern": "*.md"})


def opening_of(request: ModelRequest) -> str:
    first = request.turns[0]
    assert isinstance(first, UserTurn)
    return "\n".join(block.text for block in first.blocks if isinstance(block, Text))


class Scribe:
    """Writes a note for every rule it is shown, but for those it is told are saved.

    It never gives two files the same name, so only what it is told keeps it from doubling. It
    writes so many `at_once`; while some are left it also looks around, and so goes on.
    """

    def __init__(self, at_once: int = 1000, usd: float = 0.0, hangs_in: int = 0) -> None:
        self._at_once = at_once
        self._usd = usd
        self._hangs_in = hangs_in
        self._tried: set[str] = set()
        self.runs = 0
        self.openings: list[str] = []

    async def complete(self, request: ModelRequest, deadline_seconds: float) -> ModelAnswer:
        del deadline_seconds
        if len(request.turns) == 1:
            self.runs += 1
            self._tried = set()
            self.openings.append(opening_of(request))
        elif self.runs == self._hangs_in:
            await anyio.sleep_forever()
        return msgspec.structs.replace(answer_of(self._reply(opening_of(request))), usd=self._usd)

    def _reply(self, opening: str) -> Message:
        known = self._tried | set(SAVED.findall(opening))
        new = opening.rpartition("@memoryd The new messages:")[2]
        left = [rule for rule in dict.fromkeys(RULE.findall(new)) if rule not in known]
        now = left[: self._at_once]
        self._tried |= set(now)
        if not now:
            return says("Nothing more.")
        more = [LOOK] if len(left) > len(now) else []
        return asks(*(self._note(rule) for rule in now), *more)

    def _note(self, rule: str) -> Call:
        text = memory_text(f"Gauge {rule}", body=f"Always check gauge {rule}.")
        file = f"feedback_gauge_{rule}_{self.runs}.md"
        return Call("Write", {"file_path": file, "content": text})


async def extracted(here: ExtractionBench) -> None:
    async with here.working():
        with anyio.fail_after(60):
            while not await here.now_idle():
                here.step(1)


def gauges(here: ExtractionBench) -> Counter[str]:
    """How many notes there are on each gauge."""
    notes = "".join(here.files().values())
    return Counter(re.findall(r"check gauge (\d+)\.\n", notes))


def rules(first: int, count: int) -> str:
    return "\n".join(f"always check gauge {number}" for number in range(first, first + count))


NOTE_BYTES = 300
LIMITS = {
    "tool calls": (RunLimits(tool_calls=9), Scribe()),
    "model turns": (RunLimits(model_turns=2), Scribe(at_once=4)),
    "bytes written": (RunLimits(written_bytes=6 * NOTE_BYTES), Scribe()),
    "money": (RunLimits(usd=0.02), Scribe(at_once=4, usd=0.01)),
    "time": (RunLimits(wall_seconds=2), Scribe(at_once=8, hangs_in=1)),
}


@pytest.mark.parametrize("name", LIMITS)
async def test_all_statements_are_saved_once_whatever_the_limit(home: Path, name: str) -> None:
    limits, scribe = LIMITS[name]
    here = ExtractionBench(home, provider=scribe, run_limits=limits)
    ids = here.say(*(rules(5 * number, 5) for number in range(3)))
    await extracted(here)
    assert gauges(here) == {str(number): 1 for number in range(15)}
    assert set(here.queue.states(ids).values()) == {"done"}
    verdicts = [run.verdict for run in here.finished]
    assert verdicts[0] == "unfinished"
    assert verdicts[-1] == "done"
    assert 2 <= len(verdicts) <= MOST_UNFINISHED
    await here.close()


async def test_of_sixty_statements_the_second_run_saves_those_the_first_had_no_calls_for(
    home: Path,
) -> None:
    here = ExtractionBench(home, provider=Scribe(), run_limits=RunLimits(tool_calls=39))
    (turn,) = here.say(rules(0, 60))
    async with here.working():
        (first,) = await here.runs(1)
        assert (first.verdict, first.reason, len(first.files)) == ("unfinished", "tool-limit", 39)
        assert here.queue.states([turn]) == {turn: "pending"}
        _, second = await here.runs(2)
    assert (second.verdict, second.model_turns) == ("done", 1)
    assert gauges(here) == {str(number): 1 for number in range(60)}
    assert here.queue.states([turn]) == {turn: "done"}
    await here.close()


async def test_a_batch_has_no_more_turns_than_one_run_can_finish(home: Path) -> None:
    scribe = Scribe()
    here = ExtractionBench(home, provider=scribe)
    here.say(*(rules(number, 1) for number in range(45)))
    await extracted(here)
    assert [(run.verdict, run.turns) for run in here.finished] == [("done", 30), ("done", 15)]
    assert gauges(here) == {str(number): 1 for number in range(45)}
    await here.close()


class Wordy(Scribe):
    """A scribe whose answer is cut off if it has more notes than tokens for them."""

    async def complete(self, request: ModelRequest, deadline_seconds: float) -> ModelAnswer:
        answer = await super().complete(request, deadline_seconds)
        if len(answer.calls) * 200 <= request.max_tokens:
            return answer
        return answer_of(says("---", "max_tokens"))


async def test_an_answer_that_was_too_long_may_be_longer_the_next_time(home: Path) -> None:
    here = ExtractionBench(home, provider=Wordy())
    (turn,) = here.say(rules(0, 60))
    async with here.working():
        await here.runs(1)
        here.step(5)
        await here.runs(2)
        here.step(5)
        await here.runs(3)
    assert [run.reason for run in here.finished] == ["cut", "tool-limit", "done"]
    assert gauges(here) == {str(number): 1 for number in range(60)}
    assert here.queue.states([turn]) == {turn: "done"}
    await here.close()


class Diarist(Scribe):
    """Writes each rule into the log, with a call of its own."""

    def _note(self, rule: str) -> Call:
        line = f"- feedback: Always check gauge {rule}."
        return Call("Write", {"file_path": "logs/YYYY/MM/YYYY-MM-DD.md", "content": line})


async def test_in_log_mode_a_limit_leads_to_smaller_runs_and_every_line_is_there_once(
    home: Path,
) -> None:
    here = ExtractionBench(home, provider=Diarist(), run_limits=RunLimits(tool_calls=2), mode="log")
    ids = here.say(*(rules(number, 1) for number in range(5)))
    await extracted(here)
    assert set(here.queue.states(ids).values()) == {"done"}
    assert sorted(logged_gauges(here)) == [str(number) for number in range(5)]
    assert [run.verdict for run in here.finished] == ["unfinished", "done", "done", "done", "done"]
    await here.close()


def logged_gauges(here: ExtractionBench) -> list[str]:
    (log,) = Path(here.project().memory.path).rglob("logs/**/*.md")
    return re.findall(r"check gauge (\d+)\.", log.read_text())


class Reader:
    """Reads the notes that a correction is about and edits them, as far as it may read."""

    async def complete(self, request: ModelRequest, deadline_seconds: float) -> ModelAnswer:
        del deadline_seconds
        opening = opening_of(request)
        told = opening.partition("broke off after it had saved")[2].partition("\n")[0]
        left = [name for name in ("feedback_a.md", "feedback_b.md") if name not in told]
        if len(request.turns) == 1:
            return answer_of(asks(*(Call("Read", {"file_path": name}) for name in left)))
        if len(request.turns) == 3:
            return answer_of(asks(*(self._edit(name) for name in left)))
        return answer_of(says("Done."))

    def _edit(self, name: str) -> Call:
        change = {"old_string": "Use tabs.", "new_string": "Use spaces."}
        return Call("Edit", {"file_path": name, **change})


async def test_what_could_not_be_read_is_read_by_the_next_run(home: Path) -> None:
    here = ExtractionBench(home, provider=Reader(), run_limits=RunLimits(read_bytes=200))
    memory = here.project().memory
    for name in "ab":
        text = memory_text(f"Tabs in {name}", body="Use tabs.")
        here.store.write(memory, f"feedback_{name}.md", text, over=None, cause="user")
    here.step(10)
    (turn,) = here.say("use spaces in a and in b, not tabs: Use spaces.")
    await extracted(here)
    assert [run.reason for run in here.finished] == ["byte-limit", "done"]
    assert all("Use spaces." in text for text in here.files().values())
    assert here.queue.states([turn]) == {turn: "done"}
    await here.close()


class Idler:
    """Looks around without end at what is stuck, and finds nothing in the rest."""

    def __init__(self) -> None:
        self.requests = 0

    async def complete(self, request: ModelRequest, deadline_seconds: float) -> ModelAnswer:
        del deadline_seconds
        self.requests += 1
        return answer_of(asks(LOOK) if "| stuck" in opening_of(request) else says("Nothing."))


async def test_a_turn_that_hits_the_limit_without_a_result_is_parked_with_the_reason(
    home: Path,
) -> None:
    idler = Idler()
    here = ExtractionBench(home, provider=idler)
    (turn,) = here.say("stuck")
    with structlog.testing.capture_logs() as lines:
        await extracted(here)
    (parked,) = here.backlog.parked()
    assert parked.turn_id == turn
    assert "turn-limit" in parked.reason
    assert idler.requests == 2 * RunLimits().model_turns
    assert [line["event"] for line in lines if "parked" in line["event"]] == ["turns-parked"]
    await here.close()


async def test_one_stuck_turn_takes_none_of_its_batch_with_it(home: Path) -> None:
    here = ExtractionBench(home, provider=Idler())
    ids = here.say(*("stuck" if number == 4 else "hello" for number in range(10)))
    await extracted(here)
    states = here.queue.states(ids)
    assert [number for number, turn in enumerate(ids) if states[turn] != "done"] == [4]
    assert states[ids[4]] == "parked"
    await here.close()


class Endless:
    """Always writes one more note, and is never done."""

    def __init__(self) -> None:
        self.requests = 0

    async def complete(self, request: ModelRequest, deadline_seconds: float) -> ModelAnswer:
        del request, deadline_seconds
        self.requests += 1
        text = memory_text(f"Tabs {self.requests}", body="Use tabs.")
        write = Call("Write", {"file_path": f"feedback_{self.requests}.md", "content": text})
        return answer_of(asks(write, LOOK))


async def test_a_model_that_is_never_done_is_not_paid_forever(home: Path) -> None:
    endless = Endless()
    here = ExtractionBench(home, provider=endless)
    (turn,) = here.say("Use tabs")
    await extracted(here)
    assert here.queue.states([turn]) == {turn: "parked"}
    assert endless.requests == MOST_UNFINISHED * RunLimits().model_turns
    await here.close()


async def test_a_parked_turn_that_is_retried_is_told_what_it_had_saved(home: Path) -> None:
    here = ExtractionBench(home, provider=Endless())
    here.say("Use tabs")
    await extracted(here)
    await here.close()
    scribe = Scribe()
    again = ExtractionBench(home, provider=scribe)
    async with again.working():
        assert await again.worker.retry_parked() == 1
        await again.runs(1)
    assert "broke off after it had saved feedback_1.md" in scribe.openings[0]
    await again.close()
