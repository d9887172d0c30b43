"""Installing changes what is ours in the person's settings, and nothing else, and can be undone."""

import io
import json
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd_client import claude_code, cli, settings_json
from memoryd_client.failures import LocalFailure
from memoryd_client.locations import locations

THEIRS = """{
    "model": "opus",
    "hooks": {
        "Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "say done"}]}]
    },
    "unknownÜ": [1, 2.5, null, {"deep": true}]
}"""


@pytest.fixture
def settings(home: Path) -> Path:
    path = home / ".claude/settings.json"
    path.write_text(THEIRS)
    path.chmod(0o640)
    return path


def hooks_in(path: Path) -> dict[str, list[Any]]:
    return dict(json.loads(path.read_text())["hooks"])


def test_every_hook_is_added_after_what_is_there(settings: Path) -> None:
    assert cli.main(["install", "--hooks", "claude-code"]) == 0
    hooks = hooks_in(settings)
    assert set(hooks) == set(claude_code.EVENTS)
    assert hooks["Stop"][0]["hooks"][0]["command"] == "say done"
    command = hooks["UserPromptSubmit"][0]["hooks"][0]["command"]
    assert " -I -S -E " in command
    assert command.startswith("/")
    assert list(json.loads(settings.read_text())) == ["model", "hooks", "unknownÜ"]
    assert "\n    " in settings.read_text()
    assert stat.S_IMODE(settings.stat().st_mode) == 0o640


def test_the_installed_command_runs_and_never_fails(settings: Path) -> None:
    cli.main(["install", "--hooks", "claude-code"])
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
    cli.main(["install", "--hooks", "claude-code"])
    once = settings.read_bytes()
    assert cli.main(["install", "--hooks", "claude-code"]) == 0
    assert settings.read_bytes() == once


def test_uninstalling_gives_back_the_very_bytes(settings: Path) -> None:
    cli.main(["install", "--hooks", "claude-code"])
    cli.main(["install", "--hooks", "claude-code"])
    assert cli.main(["uninstall", "--hooks", "claude-code"]) == 0
    assert settings.read_text() == THEIRS
    assert [path.name for path in settings.parent.glob("settings.json*")] == ["settings.json"]


def test_what_was_changed_since_stays_when_ours_goes(settings: Path) -> None:
    cli.main(["install", "--hooks", "claude-code"])
    now = json.loads(settings.read_text())
    now["model"] = "haiku"
    settings.write_text(json.dumps(now))
    assert cli.main(["uninstall", "--hooks", "claude-code"]) == 0
    assert json.loads(settings.read_text()) == json.loads(THEIRS) | {"model": "haiku"}


def test_without_settings_a_file_is_made_and_removed_again(home: Path) -> None:
    path = home / ".claude/settings.json"
    assert cli.main(["install", "--hooks", "claude-code"]) == 0
    assert set(hooks_in(path)) == set(claude_code.EVENTS)
    assert cli.main(["uninstall", "--hooks", "claude-code"]) == 0
    assert not path.exists()


def test_a_link_to_a_dotfile_stays_a_link(home: Path) -> None:
    real = home / "dotfiles.json"
    real.write_text(THEIRS)
    (home / ".claude/settings.json").symlink_to(real)
    cli.main(["install", "--hooks", "claude-code"])
    assert (home / ".claude/settings.json").is_symlink()
    assert "UserPromptSubmit" in hooks_in(real)


@pytest.mark.parametrize("broken", ["{", "[]", '{"a": 1} // note', "\x00", "5"])
def test_settings_that_cannot_be_read_are_left_with_a_word(
    home: Path, broken: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = home / ".claude/settings.json"
    path.write_text(broken)
    assert cli.main(["install", "--hooks", "claude-code"]) == 1
    assert path.read_text() == broken
    assert "left as it is" in capsys.readouterr().err


def test_the_server_is_registered_and_taken_out(home: Path) -> None:
    path = home / ".claude.json"
    path.write_text('{"numStartups": 7, "mcpServers": {"other": {"command": "x"}}}')
    assert cli.main(["install", "--mcp"]) == 0
    servers = json.loads(path.read_text())["mcpServers"]
    assert servers["memoryd"]["args"] == ["mcp"]
    assert Path(servers["memoryd"]["command"]).is_absolute()
    assert servers["other"] == {"command": "x"}
    assert cli.main(["uninstall", "--mcp"]) == 0
    assert "memoryd" not in path.read_text()


def test_without_a_terminal_and_without_words_nothing_is_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert cli.main(["install"]) == 2
    assert "--yes" in capsys.readouterr().err
    assert not (home / ".claude/settings.json").exists()


def test_step_by_step_each_part_is_shown_and_asked_about(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal("n\n\nn\n"))
    assert cli.main(["install"]) == 0
    shown = capsys.readouterr().out
    assert "install service" in shown
    assert str(home / ".claude/settings.json") in shown
    assert (home / ".claude/settings.json").exists()
    assert not (home / ".claude.json").exists()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)
HOOKS = st.dictionaries(
    st.sampled_from([*claude_code.EVENTS, "PreToolUse"]),
    st.lists(
        st.fixed_dictionaries(
            {"hooks": st.lists(st.fixed_dictionaries({"command": st.text()}), max_size=2)}
        ),
        min_size=1,
        max_size=2,
    ),
)


@given(st.dictionaries(st.text(), JSON, max_size=4), HOOKS, st.sampled_from([None, "\t", 2, 4]))
def test_any_settings_survive_installing_and_uninstalling(
    tmp_path_factory: pytest.TempPathFactory,
    theirs: dict[str, Any],
    hooks: dict[str, Any],
    indent: Any,
) -> None:
    path = tmp_path_factory.mktemp("settings") / "settings.json"
    before = json.dumps(theirs | {"hooks": hooks, "last": 1}, indent=indent)
    path.write_text(before)
    settings_json.change(path, claude_code.add_hooks)
    changed = json.loads(path.read_text())
    assert {key: changed[key] for key in theirs if key != "hooks"} == {
        key: value for key, value in theirs.items() if key != "hooks"
    }
    for event, groups in hooks.items():
        assert changed["hooks"][event][: len(groups)] == groups
    path.write_text(json.dumps(changed))
    settings_json.undo(path, claude_code.remove_hooks)
    left = json.loads(path.read_text())
    assert left.get("hooks", {}) == hooks
    assert list(left) == [key for key in json.loads(before) if key != "hooks" or hooks]


def test_a_killed_writer_leaves_the_old_settings(
    settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        settings_json.change(settings, claude_code.add_hooks)
    assert settings.read_text() == THEIRS
    assert sorted(path.name for path in settings.parent.iterdir()) == ["projects", "settings.json"]


def test_doctor_can_ask_which_hooks_stand_there(settings: Path) -> None:
    assert claude_code.installed_commands(locations()) == []
    cli.main(["install", "--hooks", "claude-code"])
    found = claude_code.installed_commands(locations())
    assert found == [claude_code.hook_command()] * 6
    settings.write_text("broken")
    assert claude_code.installed_commands(locations()) == []


def test_a_hook_group_of_a_strange_shape_is_left() -> None:
    for strange in (
        {"hooks": "x"},
        {"hooks": {"Stop": "x"}},
        {"hooks": {"Stop": [1, {"hooks": 2}]}},
    ):
        kept = json.loads(json.dumps(strange))
        claude_code.remove_hooks(kept)
        assert kept == strange
    with pytest.raises(LocalFailure):
        settings_json.parsed(Path("x"), b"[1]")
