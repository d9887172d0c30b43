"""The provider `claude-code` is turned on and off in config.toml; nothing else changes there."""

import sys
import tomllib
from pathlib import Path

import pytest

from memoryd.base.config_file import load_settings
from memoryd_client.cli.main import main
from memoryd_client.connection.failures import LocalFailure
from memoryd_client.install.config_toml import change

CLIENT = "/opt/tools/claude"
VALUES = {"model.provider": "claude-code", "model.claude_code.command": CLIENT}
NOTHING = dict.fromkeys(VALUES)

FILES = [
    "",
    "# mine\n",
    "[budget]\nusd_per_day = 0.5",
    '# mine\n[model]  # which\nprovider = "auto"  # now\nrecall = "a"\n\n[dream]\nmin_hours = 2\n',
    '[model]\nrecall = "small"\n[model.claude_code]\ncalls_per_day = 3\ncommand = "/old"\n',
    '[projects."/src/app"]\nmode = "log"\n',
    '["model"]\nprovider = "auto"\n',
    "[model]\n'provider' = \"auto\"\n",
]


@pytest.mark.parametrize("text", FILES)
def test_only_our_keys_change_and_the_daemon_accepts_the_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    assert change(path, VALUES)
    new = path.read_text()
    settings = load_settings(new, {})
    assert settings.model.provider == "claude-code"
    assert settings.model.claude_code.command == CLIENT
    rest, before = tomllib.loads(new), tomllib.loads(text)
    assert {key: rest[key] for key in before if key != "model"} == {
        key: value for key, value in before.items() if key != "model"
    }
    assert settings.model.recall == before.get("model", {}).get("recall", settings.model.recall)
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        line for line in new.splitlines() if line.startswith("#")
    ]
    assert not change(path, VALUES), "twice is once"


def test_without_a_file_one_is_made_and_removed_again(tmp_path: Path) -> None:
    path = tmp_path / "memoryd/config.toml"
    assert change(path, VALUES)
    assert change(path, NOTHING)
    assert not path.exists()


def test_taking_it_back_leaves_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("# mine\n[model.claude_code]\ncalls_per_day = 3\n")
    change(path, VALUES)
    assert change(path, NOTHING)
    assert path.read_text().startswith("# mine\n[model.claude_code]\ncalls_per_day = 3\n")
    assert "provider" not in path.read_text()


@pytest.mark.parametrize(
    "text",
    [
        'model.provider = "auto"\n',
        'model = { provider = "auto" }\n',
        '[model]\nbase_url = """\nprovider = 3\n"""\n',
        "not toml",
    ],
)
def test_a_file_in_an_unusual_form_is_left_with_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(LocalFailure):
        change(path, VALUES)
    assert path.read_text() == text


@pytest.fixture
def client(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A client on the PATH."""
    path = home / "bin/claude"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\n")
    path.chmod(0o700)
    monkeypatch.setenv("PATH", str(path.parent))
    return path


def config_of(home: Path) -> Path:
    return home / ".config/memoryd/config.toml"


def test_by_name_it_is_turned_on_and_off(
    home: Path, client: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["install", "--model", "claude-code"]) == 0
    assert f'command = "{client}"' in config_of(home).read_text()
    assert "memoryd doctor --provider" in capsys.readouterr().out
    assert main(["uninstall", "--model", "claude-code"]) == 0
    assert not config_of(home).exists()


def test_by_name_without_a_client_it_is_an_error(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(home / "empty"))
    assert main(["install", "--model", "claude-code"]) != 0
    assert "Claude Code was not found" in capsys.readouterr().err


@pytest.mark.parametrize(("typed", "is_set"), [("", False), ("n", False), ("y", True)])
def test_step_by_step_it_is_offered_in_plain_words_and_off_by_default(
    home: Path,
    client: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    typed: str,
    is_set: bool,
) -> None:
    assert client.exists()
    asked: list[str] = []

    def answer(question: str) -> str:
        asked.append(question)
        return typed if "[y/N]" in question else "n"

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr("builtins.input", answer)
    assert main(["install"]) == 0
    assert asked[-1].strip() == "Proceed? [y/N]"
    assert "counts towards your plan" in " ".join(capsys.readouterr().out.split())
    assert config_of(home).exists() is is_set


def test_yes_to_all_is_not_yes_to_this(home: Path, client: Path) -> None:
    assert client.exists()
    main(["install", "--yes"])
    assert not config_of(home).exists()
