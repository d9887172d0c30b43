"""With a model, a session is extracted when its talk pauses: a correction is read in context."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from memoryd.extraction.rules.batching import LONGEST_TALK_SECONDS, Limits
from tests.support.extraction_fixtures import ExtractionBench, messages_in
from tests.support.scripted_model import ScriptedModel, says

QUIET = 45.0


@asynccontextmanager
async def talk(home: Path) -> AsyncIterator[tuple[ExtractionBench, ScriptedModel]]:
    with ScriptedModel(lambda _: says("Nothing.")) as model:
        here = ExtractionBench(home, model.base_url, Limits(quiet_seconds=QUIET))
        async with here.working():
            yield here, model
        await here.close()


async def still_held(here: ExtractionBench, count: int) -> None:
    """Nothing runs, and so many turns wait for a pause."""
    await here.idle()
    report = here.worker.report()
    assert (report.waiting, report.running, report.held) == (0, 0, count)


async def test_a_correction_arrives_with_what_it_corrects(home: Path) -> None:
    async with talk(home) as (here, model):
        script = here.session()
        script.turn("always deploy on Fridays", "Noted.")
        first = here.add(script)
        await still_held(here, 1)
        here.step(30)
        script.turn("no, on Mondays, I mixed them up", "Noted.")
        second = here.add(script)
        here.step(QUIET - 1)
        await still_held(here, 2)
        here.step(1)
        await here.runs(1)
        assert set(here.queue.states([*first, *second]).values()) == {"done"}
    (request,) = model.requests
    sent = messages_in(request)
    assert sent.index("| always deploy on Fridays") < sent.index("| no, on Mondays")


async def test_a_correction_that_is_still_worked_on_is_waited_for(home: Path) -> None:
    async with talk(home) as (here, model):
        script = here.session()
        script.turn("always deploy on Fridays", "Noted.")
        here.add(script)
        here.open_sessions = frozenset({"s"})
        here.step(QUIET + 60)
        await still_held(here, 1)
        script.turn("no, on Mondays", "Noted.")
        here.open_sessions = frozenset()
        here.add(script)
        here.step(QUIET)
        await here.runs(1)
    assert len(model.requests) == 1
    assert "| no, on Mondays" in messages_in(model.requests[0])


async def test_a_talk_without_a_pause_is_extracted_after_a_while(home: Path) -> None:
    async with talk(home) as (here, _):
        script = here.session()
        for number in range(round(LONGEST_TALK_SECONDS / 40) + 1):
            script.turn(f"word {number}", "ok")
            here.add(script)
            here.step(40)
        (run,) = await here.runs(1)
        assert run.turns > 10


async def test_at_a_compaction_and_at_the_end_of_a_session_nothing_waits(home: Path) -> None:
    async with talk(home) as (here, _):
        script = here.session()
        script.turn("one", "ok")
        here.add(script)
        await still_held(here, 1)
        here.worker.session_compacted("s")
        await here.runs(1)
        here.step(1)
        script.turn("two", "ok")
        here.add(script)
        await still_held(here, 1)
        here.worker.session_ended("s")
        await here.runs(2)
        here.step(1)
        # The last lines are read after the hook has told of the end.
        script.turn("three", "ok")
        here.add(script)
        await here.runs(3)


async def test_a_session_that_talks_holds_up_no_other(home: Path) -> None:
    async with talk(home) as (here, model):
        here.say("one", session="a")
        here.step(30)
        here.say("two", session="b")
        here.step(20)
        (run,) = await here.runs(1)
        assert run.session_id == "a"
        await still_held(here, 1)
    assert len(model.requests) == 1


async def test_what_waits_for_a_pause_survives_a_restart(home: Path) -> None:
    async with talk(home) as (here, _):
        (turn,) = here.say("one")
        await still_held(here, 1)
        clock = here.clock
    async with talk(home) as (here, model):
        here.clock = clock + 1
        await still_held(here, 1)
        here.step(QUIET)
        await here.runs(1)
        assert here.queue.states([turn]) == {turn: "done"}
    assert len(model.requests) == 1


async def test_a_turn_that_waited_is_not_paid_for_twice(home: Path) -> None:
    """Ten corrections, one every half minute: one request, where each alone would have cost one."""
    async with talk(home) as (here, model):
        script = here.session()
        for number in range(10):
            script.turn(f"rather {number}", "ok")
            here.add(script)
            here.step(30)
            await here.idle()
        here.step(QUIET)
        (run,) = await here.runs(1)
    assert run.turns == 10
    assert len(model.requests) == 1
