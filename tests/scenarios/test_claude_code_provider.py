"""The daemon with the person's own client as its model, played by a small program of ours."""

import json
import os
import signal
import sys
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.test_extraction import Session, configure, states, wait_until_idle
from tests.support.extraction_fixtures import memory_text
from tests.support.running import Daemon, environment, give_way
from tests.support.stand_in_client import (
    SIGNED_OUT,
    StandInClient,
    Step,
    answers,
    ends,
    fails,
    rate,
    writes,
)
from tests.support.thinning import thinned

SAID = "From now on always use tabs in Makefiles, because make insists on them."
NOTHING = answers({"text": "", "calls": []})
TABS = writes("feedback_tabs.md", memory_text("Tabs"))
HOOK = Path(__file__).parents[2] / "client/memoryd_client/hook.py"


class NowSession(Session):
    """A session of this hour: an older one would be a backlog."""

    def put(self, kind: str, **keys: Any) -> str:
        return super().put(kind, **({"timestamp": datetime.now(UTC).isoformat()} | keys))


@pytest.fixture
def client(home: Path) -> StandInClient:
    made = StandInClient(home)
    set_up(home, made)
    return made


def set_up(home: Path, client: StandInClient, **limits: object) -> None:
    lines = [f"{name} = {value}" for name, value in ({"minutes_apart": 0} | limits).items()]
    configure(
        home,
        '[model]\nprovider = "claude-code"\n[model.claude_code]\n'
        f'command = "{client.path}"\n' + "\n".join(lines) + "\n",
    )


@pytest.fixture
def daemon(home: Path) -> Iterator[Daemon]:
    made = Daemon(home, MEMORYD_FORBID_NETWORK="0", ANTHROPIC_API_KEY="sk-ant-not-for-the-client")
    yield made
    made.end()


def finished_by(daemon: Daemon, session: Session, said: str = SAID) -> dict[str, Any]:
    """What the daemon tells of the run for this turn."""
    with daemon.peer() as peer:
        peer.call("events/subscribe", kinds=["extraction/finished"])
        session.turn(said, "Understood.")
        with daemon.peer() as other:
            end_session(other, session)
        return peer.next_event()


def end_session(peer: Any, session: Session) -> None:
    params = {"session_id": session.session_id, "transcript_path": str(session.path)}
    peer.call("hook", hook_event_name="SessionEnd", cwd=session.cwd, **params)


def plan_of(daemon: Daemon) -> dict[str, Any]:
    with daemon.peer() as peer:
        plan: dict[str, Any] = peer.call("status")["plan"]
        return plan


def test_a_turn_becomes_a_memory_by_one_call_of_the_client(
    daemon: Daemon, client: StandInClient, home: Path
) -> None:
    client.plays(TABS, NOTHING)
    daemon.start()
    session = NowSession(home)
    run = finished_by(daemon, session)
    assert (run["verdict"], run["files"]) == ("done", ["feedback_tabs.md"])
    assert session.files().keys() == {"feedback_tabs.md"}
    (call,) = client.calls
    assert "always use tabs in Makefiles" in call.stdin
    assert "ANTHROPIC_API_KEY" not in client.calls[0].env
    status = wait_until_idle(daemon)
    assert (status["provider"], status["model"]) == ("claude-code", "claude-code/haiku")
    assert status["plan"]["calls"] == len(client.calls)
    assert status["plan"]["tokens"] == 1000 * len(client.calls)
    assert status["plan"]["problem"] == ""
    assert status["spending"]["today_usd"] == 0


def test_a_session_that_goes_on_is_not_extracted_before_it_ends_or_is_idle(
    daemon: Daemon, client: StandInClient, home: Path
) -> None:
    client.plays(NOTHING)
    daemon.start()
    session = NowSession(home)
    with daemon.peer() as peer:
        peer.call("events/subscribe", kinds=["extraction/finished"])
        session.turn(SAID, "Understood.")
        with daemon.peer() as other:
            other.call("turn/ended", session_id="s", transcript_path=str(session.path))
            while other.call("status")["queue"]["held"] < 1:
                give_way()
            session.turn("And in Go files.", "Yes.")
            other.call("turn/ended", session_id="s", transcript_path=str(session.path))
            while other.call("status")["queue"]["held"] < 2:
                give_way()
            assert client.calls == []
            end_session(other, session)
        assert peer.next_event()["turns"] == 2
    assert len(client.calls) == 1


