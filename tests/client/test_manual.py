"""The manual page and the completions say what the table of commands says, and shells agree."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from memoryd_client.cli import completions, main, manual
from memoryd_client.cli.commands import Argument, Arguments, Command
from tests.support.running import ROOT

PAGE = ROOT / "docs" / "memoryd.1"


def has(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


def test_the_page_in_the_repository_is_that_of_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == manual.page(main.COMMANDS), "make manual writes it"


def test_the_command_prints_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["manual"]) == 0
    assert capsys.readouterr().out == manual.page(main.COMMANDS)


def test_every_command_and_argument_is_in_the_page() -> None:
    page = manual.page(main.COMMANDS).replace(r"\-", "-")
    for command in main.COMMANDS:
        assert f".SS {command.name}" in page
        for argument in command.arguments:
            assert manual.label(argument) in page


@has("groff")
def test_roff_has_nothing_to_complain_about() -> None:
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww"],
        input=manual.page(main.COMMANDS),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""


def nothing(_arguments: Arguments) -> int:
    return 0


def test_what_roff_would_obey_is_shown_instead() -> None:
    row = Command("a", "'quoted' first", ".SH NOT\\A HEADING", nothing)
    lines = list(manual.command_lines(row))
    assert r"\&'Quoted' first." not in lines
    assert r"\&'quoted' first." in lines
    assert r"\&.SH NOT\eA HEADING" in lines


@pytest.mark.parametrize(
    ("argument", "use", "label"),
    [
        (Argument(("memory",), "h", "NAME"), "NAME", "NAME"),
        (Argument(("text",), "h", is_repeated=True), "TEXT ...", "TEXT"),
        (Argument(("session",), "h", is_optional=True), "[SESSION]", "SESSION"),
        (Argument(("--json",), "h", is_switch=True), "[--json]", "--json"),
        (Argument(("-n", "--lines"), "h", "N"), "[-n N]", "-n, --lines N"),
        (Argument(("--dir",), "h", is_repeated=True), "[--dir DIR]...", "--dir DIR"),
    ],
)
def test_an_argument_is_shown_as_it_is_typed(argument: Argument, use: str, label: str) -> None:
    assert (manual.use_of(argument), manual.label(argument)) == (use, label)


@pytest.fixture
def scripts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Path]:
    """The completions of every shell, in files, as the command prints them."""
    written = {}
    for shell in completions.SHELLS:
        assert main.main(["completions", shell]) == 0
        written[shell] = tmp_path / f"completions.{shell}"
        written[shell].write_text(capsys.readouterr().out, encoding="utf-8")
    return written


@pytest.mark.parametrize("shell", [pytest.param(name, marks=has(name)) for name in ("zsh", "fish")])
def test_the_shell_can_read_its_script(scripts: dict[str, Path], shell: str) -> None:
    done = subprocess.run(
        [shell, "-n", str(scripts[shell])], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def completed(script: Path, *words: str, path: str = "") -> list[str]:
    """What bash offers after these words, the last of which is being typed."""
    ask = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _memoryd; '
    done = subprocess.run(
        ["bash", "-c", ask + 'printf "%s\\n" "${COMPREPLY[@]}"', "-", str(script), *words],
        env=dict(os.environ) | {"PATH": f"{path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


@has("bash")
def test_bash_offers_commands_flags_and_choices(scripts: dict[str, Path]) -> None:
    script = scripts["bash"]
    assert completed(script, "memoryd", "sta") == ["status"]
    assert completed(script, "memoryd", "logs", "--l") == ["--lines", "--level"]
    assert completed(script, "memoryd", "logs", "--level", "e") == ["error"]
    assert completed(script, "memoryd", "completions", "z") == ["zsh"]
    assert set(completed(script, "memoryd", "")) == {
        *(command.name for command in main.COMMANDS),
        "--help",
        "--version",
    }


@has("bash")
def test_bash_offers_folders_with_blanks(
    scripts: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "two words").mkdir()
    monkeypatch.chdir(tmp_path)
    assert completed(scripts["bash"], "memoryd", "list", "--project", "tw") == ["two words"]


@has("bash")
def test_bash_offers_memories_and_runs_none_of_their_names(
    scripts: dict[str, Path], tmp_path: Path
) -> None:
    fake = tmp_path / "bin" / "memoryd"
    fake.parent.mkdir()
    trap = tmp_path / "trap"
    fake.write_text(
        "#!/bin/sh\n"
        "echo 'feedback_tabs.md  feedback  project  today  x'\n"
        f"echo '$(touch${{IFS}}{trap}).md  feedback  project  today  x'\n"
    )
    fake.chmod(0o700)
    offered = completed(scripts["bash"], "memoryd", "show", "f", path=str(fake.parent))
    assert offered == ["feedback_tabs.md"]
    assert not trap.exists()


@has("fish")
def test_fish_offers_commands_and_choices(scripts: dict[str, Path]) -> None:
    def offered(line: str) -> list[str]:
        ask = f"source {scripts['fish']}; complete -C '{line}'"
        done = subprocess.run(
            ["fish", "--no-config", "-c", ask], capture_output=True, text=True, check=True
        )
        return [row.split("\t")[0] for row in done.stdout.splitlines()]

    assert offered("memoryd sta") == ["status"]
    assert offered("memoryd logs --level e") == ["error"]
