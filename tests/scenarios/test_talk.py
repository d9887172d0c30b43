"""With a model, a session's turns wait for a pause: what ends the wait, and what a kill changes."""

import signal
from pathlib import Path
from typing import Any

from tests.scenarios.test_extraction import Session, configure, states, wait_until_idle, with_model
from tests.support.extraction_fixtures import messages_in
from tests.support.running import Daemon, give_way
from tests.support.scripted_model import ScriptedModel, says

NEVER = 600  # seconds, longer than any test


def wait_for_held(daemon: Daemon, count: int) -> None:
    """Until so many turns are stored and wait for a pause."""
    with daemon.peer() as peer:
        while peer.call("status")["queue"]["held"] != count:
            give_way()


def end(daemon: Daemon, session: Session) -> None:
    """What the client's hook says when a session ends."""
    payload: dict[str, Any] = {
        "hook_event_name": "SessionEnd",
        "session_id": session.session_id,
        "transcript_path": str(session.path),
        "cwd": session.cwd,
        "reason": "prompt_input_exit",
    }
    with daemon.peer() as peer:
        assert peer.call("hook", **payload)["stdout"] == ""


def wait_for_turns(daemon: Daemon, home: Path, turns: list[str]) -> None:
    while {states(home).get(turn, ("new",))[0] for turn in turns} != {"done"}:
        wait_until_idle(daemon)


def test_a_correction_goes_with_what_it_corrects_and_the_sessions_end_ends_the_wait(
    daemon: Daemon, home: Path
) -> None:
    configure(home, "", quiet_seconds=NEVER)
    with ScriptedModel(lambda _: says("Nothing.")) as model:
        with_model(daemon, model).start()
        session = Session(home)
        first = session.turn("Deploy on Fridays", "Fine.")
        wait_for_held(daemon, 1)
        second = session.turn("No, on Mondays", "Fine.")
        wait_for_held(daemon, 2)
        assert model.requests == []
        end(daemon, session)
        wait_for_turns(daemon, home, [first, second])
        (request,) = model.requests
        assert "| Deploy on Fridays" in messages_in(request)
        assert "| No, on Mondays" in messages_in(request)


def test_a_compaction_ends_the_wait(daemon: Daemon, home: Path) -> None:
    configure(home, "", quiet_seconds=NEVER)
    with ScriptedModel(lambda _: says("Nothing.")) as model:
        with_model(daemon, model).start()
        session = Session(home)
        turn = session.turn("Deploy on Fridays", "Fine.")
        wait_for_held(daemon, 1)
        session.system("compact_boundary", compactMetadata={"trigger": "auto", "preTokens": 9})
        wait_for_turns(daemon, home, [turn])
        assert len(model.requests) == 1


def test_a_prompt_that_is_not_answered_yet_holds_back_what_was_said_before(
    daemon: Daemon, home: Path
) -> None:
    configure(home, "", quiet_seconds=1)
    with ScriptedModel(lambda _: says("Nothing.")) as model:
        with_model(daemon, model).start()
        session = Session(home)
        first = session.turn("Deploy on Fridays", "Fine.")
        second = session.prompt("No, on Mondays")
        # Another session of the project is extracted meanwhile, and later than this one was due.
        other = Session(home, "other").turn("Hello", "Hello.")
        wait_for_turns(daemon, home, [other])
        assert states(home)[first][0] == "pending"
        session.answer("Fine.")
        session.system("turn_duration")
        wait_for_turns(daemon, home, [first, second])
        assert len(model.requests) == 2
        assert "| No, on Mondays" in messages_in(model.requests[1])


def test_kills_during_the_wait_lose_nothing_and_cost_nothing(daemon: Daemon, home: Path) -> None:
    configure(home, "", quiet_seconds=NEVER)
    with ScriptedModel(lambda _: says("Nothing.")) as model:
        with_model(daemon, model).start()
        session = Session(home)
        turns = []
        for number in range(3):
            turns.append(session.turn(f"Deploy part {number} on Fridays", "Fine."))
            wait_for_held(daemon, number + 1)
            daemon.stop(signal.SIGKILL)
            daemon.start()
        wait_for_held(daemon, 3)
        assert model.requests == []
        end(daemon, session)
        wait_for_turns(daemon, home, turns)
        (request,) = model.requests
        assert messages_in(request).count("@person") == 3
