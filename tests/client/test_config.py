"""The command `config`, with the daemon's own rules."""

import json
import stat
from pathlib import Path

import pytest

from memoryd_client.cli.main import main


@pytest.fixture
def config(home: Path) -> Path:
    return home / ".config/memoryd/config.toml"


def test_every_setting_is_shown_beside_its_default(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.parent.mkdir()
    config.write_text("[budget]\nusd_per_day = 2.5\n")
    assert main(["config"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["budget.usd_per_day", "*", "2.5", "1.0"] in lines
    assert ["log.level", "info", "info"] in lines
    assert main(["config", "get", "budget.usd_per_day", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row == {"key": "budget.usd_per_day", "value": 2.5, "default": 1.0, "is_set": True}


def test_sections_in_sections_and_those_of_one_project_are_shown(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "set", "model.claude_code.calls_per_day", "5"]) == 0
    assert main(["config", "set", 'projects."/src/shop".extraction', "review"]) == 0
    capsys.readouterr()
    assert main(["config"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["model.claude_code.calls_per_day", "*", "5", "24"] in lines
    assert ["model.claude_code.minutes_apart", "15", "15"] in lines
    assert ['projects."/src/shop".extraction', "*", "review", "-"] in lines


def test_a_key_is_set_with_the_comments_kept(config: Path) -> None:
    config.parent.mkdir()
    config.write_text("# mine\n[log]\nlevel = 'info' # loud enough\n")
    config.chmod(0o600)
    assert main(["config", "set", "log.level", "debug"]) == 0
    assert config.read_text() == '# mine\n[log]\nlevel = "debug" # loud enough\n'
    assert stat.S_IMODE(config.stat().st_mode) == 0o600


def test_the_first_setting_makes_the_file(config: Path) -> None:
    assert main(["config", "set", "budget.usd_per_day", "3"]) == 0
    assert "[budget]\nusd_per_day = 3\n" in config.read_text()
    assert stat.S_IMODE(config.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("log.levl", "debug", "log.level"),
        ("log.level", "loud", "one of"),
        ("budget.usd_per_day", "-3", "from 0"),
        ("log", "x", "no section"),
        ("model.base_url", "nonsense", "URL"),
    ],
)
def test_what_the_daemon_would_not_take_is_not_written(
    config: Path, capsys: pytest.CaptureFixture[str], key: str, value: str, words: str
) -> None:
    assert main(["config", "set", key, value]) == 1
    assert words in capsys.readouterr().err
    assert not config.exists()


def test_a_mistake_in_the_file_is_named_and_the_rest_is_shown(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.parent.mkdir()
    config.write_text("[recall]\nlimit = 7\nlimt = 8\n")
    assert main(["config", "get", "recall"]) == 0
    captured = capsys.readouterr()
    assert "recall.limt" in captured.err
    assert ["recall.limit", "*", "7", "5"] in [line.split() for line in captured.out.splitlines()]


def an_editor(home: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    editor = home / "editor"
    editor.write_text(f"#!/bin/sh\ncat >\"$1\" <<'END'\n{text}\nEND\n")
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))


def test_an_edit_is_written_once_it_is_right(
    home: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    an_editor(home, monkeypatch, "[recall]\nlimit = 9")
    assert main(["config", "edit"]) == 0
    assert config.read_text() == "[recall]\nlimit = 9\n"
    an_editor(home, monkeypatch, "[recall]\nlimit = 'nine'")
    assert main(["config", "edit"]) == 1
    assert config.read_text() == "[recall]\nlimit = 9\n"


def test_the_path_is_printed(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "path"]) == 0
    assert capsys.readouterr().out == f"{config}\n"


def test_a_setting_that_is_none_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "get", "nonsense"]) == 2
    assert main(["config", "set", "log.level"]) == 2


def test_the_help_lists_every_command_once_by_purpose(capsys: pytest.CaptureFixture[str]) -> None:
    from memoryd_client.cli.main import command_line

    commands = command_line()
    lines = commands.parser.format_help().splitlines()
    rows = [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "]
    assert sorted(rows) == sorted(commands.by_name)
    assert "start here:" in lines
