"""Permissions and the status line: added beside what is there, removed without a trace."""

import itertools
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from memoryd_client.cli.main import main
from memoryd_client.connection.locations import locations
from memoryd_client.install import extras
from tests.client.test_install import THEIRS, Terminal

PARTS = (["--hooks", "claude-code"], ["--permissions"], ["--statusline"])
OWN = "printf '%s' \"it's mine\""


@pytest.fixture
def settings(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", "/nowhere")
    path = home / ".claude/settings.json"
    path.write_text(THEIRS)
    return path


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def test_only_tools_that_read_are_allowed(settings: Path) -> None:
    assert main(["install", "--permissions"]) == 0
    allowed = read(settings)["permissions"]["allow"]
    assert "mcp__memoryd__recall" in allowed
    assert "mcp__plugin_memoryd_memoryd__recall" in allowed
    assert not [name for name in allowed if name.endswith(("remember", "forget", "sort_inbox"))]


def test_what_the_person_allowed_stays(settings: Path) -> None:
    theirs = {"permissions": {"allow": ["Bash(make:*)"], "deny": ["WebFetch"]}}
    settings.write_text(json.dumps(theirs))
    assert main(["install", "--permissions"]) == 0
    assert main(["install", "--permissions"]) == 0
    allowed = read(settings)["permissions"]["allow"]
    assert allowed[0] == "Bash(make:*)"
    assert len(allowed) == len(set(allowed))
    assert main(["uninstall", "--permissions"]) == 0
    assert read(settings) == theirs


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("has_own", [True, False])
def test_parts_removed_in_any_order_leave_the_exact_bytes(
    settings: Path, order: tuple[int, ...], has_own: bool
) -> None:
    if has_own:
        own = {"statusLine": {"type": "command", "command": OWN, "padding": 0}}
        settings.write_text(json.dumps({"model": "x", **own}) + "\n\n")
    before = settings.read_bytes()
    for part in PARTS:
        assert main(["install", *part]) == 0
    for number in order:
        assert settings.read_bytes() != before
        assert main(["uninstall", *PARTS[number]]) == 0
    assert settings.read_bytes() == before
    assert [path.name for path in settings.parent.glob("settings.json*")] == ["settings.json"]


def status_line(path: Path, payload: str = "{}") -> str:
    command = read(path)["statusLine"]["command"]
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        input=payload,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_status_line_of_the_persons_own_is_never_replaced(settings: Path) -> None:
    settings.write_text(json.dumps({"statusLine": {"type": "command", "command": OWN}}))
    assert main(["install", "--statusline"]) == 0
    assert main(["install", "--statusline"]) == 0
    assert status_line(settings) == "it's mine\n"
    locations().launcher.unlink()
    assert status_line(settings) == "it's mine"
    assert main(["uninstall", "--statusline"]) == 0
    assert read(settings)["statusLine"]["command"] == OWN


def test_without_a_daemon_our_status_line_is_empty(settings: Path) -> None:
    assert main(["install", "--statusline"]) == 0
    assert status_line(settings) == ""
    locations().launcher.unlink()
    assert status_line(settings) == ""


def test_nobody_asked_means_a_status_line_of_their_own_is_left_alone(
    settings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.write_text(json.dumps({"statusLine": {"type": "command", "command": OWN}}))
    main(["install", "--yes"])
    assert read(settings)["statusLine"]["command"] == OWN


@pytest.mark.parametrize("odd", [None, [], "x", {"type": "static"}, {"command": 5}])
def test_an_odd_status_line_is_left_alone(settings: Path, odd: object) -> None:
    settings.write_text(json.dumps({"statusLine": odd}))
    value = {"statusLine": odd}
    extras.remove_status_line(value)
    assert value == {"statusLine": odd}
    if odd is not None:
        extras.add_status_line(value)
        assert value == {"statusLine": odd}


def test_permissions_are_offered_once_there_are_tools(
    settings: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("n\nn\nn\n"))
    assert main(["install"]) == 0
    assert "permissions" not in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", Terminal("n\ny\ny\nn\n"))
    assert main(["install"]) == 0
    assert "permissions: lets" in capsys.readouterr().out
    assert "mcp__memoryd__recall" in settings.read_text()
