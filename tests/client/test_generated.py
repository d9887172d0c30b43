"""The manual page and the completions match the command line, and shells accept them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import generate
from memoryd_client.cli import main

FILES = generate.generated()


def has(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


@pytest.mark.parametrize("name", FILES)
def test_the_generated_file_is_current(name: str) -> None:
    assert (main.GENERATED / name).read_text(encoding="utf-8") == FILES[name], "run: make manual"


def test_the_command_prints_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["manual"]) == 0
    assert capsys.readouterr().out == FILES["memoryd.1"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_command_prints_the_completions(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["completions", shell]) == 0
    assert capsys.readouterr().out == FILES[main.COMPLETIONS[shell]]


def test_every_command_and_argument_is_in_the_page() -> None:
    page = FILES["memoryd.1"].replace(r"\-", "-")
    for name, parser in main.command_line().by_name.items():
        _, found, section = page.partition(f".SS \\fBmemoryd {name}\\fR\n")
        assert found
        section = section.partition(".SS ")[0]
        for action in parser._actions[1:]:  # the first is --help
            assert all(option in section for option in action.option_strings)
            assert action.option_strings or str(action.metavar) in section
        assert f"example: {str(parser.epilog).removeprefix('example: ')}" in section


def test_the_page_does_not_depend_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert generate.generated() == FILES


@has("groff")
def test_groff_accepts_the_page() -> None:
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww"],
        input=FILES["memoryd.1"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""


SCRIPTS = {shell: main.GENERATED / name for shell, name in main.COMPLETIONS.items()}


@pytest.mark.parametrize("shell", [pytest.param(name, marks=has(name)) for name in ("zsh", "fish")])
def test_the_shell_can_read_its_script(shell: str) -> None:
    done = subprocess.run(
        [shell, "-n", str(SCRIPTS[shell])], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def completed(*words: str, path: str = "") -> list[str]:
    """What bash offers after these words, the last of which is being typed."""
    ask = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _shtab_memoryd; '
    done = subprocess.run(
        ["bash", "-c", ask + 'printf "%s\\n" "${COMPREPLY[@]}"', "-", str(SCRIPTS["bash"]), *words],
        env=dict(os.environ) | {"PATH": f"{path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


@has("bash")
def test_bash_offers_commands_flags_and_choices() -> None:
    assert completed("memoryd", "sta") == ["status", "statusline"]
    assert completed("memoryd", "logs", "--l") == ["--lines", "--level"]
    assert completed("memoryd", "logs", "--level", "e") == ["error"]
    assert completed("memoryd", "completions", "z") == ["zsh"]
    assert completed("memoryd", "dream", "u") == ["undo"]
    assert set(completed("memoryd", "")) == set(main.command_line().by_name)


@has("bash")
def test_bash_offers_folders_with_blanks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "two words").mkdir()
    monkeypatch.chdir(tmp_path)
    assert completed("memoryd", "list", "--project", "tw") == ["two words"]


@pytest.fixture
def fake_memoryd(tmp_path: Path) -> Path:
    """A folder with a `memoryd list` that offers a memory and one with a hostile name."""
    fake = tmp_path / "bin" / "memoryd"
    fake.parent.mkdir()
    fake.write_text(
        "#!/bin/sh\n"
        "echo 'FILE  TYPE  SCOPE  AGE  DESCRIPTION'\n"
        "echo 'feedback_tabs.md  feedback  project  today  x'\n"
        f"echo '$(touch${{IFS}}{tmp_path}/trap).md  feedback  project  today  x'\n"
    )
    fake.chmod(0o700)
    return fake.parent


@has("bash")
def test_bash_offers_memories_and_expands_none_of_their_names(
    fake_memoryd: Path, tmp_path: Path
) -> None:
    for words in (("show", ""), ("show", "f"), ("remember", "x", "--supersedes", "f")):
        assert completed("memoryd", *words, path=str(fake_memoryd)) == ["feedback_tabs.md"]
    assert not (tmp_path / "trap").exists()


@has("fish")
def test_fish_offers_commands_choices_and_memories(fake_memoryd: Path, tmp_path: Path) -> None:
    def offered(line: str) -> list[str]:
        ask = f"source {SCRIPTS['fish']}; complete -C '{line}'"
        done = subprocess.run(
            ["fish", "--no-config", "-c", ask],
            env=dict(os.environ) | {"PATH": f"{fake_memoryd}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=True,
        )
        return [row.split("\t")[0] for row in done.stdout.splitlines()]

    assert offered("memoryd sta") == ["status", "statusline"]
    assert offered("memoryd logs --level e") == ["error"]
    assert offered("memoryd show ") == ["feedback_tabs.md"]
    assert not (tmp_path / "trap").exists()