def test_status_and_cost_show_what_is_left_of_the_day(
    daemon: Daemon, client: StandInClient, home: Path
) -> None:
    client.plays(NOTHING)
    daemon.start()
    finished_by(daemon, NowSession(home))
    shown = daemon.run("status").stdout
    assert "claude-code, haiku" in shown
    assert "1 of 24 calls used today, 1.0k of 300.0k tokens; 23 calls left" in shown
    cost = daemon.run("cost").stdout
    assert "23 calls left" in cost
    assert "claude-code/haiku" in cost


def test_the_days_limit_holds_and_survives_a_restart_and_what_waits_is_not_lost(
    daemon: Daemon, client: StandInClient, home: Path
) -> None:
    set_up(home, client, calls_per_day=1)
    client.plays(NOTHING)
    daemon.start()
    finished_by(daemon, NowSession(home, "first"))
    daemon.stop(signal.SIGKILL)
    daemon.start()
    later = NowSession(home, "later", "other")
    later.turn(SAID, "Understood.")
    with daemon.peer() as peer:
        end_session(peer, later)
        while "later-line-1" not in json.dumps([*states(home)]):
            give_way()
        plan = peer.call("status")["plan"]
    assert (plan["calls"], plan["waits"]) == (1, "the day's 1 calls are used up")
    assert plan["until"]
    assert len(client.calls) == 1
    assert {state for state, _ in states(home).values()} == {"pending", "done"}
    shown = daemon.run("status").stdout
    assert "0 calls left" in shown
    assert "the next extraction waits until" in shown


@pytest.mark.parametrize("lack", thinned(["client", "version", "login"]))
def test_without_a_usable_client_the_built_in_rules_do_the_work_and_status_says_why(
    daemon: Daemon, client: StandInClient, home: Path, lack: str
) -> None:
    words = {"client": "was not found", "version": "2.1.100 is too old", "login": "not logged in"}
    client.version = "2.1.100 (Claude Code)" if lack == "version" else client.version
    client.plays(SIGNED_OUT)
    if lack == "client":
        client.path.unlink()
    daemon.start()
    session = NowSession(home)
    run = finished_by(daemon, session)
    assert run["verdict"] == "done"
    assert len(session.files()) == 1
    assert words[lack] in plan_of(daemon)["problem"]
    again = finished_by(daemon, NowSession(home, "again", "other"), "From now on use spaces.")
    assert again["verdict"] == "done"
    assert len(client.calls) == (1 if lack == "login" else 0), "it is not asked again at once"
    assert "the built-in rules do the work" in daemon.run("status").stdout.replace("\n", " ")


def test_a_plan_that_is_used_up_lets_turns_wait(
    daemon: Daemon, client: StandInClient, home: Path
) -> None:
    resets = datetime.now(UTC).timestamp() + 7200
    rejected = rate("rejected", rateLimitType="five_hour", resetsAt=resets)
    broken = fails("You've hit your limit", 429, "rate_limit")
    client.plays(Step([rejected, *broken.events], status=1))
    daemon.start()
    session = NowSession(home)
    run = finished_by(daemon, session)
    assert (run["verdict"], run["files"]) == ("paused", [])
    assert session.files() == {}
    assert {state for state, _ in states(home).values()} == {"pending"}
    plan = plan_of(daemon)
    assert plan["waits"] == "the plan's limit for five hours is reached"
    daemon.stop(signal.SIGKILL)
    daemon.start()
    assert plan_of(daemon)["waits"] == plan["waits"], "a restart does not try again"
    assert len(client.calls) == 1


def test_a_backlog_is_left_to_the_built_in_rules(
    daemon: Daemon, client: StandInClient, home: Path
) -> None:
    daemon.start()
    session = Session(home)  # said long ago
    run = finished_by(daemon, session)
    assert run["verdict"] == "done"
    assert len(session.files()) == 1
    assert client.calls == []


