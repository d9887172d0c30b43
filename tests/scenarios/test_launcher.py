"""What Claude Code runs for memoryd never stands in its way, and obeys no repository."""

import fcntl
import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.client.test_install import THEIRS
from tests.support.removable import BREAKS, Removable, without_path
from tests.support.running import environment
from tests.support.scripted_daemon import Result, ScriptedDaemon

PATIENCE_SECONDS = 30
PROMPT = b'{"hook_event_name": "UserPromptSubmit", "prompt": "hello"}'


@pytest.fixture
def installed(home: Path) -> Removable:
    (home / ".claude/settings.json").write_text(THEIRS)
    (home / ".claude.json").write_text('{"numStartups": 7}')
    installation = Removable(home)
    done = installation.run("install", "--hooks", "claude-code", "--mcp")
    assert done.returncode == 0, done.stderr
    return installation


def hook_command(home: Path) -> str:
    settings = json.loads((home / ".claude/settings.json").read_text())
    return str(settings["hooks"]["UserPromptSubmit"][-1]["hooks"][-1]["command"])


def run_as_the_client(
    home: Path, env: Mapping[str, str], payload: bytes = PROMPT
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["/bin/sh", "-c", hook_command(home)],
        env=env,
        input=payload,
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def assert_silent(done: subprocess.CompletedProcess[bytes]) -> None:
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("broken", BREAKS)
def test_whatever_is_missing_the_hook_succeeds_and_is_silent(
    installed: Removable, broken: str
) -> None:
    BREAKS[broken](installed)
    assert_silent(run_as_the_client(installed.home, environment(installed.home)))


@pytest.mark.parametrize("env", [{}, {"PATH": ""}, {"PATH": "/nowhere"}])
def test_the_hook_needs_no_environment(installed: Removable, env: dict[str, str]) -> None:
    answer = {"hook": Result({"stdout": "a memory\n"})}
    with ScriptedDaemon(installed.home / "run/memoryd.sock", answer):
        done = run_as_the_client(installed.home, env)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"a memory\n", b"")


@pytest.mark.parametrize("cached", ["nothing", "garbage", "a file for the folder"])
def test_the_hook_runs_whatever_is_in_the_cache_of_compiled_code(
    installed: Removable, cached: str
) -> None:
    folder = installed.package / "__pycache__"
    shutil.rmtree(folder, ignore_errors=True)
    if cached == "garbage":
        folder.mkdir()
        name = Path(importlib.util.cache_from_source("hook.py")).name
        (folder / name).write_bytes(importlib.util.MAGIC_NUMBER + b"garbage")
    elif cached != "nothing":
        folder.write_text("")
    answers = {"hook": Result({"stdout": "ours"}), "statusline": Result({"stdout": "a line"})}
    with ScriptedDaemon(installed.home / "run/memoryd.sock", answers):
        assert run_as_the_client(installed.home, {}).stdout == b"ours"
        line = subprocess.run(
            ["/bin/sh", installed.launcher, "statusline"],
            env={},
            input=PROMPT,
            capture_output=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
    assert (line.returncode, line.stdout, line.stderr) == (0, b"a line\n", b"")


def evil_environment(home: Path, folder: Path, word: str) -> dict[str, str]:
    """What a repository's settings may set, with code behind each that leaves a trace."""
    folder.mkdir()
    trace = f"open({str(folder / 'trace')!r}, 'w')\n"
    for module in ("sitecustomize", "usercustomize", "json", "socket", "_socket", "startup"):
        (folder / f"{module}.py").write_text(trace)
    for program in ("python3", "python", "sh", "memoryd", "env", "["):
        (folder / program).write_text(f"#!/bin/sh\n: >{folder}/trace\n")
        (folder / program).chmod(0o755)
    return environment(home) | {
        "PYTHONPATH": str(folder),
        "PYTHONSTARTUP": str(folder / "startup.py"),
        "PYTHONHOME": str(folder),
        "PYTHONINSPECT": "1",
        "PATH": str(folder),
        "MEMORYD_SOCKET": str(folder / word),
        "XDG_STATE_HOME": str(folder),
        "BASH_ENV": str(folder / "sh"),
        "ENV": str(folder / "sh"),
    }


def test_a_repositorys_variables_do_not_reach_the_hook(
    installed: Removable, tmp_path: Path
) -> None:
    env = evil_environment(installed.home, tmp_path / "repo", "stolen.sock")
    with (
        ScriptedDaemon(tmp_path / "repo/stolen.sock", {"hook": Result({"stdout": "evil"})}) as evil,
        ScriptedDaemon(installed.home / "run/memoryd.sock", {"hook": Result({"stdout": "ours"})}),
    ):
        done = run_as_the_client(installed.home, env)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"ours", b"")
    assert evil.requests == []
    assert not (tmp_path / "repo/trace").exists()


def server_words(home: Path) -> list[str]:
    server = json.loads((home / ".claude.json").read_text())["mcpServers"]["memoryd"]
    return [server["command"], *server["args"]]


