"""Installing adds our entries to the agent's settings, changes nothing else, and can be undone."""

import io
import json
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from memoryd_client.cli.main import main
from memoryd_client.connection.locations import locations
from memoryd_client.install import claude_code

THEIRS = """{
    "model": "opus",
    "hooks": {
        "Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "say done"}]}]
    },
    "unknownÜ": [1, 2.5, null, {"deep": true}]
}"""


@pytest.fixture(autouse=True)
def no_claude_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer has one, and systemd; what is offered must not depend on that."""
    monkeypatch.setenv("PATH", "/nowhere")


@pytest.fixture
def settings(home: Path) -> Path:
    path = home / ".claude/settings.json"
    path.write_text(THEIRS)
    path.chmod(0o640)
    return path


def hooks_in(path: Path) -> dict[str, list[Any]]:
    return dict(json.loads(path.read_text())["hooks"])


def test_every_hook_is_added_after_what_is_there(settings: Path) -> None:
    assert main(["install", "--hooks", "claude-code"]) == 0
    hooks = hooks_in(settings)
    assert set(hooks) == set(claude_code.EVENTS)
    assert hooks["Stop"][0]["hooks"][0]["command"] == "say done"
    command = hooks["UserPromptSubmit"][0]["hooks"][0]["command"]
    assert command.startswith("/bin/sh /")
    assert command.endswith("; exit 0")
    assert list(json.loads(settings.read_text())) == ["model", "hooks", "unknownÜ"]
    assert "\n    " in settings.read_text()
    assert stat.S_IMODE(settings.stat().st_mode) == 0o640


def test_the_installed_command_runs_and_never_fails(settings: Path) -> None:
    main(["install", "--hooks", "claude-code"])
    command = hooks_in(settings)["Stop"][-1]["hooks"][0]["command"]
    done = subprocess.run(  # noqa: S602 - as the client runs it
        command,
        shell=True,
        input=b"{}",
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_installing_twice_is_installing_once(settings: Path) -> None:
    main(["install", "--hooks", "claude-code"])
    once = settings.read_bytes()
    assert main(["install", "--hooks", "claude-code"]) == 0
    assert settings.read_bytes() == once


def test_uninstalling_restores_the_exact_bytes(settings: Path) -> None:
    main(["install", "--hooks", "claude-code"])
    main(["install", "--hooks", "claude-code"])
    assert main(["uninstall", "--hooks", "claude-code"]) == 0
    assert settings.read_text() == THEIRS
    assert [path.name for path in settings.parent.glob("settings.json*")] == ["settings.json"]


def test_later_changes_stay_when_our_entries_go(settings: Path) -> None:
    main(["install", "--hooks", "claude-code"])
    now = json.loads(settings.read_text())
    now["model"] = "haiku"
    settings.write_text(json.dumps(now))
    assert main(["uninstall", "--hooks", "claude-code"]) == 0
    assert json.loads(settings.read_text()) == json.loads(THEIRS) | {"model": "haiku"}


def test_without_settings_a_file_is_made_and_removed_again(home: Path) -> None:
    path = home / ".claude/settings.json"
    assert main(["install", "--hooks", "claude-code"]) == 0
    assert set(hooks_in(path)) == set(claude_code.EVENTS)
    assert main(["uninstall", "--hooks", "claude-code"]) == 0
    assert not path.exists()


def test_a_link_to_a_dotfile_stays_a_link(home: Path) -> None:
    real = home / "dotfiles.json"
    real.write_text(THEIRS)
    (home / ".claude/settings.json").symlink_to(real)
    main(["install", "--hooks", "claude-code"])
    assert (home / ".claude/settings.json").is_symlink()
    assert "UserPromptSubmit" in hooks_in(real)


@pytest.mark.parametrize("broken", ["{", "[]", '{"a": 1} // note', "\x00", "5"])
def test_settings_that_cannot_be_read_are_left_with_an_error(
    home: Path, broken: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = home / ".claude/settings.json"
    path.write_text(broken)
    assert main(["install", "--hooks", "claude-code"]) == 1
    assert path.read_text() == broken
    assert "left as it is" in capsys.readouterr().err


def test_the_server_is_added_and_removed(home: Path) -> None:
    path = home / ".claude.json"
    path.write_text('{"numStartups": 7, "mcpServers": {"other": {"command": "x"}}}')
    assert main(["install", "--mcp"]) == 0
    servers = json.loads(path.read_text())["mcpServers"]
    assert servers["memoryd"]["args"] == [str(locations().launcher), "mcp"]
    assert Path(servers["memoryd"]["command"]).is_absolute()
    assert servers["other"] == {"command": "x"}
    assert main(["uninstall", "--mcp"]) == 0
    assert "memoryd" not in path.read_text()


def test_no_copy_of_the_file_with_the_login_is_kept(home: Path) -> None:
    path, older = home / ".claude.json", home / ".claude.json.before-memoryd"
    login = '{"primaryApiKey": "made-up", "mcpServers": {"other": {"command": "x"}}}'
    path.write_text(login)
    older.write_text(login)
    assert main(["install", "--mcp"]) == 0
    assert not older.exists(), "one of an older version goes"
    path.write_text(path.read_text().replace("made-up", ""))  # the person logs out
    left = [one for one in home.rglob("*") if one.is_file() and b"made-up" in one.read_bytes()]
    assert not left
    assert main(["uninstall", "--mcp"]) == 0
    assert json.loads(path.read_text()) == json.loads(login.replace("made-up", ""))


def test_without_a_terminal_or_flags_nothing_is_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert main(["install"]) == 2
    assert main(["install", "--json"]) == 2
    assert "--yes" in capsys.readouterr().err
    assert not (home / ".claude/settings.json").exists()


class Terminal(io.StringIO):
    """A person at the keyboard; after the last answer they press Ctrl-D."""

    def isatty(self) -> bool:
        return True


def test_step_by_step_each_part_is_shown_asked_about_done_and_checked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("\nperhaps\n"))
    assert main(["install"]) == 0
    shown = capsys.readouterr().out
    assert "service: not possible here, this system has no systemd" in shown
    assert "No daemon is running yet" in shown
    assert str(home / ".claude/settings.json") in shown
    assert "checked: the hook ran" in shown
    assert (home / ".claude/settings.json").exists()
    assert not (home / ".claude.json").exists()


def test_an_input_that_ends_is_a_no(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    assert main(["install"]) == 0
    assert capsys.readouterr().out.count("Proceed?") == 3
    assert not (home / ".claude/settings.json").exists()


REVIEWER = "May the agent sort them?"


def test_who_sorts_the_inbox_is_asked_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    config = home / ".config/memoryd/config.toml"
    parts = "\n\n\n\n"  # hooks, server, permissions, status line: there is no service here
    monkeypatch.setattr("sys.stdin", Terminal(f"{parts}\n"))
    assert main(["install"]) == 0
    assert "They wait for you: memoryd inbox" in capsys.readouterr().out
    assert not config.exists()
    monkeypatch.setattr("sys.stdin", Terminal(f"{parts}y\n"))
    assert main(["install"]) == 0
    assert config.read_text() == '[inbox]\nreviewer = "agent"\n'
    assert "no daemon is running; the next one reads it" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", Terminal(parts))
    assert main(["install"]) == 0
    assert REVIEWER not in capsys.readouterr().out


def test_who_sorts_the_inbox_is_not_asked_where_no_agent_could(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("n\ny\nn\ny\n"))
    assert main(["install"]) == 0
    assert REVIEWER not in capsys.readouterr().out
    monkeypatch.setenv("PATH", str(home / "no-programs"))  # nothing that keeps services
    main(["install", "--yes"])
    assert REVIEWER not in capsys.readouterr().out
    assert not (home / ".config/memoryd/config.toml").exists()


def test_removal_asks_only_about_what_is_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], settings: Path
) -> None:
    main(["install", "--hooks", "claude-code"])
    capsys.readouterr()
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    assert main(["uninstall"]) == 0
    assert settings.read_text() != THEIRS
    assert capsys.readouterr().out.count("Proceed?") == 1
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    assert main(["uninstall"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("Proceed?") == 1
    assert "hooks: sessions of Claude Code get no memories any more" in shown
    assert settings.read_text() == THEIRS


def tree(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder, with the content of files."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def test_folders_that_installing_created_go_with_the_last_part(home: Path) -> None:
    for folder in (".claude/projects", ".claude", ".local/state", ".local"):
        (home / folder).rmdir()
    before = tree(home)
    assert main(["install", "--hooks", "claude-code", "--mcp"]) == 0
    assert main(["uninstall", "--mcp"]) == 0
    assert (home / ".claude/settings.json").exists()
    assert main(["uninstall", "--hooks", "claude-code"]) == 0
    assert tree(home) == before


def test_state_that_a_service_needs_is_kept(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unit = home / ".config/systemd/user/memoryd.service"
    unit.parent.mkdir(parents=True)
    unit.touch()
    (home / ".local/state/memoryd").mkdir()
    assert main(["uninstall", "--state"]) == 1
    assert "memoryd uninstall --service" in capsys.readouterr().err
    assert (home / ".local/state/memoryd").exists()


def test_one_part_that_fails_does_not_stop_the_rest(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(home / "no-programs"))
    (home / ".claude/settings.json").mkdir()
    assert main(["install", "--yes", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["hooks"]["error"]["kind"] == "local"
    assert report["mcp"]["written"][0] == str(home / ".claude.json")


def test_what_is_not_possible_here_is_said_and_is_no_failure(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(home / "no-programs"))
    assert main(["install", "--yes"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "service: not possible here, this system has no systemd" in shown
    assert "No daemon is running yet. Start it with memoryd serve" in shown
    assert main(["install", "--yes", "--json"]) == 0
    assert "no systemd" in json.loads(capsys.readouterr().out)["service"]["not_possible"]
    assert main(["install", "--service"]) == 1, "what was asked for by name has failed"


def test_the_installed_commands_can_be_listed(settings: Path) -> None:
    assert claude_code.installed_commands(locations()) == []
    main(["install", "--hooks", "claude-code"])
    found = claude_code.installed_commands(locations())
    assert found == [claude_code.hook_command()] * len(claude_code.EVENTS)
    settings.write_text("broken")
    assert claude_code.installed_commands(locations()) == []