def test_two_projects_at_once_are_two_calls_one_after_the_other(
    daemon: Daemon, client: StandInClient, home: Path
) -> None:
    client.plays(NOTHING)
    daemon.start()
    with daemon.peer() as peer:
        peer.call("events/subscribe", kinds=["extraction/finished"])
        sessions = [NowSession(home, name, name) for name in ("one", "two", "three")]
        for session in sessions:
            session.turn(SAID, "Understood.")
        with daemon.peer() as other:
            for session in sessions:
                end_session(other, session)
        assert {peer.next_event()["verdict"] for _ in sessions} == {"done"}
    assert [call.alone for call in client.calls] == [True] * 3


def test_an_at_sign_in_what_a_person_said_makes_the_client_read_nothing(
    daemon: Daemon, client: StandInClient, home: Path
) -> None:
    (home / "plan.txt").write_text("the launch code")
    client.plays(NOTHING)
    daemon.start()
    finished_by(daemon, NowSession(home), f"Read @{home}/plan.txt. {SAID}")
    assert client.calls[0].attached == []
    assert f"\\u0040{home}/plan.txt" in client.calls[0].stdin


def test_a_hook_that_a_policy_forces_on_the_client_does_not_come_back_to_us(
    daemon: Daemon, client: StandInClient, home: Path
) -> None:
    variables = [f"{name}={value}" for name, value in environment(home).items()]
    payload = json.dumps({"hook_event_name": "Stop", "transcript_path": "x"})
    script = f"printf '%s' '{payload}' | {sys.executable} -I -S -E {HOOK}; echo ended"
    client.hook = ["env", *[one for one in variables if "\n" not in one], "sh", "-c", script]
    client.plays(NOTHING)
    daemon.start()
    assert finished_by(daemon, NowSession(home))["verdict"] == "done"
    assert client.calls[0].hook == "ended\n"
    assert len(client.calls) == 1


def dreamt(daemon: Daemon, cwd: str) -> dict[str, Any]:
    """How a dream over two memories went."""
    with daemon.peer() as peer:
        peer.call("events/subscribe", kinds=["dream/finished"])
        with daemon.peer() as other:
            for word in ("alpha", "omega"):
                words = {"name": word, "description": word, "type": "project", "body": word}
                other.call("memory/save", cwd=cwd, **words)
            other.call("dream/start", cwd=cwd, force=True)
        peer.next_event()
        (dream, *_) = peer.call("dream/log", cwd=cwd)["dreams"]
    return dict(dream)


def test_a_dream_asks_the_client_and_is_dreamt_by_rules_when_the_rest_is_for_extraction(
    daemon: Daemon, client: StandInClient, home: Path
) -> None:
    set_up(home, client, calls_per_day=2)
    client.plays(answers({"text": "Nothing to merge.", "calls": []}))
    daemon.start()
    first = dreamt(daemon, str(home / "app"))
    assert (first["state"], first["summary"]["how"]) == ("done", "model")
    second = dreamt(daemon, str(home / "other"))
    assert (second["state"], second["summary"]["how"]) == ("done", "embedded")
    assert len(client.calls) == 1


def test_an_import_is_announced_as_what_it_is(
    daemon: Daemon, client: StandInClient, home: Path
) -> None:
    daemon.start()
    with daemon.peer() as peer:
        estimate = peer.call("import/start", since="2020-01-01", dry_run=True, cwd=str(home))
    assert (estimate["model"], estimate["usd"]) == ("the built-in rules", 0.0)
    assert client.calls == []


def test_recall_never_asks_the_client(daemon: Daemon, client: StandInClient, home: Path) -> None:
    daemon.start()
    with daemon.peer() as peer:
        cwd = str(home / "app")
        memory = {"name": "Tabs", "description": "use tabs", "type": "feedback", "body": "Tabs."}
        peer.call("memory/save", cwd=cwd, **memory)
        answer = peer.call("recall", query="which indentation: tabs?", cwd=cwd, deadline_ms=5000)
    assert answer["selector"] == "embedded"
    assert client.calls == []


