"""What a person marked as private, or asked not to remember, is nowhere: whatever the door."""

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.scenarios.test_extraction import (
    Session,
    configure,
    states,
    wait_until_idle,
    with_model,
)
from tests.support.kept_text import places_with
from tests.support.running import COMMAND, Daemon, give_way
from tests.support.scripted_model import ScriptedModel, says

WORD = "heronmerger"
PRIVATE = f"<private>It is about {WORD}.</private>"


def hook(daemon: Daemon, session: Session, name: str, **keys: Any) -> str:
    payload = {
        "hook_event_name": name,
        "session_id": session.session_id,
        "transcript_path": str(session.path),
        "cwd": session.cwd,
        **keys,
    }
    with daemon.peer() as peer:
        return str(peer.call("hook", **payload)["stdout"])


def run(daemon: Daemon, session: Session, *words: str, stdin: str = "") -> str:
    """What a command prints, whether it succeeds or not."""
    Path(session.cwd).mkdir(exist_ok=True)
    done = subprocess.run(
        [*COMMAND, *words],
        env=daemon.env,
        cwd=session.cwd,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_private_words_pass_no_door(daemon: Daemon, home: Path) -> None:
    configure(home, "[log]\nlevel = 'debug'\n")
    with ScriptedModel(lambda _: says("Nothing.")) as model:
        with_model(daemon, model).start()
        session = Session(home)
        with daemon.peer() as peer:
            peer.call("recall", query="warm up", cwd=session.cwd)
        given = hook(daemon, session, "UserPromptSubmit", prompt=f"How do we deploy? {PRIVATE}")
        assert "marked part of this prompt as private" in given
        session.prompt(f"Remember that we deploy on Mondays. {PRIVATE}")
        session.answer(f"I will. Good luck with {WORD}.", usage={"input_tokens": 20_000})
        hook(daemon, session, "Stop")
        wait_until_idle(daemon)
        hook(daemon, session, "PreCompact", trigger="manual")
        hook(daemon, session, "UserPromptSubmit", prompt=f"/memoryd:remember {PRIVATE}")
        hook(daemon, session, "UserPromptSubmit", prompt=f"/memoryd:remember tabs! {PRIVATE}")
        assert "all of it is marked as private" in run(daemon, session, "remember", PRIVATE)
        run(daemon, session, "remember", f"We ship from Lisbon. {PRIVATE}")
        run(daemon, session, "recall", f"where from? {PRIVATE}")
        run(daemon, session, "notes", "--session", session.session_id)
        run(daemon, session, "checkpoint", "save", "before", "--session", session.session_id)
        calls = [
            {"method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
            {
                "method": "tools/call",
                "params": {
                    "name": "remember",
                    "arguments": {"text": f"Our tea is green. {PRIVATE}", "type": "project"},
                },
            },
        ]
        lines = (json.dumps({"jsonrpc": "2.0", "id": n} | one) for n, one in enumerate(calls))
        run(daemon, session, "mcp", stdin="\n".join(lines) + "\n")
        wait_until_idle(daemon)
        sent = json.dumps([request.body for request in model.requests])
        assert "deploy on Mondays" in sent
        assert WORD not in sent
    daemon.stop()
    assert places_with(home, "Mondays")
    assert places_with(home, "Lisbon")
    assert places_with(home, "tea is green")
    assert places_with(home, WORD) == []


def test_a_turn_that_shall_not_be_remembered_is_neither_sent_nor_noted(
    daemon: Daemon, home: Path
) -> None:
    with ScriptedModel(lambda _: says("Nothing.")) as model:
        with_model(daemon, model).start()
        session = Session(home)
        session.prompt(f"Always use tabs. Don't remember this: we buy {WORD}.")
        session.answer(f"Noted nowhere: {WORD}.", usage={"input_tokens": 20_000})
        hook(daemon, session, "Stop")
        wait_until_idle(daemon)
        hook(daemon, session, "PreCompact", trigger="manual")
        assert WORD not in json.dumps([request.body for request in model.requests])
    daemon.stop()
    assert session.files() == {}
    assert places_with(home, WORD) == []


def test_a_prompt_without_memory_gets_nothing_at_its_tool_calls_either(
    daemon: Daemon, home: Path
) -> None:
    daemon.start()
    session = Session(home)
    saved = "Never run rm -rf in the build folder; use make clean."
    with daemon.peer() as peer:
        peer.call("recall", query="warm up", cwd=session.cwd)
        peer.call(
            "memory/save",
            cwd=session.cwd,
            name="Clean the build folder",
            description=saved,
            type="feedback",
            body=saved,
        )
    call = {"tool_name": "Bash", "tool_input": {"command": "rm -rf build"}}
    asked = "How do I clean the build folder?"
    silent = hook(daemon, session, "UserPromptSubmit", prompt=f"Ignore your memory. {asked}")
    assert silent + hook(daemon, session, "PreToolUse", **call) == ""
    assert "make clean" in hook(daemon, session, "UserPromptSubmit", prompt=asked)


def test_an_excluded_project_is_not_read_and_gets_nothing(daemon: Daemon, home: Path) -> None:
    configure(home, '[privacy]\nexclude = ["~/secret-*", "salaries.csv"]\n')
    daemon.start()
    secret, plain = Session(home, "one", "secret-app"), Session(home, "two", "app")
    for session in (secret, plain):
        Path(session.cwd).mkdir()
        session.prompt(f"Remember that {WORD} of {session.session_id} deploys on Mondays.")
        call = session.call("Bash", {"command": "cut -f1 data/salaries.csv"})
        session.result(call, "falconpay 100")
        session.answer("Done.", usage={"input_tokens": 20_000})
        hook(daemon, session, "Stop")
    while not places_with(home, f"{WORD} of two"):
        wait_until_idle(daemon)
    assert places_with(home, f"{WORD} of one") == []
    assert places_with(home, "falconpay") == []
    assert hook(daemon, secret, "PreCompact") == hook(daemon, secret, "SessionStart") == ""
    assert "excluded by privacy.exclude" in run(daemon, secret, "status")
    with daemon.peer() as peer:
        assert peer.call("recall", query=f"{WORD} Mondays", cwd=secret.cwd)["memories"] == []


def test_memory_is_off_for_a_time_and_comes_back_by_itself(daemon: Daemon, home: Path) -> None:
    daemon.start()
    session = Session(home)
    assert "memory is off for" in run(daemon, session, "off", "--for", "2h")
    assert "off until" in run(daemon, session, "status")
    off = json.loads(run(daemon, session, "status", "--json"))["memory"]
    assert off["enabled"] is False
    assert off["until"] is not None
    session.turn(f"Remember that {WORD} deploys on Mondays.", "Fine.")
    while not states(home):
        wait_until_idle(daemon)
    with daemon.peer() as peer:
        peer.call("switch", enabled=False, cwd=session.cwd, seconds=0.01)
        while not peer.call("status", cwd=session.cwd)["memory"]["enabled"]:
            give_way()
        assert "seconds" in peer.ask("switch", enabled=True, seconds=5)["error"]["message"]
    wait_until_idle(daemon)
    ((state, reason),) = states(home).values()
    assert (state, reason.startswith("memory off")) == ("skipped", True)
    assert session.files() == {}
    assert "is not a length of time" in run(daemon, session, "off", "--for", "soon")
