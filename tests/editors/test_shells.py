"""The key binding in the real shells: Alt-M, a few letters, Enter, and the path is in the line."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.programs import needs
from tests.support.running import ROOT, Daemon
from tests.support.tmux import Tmux

# How each shell starts without the settings of this machine, and reads a binding.
STARTS = {
    "bash": (["bash", "--norc", "-i"], "source <(memoryd shell bash)"),
    "zsh": (["zsh", "-f", "-i"], "source <(memoryd shell zsh)"),
    "fish": (["fish", "--no-config", "-i"], "memoryd shell fish | source"),
}
WITH_TMUX = [pytest.param(name, marks=needs("tmux", name)) for name in STARTS]


def program(folder: Path) -> Path:
    """A folder with the command `memoryd` of this checkout."""
    folder.mkdir()
    file = folder / "memoryd"
    places = [str(ROOT), str(ROOT / "client")]
    file.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path[:0] = {places!r}\n"
        "from memoryd_client.entry import main\nsys.exit(main())\n"
    )
    file.chmod(0o700)
    return folder


def shell(name: str, daemon: Daemon, project: Path, tmp_path: Path) -> Tmux:
    path = f"{program(tmp_path / 'bin')}:{daemon.env['PATH']}"
    command, _ = STARTS[name]
    env = daemon.env | {"PATH": path, "PS1": "here$ ", "LC_ALL": "C.UTF-8"}
    return Tmux(tmp_path, ["sh", "-c", f'cd "{project}"; exec "$@"', "-", *command], env)


@pytest.mark.parametrize("name", WITH_TMUX)
def test_a_key_inserts_the_path_of_the_memory_that_was_picked(
    name: str, daemon: Daemon, project: Path, tmp_path: Path
) -> None:
    with shell(name, daemon, project, tmp_path) as window:
        window.type(f"{STARTS[name][1]}; echo is read\n")
        window.wait_for("\nis read")
        window.type("cat ")
        window.press("M-m")
        window.wait_for("2 of 2")
        window.type("makef")
        window.wait_for("> Tabs: Makefiles are indented")
        window.press("Enter")
        window.wait_for("project_tabs.md")
        window.press("Enter")
        window.wait_for("\nMakefiles are indented with tabs, never with spaces.")
        window.press("M-m")
        window.wait_for("memory>")
        window.press("Escape")
        window.wait_until_gone("memory>")
        window.type("echo still $(expr 40 + 2)" if name != "fish" else "echo still (expr 40 + 2)")
        window.press("Enter")
        window.wait_for("\nstill 42")


@pytest.mark.parametrize("name", WITH_TMUX)
def test_without_a_daemon_the_key_says_what_to_type_and_keeps_the_line(
    name: str, daemon: Daemon, project: Path, tmp_path: Path
) -> None:
    daemon.stop()
    with shell(name, daemon, project, tmp_path) as window:
        window.type(f"{STARTS[name][1]}; echo is read\n")
        window.wait_for("\nis read")
        window.type("echo kept")
        window.press("M-m")
        window.wait_for("start it with memoryd serve")
        window.press("Enter")
        window.wait_for("\nkept")


@needs("fzf")
def test_the_plain_output_is_for_fzf(daemon: Daemon, project: Path, tmp_path: Path) -> None:
    listed = daemon.run("search").stdout
    done = subprocess.run(
        ["fzf", "--delimiter", "\t", "--with-nth", "2..", "--filter", "tuesd"],
        input=listed,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.partition("\t")[0].endswith("/project_deploys.md")