def test_a_client_ends_with_the_daemon_however_that_ends(
    daemon: Daemon, client: StandInClient, home: Path
) -> None:
    client.plays(Step([], then="sleep"))
    daemon.start()
    session = NowSession(home)
    session.turn(SAID, "Understood.")
    with daemon.peer() as peer:
        end_session(peer, session)
        while not client.calls:
            give_way()
    process = os.pidfd_open(client.calls[0].pid)
    try:
        daemon.stop(signal.SIGKILL)
        assert ends(process)
    finally:
        os.close(process)


def test_doctor_tries_the_client_and_says_what_it_cost_and_how_long_it_took(
    daemon: Daemon, client: StandInClient
) -> None:
    daemon.start()
    done = daemon.run("doctor", "--provider", "--json")
    (found,) = [one for one in json.loads(done.stdout) if one["check"] == "model server"]
    assert found["verdict"] == "ok"
    assert found["reason"].startswith("claude-code answered with claude-code/haiku in ")
    assert found["reason"].endswith("for $0.000000 (960 tokens in, 40 out)")
    assert plan_of(daemon)["calls"] == 1


def test_doctor_fails_in_the_clients_own_words(daemon: Daemon, client: StandInClient) -> None:
    client.plays(SIGNED_OUT)
    daemon.start()
    done = daemon.run("doctor", "--provider")
    assert done.returncode == 1
    assert "it says: Not logged in: run /login first" in " ".join(done.stdout.split())
    client.plays(answers({"text": "yes"}))
    again = daemon.run("doctor", "--provider", "--json")
    assert '"fail"' not in json.dumps(
        [one for one in json.loads(again.stdout) if one["check"] == "model server"]
    )
    assert plan_of(daemon)["problem"] == "", "a check that succeeds ends the pause"


def test_it_is_never_chosen_without_its_name(home: Path, daemon: Daemon) -> None:
    client = StandInClient(home)
    (home / ".local/bin").mkdir()
    (home / ".local/bin/claude").symlink_to(client.path)
    del daemon.env["ANTHROPIC_API_KEY"]
    daemon.env["PATH"] = f"{client.folder}:{daemon.env['PATH']}"
    daemon.start()
    finished_by(daemon, NowSession(home))
    with daemon.peer() as peer:
        assert peer.call("status")["provider"] == "embedded"
    assert client.calls == []


def test_a_program_of_the_users_does_the_same(daemon: Daemon, home: Path) -> None:
    program = home / "model"
    note = memory_text("Tabs")
    call = {"tool": "Write", "input": {"file_path": "feedback_tabs.md", "content": note}}
    document = json.dumps({"text": "", "calls": [call]})
    program.write_text(
        f"#!{sys.executable} -IS\nimport sys\nprompt = sys.stdin.read()\n"
        "if 'A tool' in prompt and 's result: ' in prompt:\n"
        """    print('{"text": "Saved.", "calls": []}')\n"""
        f"else:\n    print({document!r})\n"
    )
    program.chmod(0o700)
    configure(home, f'[model]\nprovider = "command"\ncommand = ["{program}", "--quiet"]\n')
    assert tomllib.loads((home / ".config/memoryd/config.toml").read_text())
    daemon.start()
    session = NowSession(home)
    run = finished_by(daemon, session)
    assert (run["verdict"], run["files"]) == ("done", ["feedback_tabs.md"])
    status = wait_until_idle(daemon)
    assert (status["provider"], status["model"]) == ("command", "command/model")
    assert status["plan"]["calls_per_day"] == 200


@pytest.mark.parametrize("provider", ["claude-code", "command"])
def test_the_switch_that_forbids_the_network_forbids_programs_too(
    home: Path, provider: str
) -> None:
    configure(home, f'[model]\nprovider = "{provider}"\ncommand = ["model"]\n')
    daemon = Daemon(home).start()
    try:
        with daemon.peer() as peer:
            assert "MEMORYD_FORBID_NETWORK does not allow" in str(peer.call("ping")["problems"])
            assert peer.call("status")["provider"] == "embedded"
    finally:
        daemon.end()


def test_the_provider_command_needs_a_command(home: Path) -> None:
    configure(home, '[model]\nprovider = "command"\n')
    daemon = Daemon(home, MEMORYD_FORBID_NETWORK="0").start()
    try:
        with daemon.peer() as peer:
            assert "there is no model.command" in str(peer.call("ping")["problems"])
    finally:
        daemon.end()