def ask_the_server(home: Path, env: Mapping[str, str], *requests: Any) -> list[Any]:
    given = "".join(
        json.dumps({"jsonrpc": "2.0", "id": number, **request}) + "\n"
        for number, request in enumerate(requests)
    )
    done = subprocess.run(
        server_words(home),
        env=env,
        input=given,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_repositorys_variables_do_not_reach_the_server(
    installed: Removable, tmp_path: Path
) -> None:
    env = evil_environment(installed.home, tmp_path / "repo", "stolen.sock")
    recall = {"method": "tools/call", "params": {"name": "recall", "arguments": {"query": "x"}}}
    with (
        ScriptedDaemon(tmp_path / "repo/stolen.sock", {"recall": Result({"text": "evil"})}) as evil,
        ScriptedDaemon(installed.home / "run/memoryd.sock", {"recall": Result({"text": "ours"})}),
    ):
        _, answer = ask_the_server(installed.home, env, {"method": "initialize"}, recall)
    assert answer["result"]["content"][0]["text"] == "ours"
    assert evil.requests == []
    assert not (tmp_path / "repo/trace").exists()


def test_the_server_needs_no_path(installed: Removable) -> None:
    (answer,) = ask_the_server(
        installed.home, without_path(environment(installed.home)), {"method": "initialize"}
    )
    assert answer["result"]["serverInfo"]["name"] == "memoryd"


LISTENER = """
import os, socket, sys
path = sys.argv[1]
os.setuid(12345)
server = socket.socket(socket.AF_UNIX)
server.bind(path)
server.listen()
print("listening", flush=True)
connection = server.accept()[0]
connection.settimeout(10)
print(connection.recv(100), flush=True)
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can start another user's process")
def test_a_prompt_never_goes_to_another_users_process(home: Path) -> None:
    """Who owns the socket's file proves nothing about who listens; root gives files away."""
    path = home / "run/memoryd.sock"
    for folder in (home / "run", home, home.parent, *list(home.parent.parents)[:-2]):
        folder.chmod(0o777)
    with subprocess.Popen(
        [sys.executable, "-c", LISTENER, str(path)], stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"listening\n"
        os.chown(path, 0, 0)
        done = subprocess.run(
            [sys.executable, "-c", "from memoryd_client.entry import main; main()", "hook"],
            env=environment(home) | {"PYTHONPATH": os.pathsep.join(sys.path)},
            input=PROMPT,
            capture_output=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        assert_silent(done)
        assert other.stdout.readline() == b"b''\n"


def test_a_silent_stranger_on_the_socket_costs_only_the_deadline(installed: Removable) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(installed.home / "run/memoryd.sock"))
        listener.listen()
        assert_silent(run_as_the_client(installed.home, environment(installed.home)))


@pytest.mark.parametrize("broken", [name for name in BREAKS if "launcher" not in name])
def test_a_half_removed_installation_can_still_be_uninstalled(
    installed: Removable, broken: str
) -> None:
    home = installed.home
    BREAKS[broken](installed)
    done = installed.uninstall_what_is_left("--yes")
    assert done.returncode == 0, done.stderr
    assert (home / ".claude/settings.json").read_text() == THEIRS
    assert (home / ".claude.json").read_text() == '{"numStartups": 7}'
    assert not (home / ".local/share").exists()


def test_without_the_package_no_command_of_it_is_recommended(installed: Removable) -> None:
    state = installed.home / ".local/state/memoryd"
    state.mkdir(parents=True, exist_ok=True)
    (state / "state.db").touch()
    BREAKS["package gone"](installed)
    with (state / "memoryd.lock").open("w") as lock:
        lock.write("4711")
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)  # as a daemon that was started by hand
        shown = " ".join(installed.uninstall_what_is_left("--yes").stdout.split())
    assert f"stay in {state}; remove that folder if you do not want them." in shown
    assert "kill 4711 ends it" in shown
    assert "memoryd stop" not in shown
    assert "memoryd uninstall" not in shown


def test_what_is_left_can_be_removed_from_a_new_installation(installed: Removable) -> None:
    """Somebody removes the data folder by hand, and installs memoryd again to clean the rest."""
    home = installed.home
    for path in sorted((home / ".local/share/memoryd").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    assert_silent(run_as_the_client(home, environment(home)))
    done = installed.run("uninstall", "--yes")
    assert done.returncode == 0, done.stderr
    assert (home / ".claude/settings.json").read_text() == THEIRS


def test_the_launcher_goes_last(installed: Removable) -> None:
    assert installed.run("uninstall", "--mcp").returncode == 0
    assert installed.launcher.exists()
    assert installed.run("uninstall", "--hooks", "claude-code").returncode == 0
    assert not installed.launcher.parent.parent.exists()


OLD = (
    "/usr/bin/python3.12 -I -S -E /opt/venv/lib/python3.12/site-packages/memoryd_client/hook.py",
    "/home/me/.local/bin/memoryd hook",
)


@pytest.mark.parametrize("old", OLD)
def test_commands_of_earlier_versions_are_replaced_and_removed(home: Path, old: str) -> None:
    settings = home / ".claude/settings.json"
    entry = {"hooks": [{"type": "command", "command": old, "timeout": 5}]}
    old_settings = json.dumps({"model": "m", "hooks": {"Stop": [entry], "Notification": [entry]}})
    settings.write_text(old_settings)
    installation = Removable(home)
    assert installation.run("install", "--hooks", "claude-code").returncode == 0
    hooks = json.loads(settings.read_text())["hooks"]
    assert [one["command"] for group in hooks["Stop"] for one in group["hooks"]] == [
        hook_command(home)
    ]
    settings.write_text(old_settings)
    assert installation.run("uninstall", "--hooks", "claude-code").returncode == 0
    assert json.loads(settings.read_text()) == {"model": "m"}
