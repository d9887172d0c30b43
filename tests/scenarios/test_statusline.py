"""The status line as the client asks for it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from memoryd.api.rules.status_line import status_line
from memoryd_client import launched
from tests.support.running import Daemon, environment
from tests.support.scripted_daemon import Result, ScriptedDaemon, Silence

LAUNCHED = (sys.executable, "-I", "-S", "-E", launched.__file__, "statusline")


def shown(home: Path, *words: str, payload: object = None) -> str:
    done = subprocess.run(
        [*LAUNCHED, *words],
        env=environment(home),
        input=json.dumps(payload or {"session_id": "s", "cwd": str(home)}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_it_counts_what_the_session_was_given(shared_daemon: Daemon, tmp_path: Path) -> None:
    cwd = str(tmp_path)
    asked = {"session_id": "line-1", "cwd": cwd, "model": {"id": "x"}, "workspace": {"k": 1}}
    with shared_daemon.peer() as peer:
        fact = {"name": "Staging", "description": "where staging is", "type": "reference"}
        peer.call("memory/save", cwd=cwd, **fact, body="Staging runs on host zebra-7.")
        assert peer.call("statusline", **asked)["stdout"] == "memoryd 0 memories"
        peer.call("recall", query="which host is staging on?", cwd=cwd, session_id="line-1")
    assert shown(shared_daemon.home, payload=asked) == "memoryd 1 memory\n"


def test_it_is_added_to_another_line(home: Path) -> None:
    answer = {"statusline": Result({"stdout": "memoryd 2 memories"})}
    with ScriptedDaemon(home / "run/memoryd.sock", answer):
        assert shown(home, "--append-to", "cat >/dev/null; echo main; echo clean") == (
            "main\nclean | memoryd 2 memories\n"
        )
        assert shown(home, "--append-to", "exit 3") == "memoryd 2 memories\n"


def test_another_line_gets_the_same_input(home: Path) -> None:
    assert shown(home, "--append-to", "cat", payload={"a": 1}) == '{"a": 1}\n'


def test_a_silent_daemon_costs_only_our_part(home: Path) -> None:
    with ScriptedDaemon(home / "run/memoryd.sock", {"statusline": Silence()}):
        assert shown(home, "--append-to", "echo mine") == "mine\n"
        assert shown(home) == ""


def test_it_loads_next_to_nothing(home: Path) -> None:
    done = subprocess.run(
        [LAUNCHED[0], "-X", "importtime", *LAUNCHED[1:]],
        env=environment(home),
        input=b"{}",
        capture_output=True,
        timeout=60,
        check=False,
    )
    loaded = {line.rpartition(b"|")[2].strip() for line in done.stderr.splitlines()}
    heavy = {b"argparse", b"json", b"pathlib", b"re", b"socket", b"typing", b"enum", b"subprocess"}
    assert heavy.isdisjoint(loaded)


@pytest.mark.parametrize(
    ("facts", "line"),
    [
        ({}, "memoryd 0 memories"),
        ({"given": 1}, "memoryd 1 memory"),
        ({"given": 3, "waiting": 2}, "memoryd 3 memories · inbox 2"),
        ({"is_dreaming": True}, "memoryd 0 memories · dreaming"),
        ({"pause_reason": "day-cap"}, "memoryd 0 memories · paused: daily budget used up"),
        ({"pause_reason": "breaker-open"}, "memoryd 0 memories · paused: provider"),
        ({"is_on": False, "given": 3}, "memoryd off"),
    ],
)
def test_the_line_says_only_what_matters(facts: dict[str, object], line: str) -> None:
    usual = {"is_on": True, "given": 0, "waiting": 0, "is_dreaming": False, "pause_reason": ""}
    assert status_line(**(usual | facts)) == line  # type: ignore[arg-type]
