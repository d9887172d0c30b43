"""`memoryd search` on a real terminal: found as one types, previewed, chosen, edited."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.programs import needs
from tests.support.running import COMMAND, Daemon
from tests.support.tmux import Tmux
from tests.test_docs import text_of

DEPLOY = "We deploy on Tuesdays from the release branch."
TABS = "Makefiles are indented with tabs, never with spaces."
TEA = "The tea kitchen is called 茶室 by everybody here."


def save(daemon: Daemon, cwd: Path, name: str, text: str) -> str:
    with daemon.peer() as peer:
        about = {"name": name, "description": text, "type": "project", "body": text}
        return str(peer.call("memory/save", cwd=str(cwd), **about)["path"])


@pytest.fixture
def paths(shared_daemon: Daemon, project: Path) -> dict[str, str]:
    return saved(shared_daemon, project)


def saved(daemon: Daemon, project: Path) -> dict[str, str]:
    texts = {"deploy": DEPLOY, "tabs": TABS, "tea": TEA}
    return {name: save(daemon, project, name.title(), text) for name, text in texts.items()}


def picker(
    daemon: Daemon, project: Path, *words: str, columns: int = 80, rows: int = 24, **env: str
) -> Tmux:
    """The search in a window of its own; what it prints is in `out`, in the project."""
    script = 'cd "$1"; shift; "$@" > out; echo "ended with $?"; exec cat'
    command = ["sh", "-c", script, "-", str(project), *COMMAND, "search", "--pick", *words]
    env |= {"EDITOR": str(project / "editor")}
    return Tmux(project, command, daemon.env | env, columns=columns, rows=rows)


@pytest.fixture
def window(shared_daemon: Daemon, project: Path, paths: dict[str, str]) -> Iterator[Tmux]:
    with picker(shared_daemon, project) as made:
        made.wait_for("3 of 3")
        yield made


@needs("tmux")
def test_a_memory_is_found_as_one_types_and_its_path_printed(
    window: Tmux, project: Path, paths: dict[str, str]
) -> None:
    window.type("depl")  # half a word
    shown = window.wait_for("1 of 3")
    assert "> Deploy: We deploy on Tuesdays" in shown
    assert shown.count(DEPLOY) >= 2  # in the list and in the preview
    window.press("Enter")
    window.wait_for("ended with 0")
    assert (project / "out").read_text() == f"{paths['deploy']}\n"


@needs("tmux")
def test_escape_cancels_and_leaves_the_terminal_as_it_was(window: Tmux, project: Path) -> None:
    window.type("nothing has this")
    window.wait_for("0 of 3")
    window.press("Enter")  # there is nothing to choose
    window.press("C-u")
    window.wait_for("3 of 3")
    window.press("Escape")
    shown = window.wait_for("ended with 130")
    assert "memory>" not in shown
    assert (project / "out").read_text() == ""


@needs("tmux")
def test_a_search_that_is_killed_leaves_the_terminal_as_it_was(window: Tmux) -> None:
    shell = window.process()
    (search,) = Path(f"/proc/{shell}/task/{shell}/children").read_text().split()
    os.kill(int(search), signal.SIGTERM)
    shown = window.wait_for("ended with 143")
    assert "memory>" not in shown
    window.type("echoed")
    window.wait_for("echoed")


@needs("tmux")
def test_the_picture_on_the_page_is_what_is_shown(
    shared_daemon: Daemon, project: Path, paths: dict[str, str]
) -> None:
    (picture,) = re.findall(r"```text\n(memory>.*?)```", text_of("docs/editors.md"), re.DOTALL)
    with picker(shared_daemon, project, columns=64, rows=15) as window:
        window.wait_for("3 of 3")
        window.type("de")
        window.wait_for(picture.rstrip())


@needs("tmux")
def test_it_follows_changes_and_survives_a_restart(daemon: Daemon, project: Path) -> None:
    daemon.start()
    saved(daemon, project)
    with picker(daemon, project) as window:
        window.wait_for("3 of 3")
        save(daemon, project, "Otter", "The staging server is called otter.")
        window.wait_for("4 of 4")
        daemon.stop()
        shown = window.wait_for("the daemon is not running")
        assert "4 of 4" in shown
        daemon.start()
        window.wait_until_gone("the daemon is not running")
        save(daemon, project, "Heron", "The production server is called heron.")
        window.wait_for("5 of 5")


@needs("tmux")
def test_the_file_itself_is_edited_and_shown_again(
    window: Tmux, project: Path, paths: dict[str, str]
) -> None:
    editor = project / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/Tuesdays/Wednesdays/ "$1"\n')
    editor.chmod(0o700)
    window.type("deploy")
    window.wait_for("> Deploy")
    window.press("C-e")
    window.wait_for("We deploy on Wednesdays from the release branch.\n")
    assert "Wednesdays" in Path(paths["deploy"]).read_text()


@needs("tmux")
def test_a_small_window_wide_letters_and_another_size_fit(
    shared_daemon: Daemon, project: Path, paths: dict[str, str]
) -> None:
    with picker(shared_daemon, project, "kitchen", columns=24, rows=6) as window:
        shown = window.wait_for("1 of 3")
        assert "> Tea: The tea kitchen …" in shown
        window.resize(100, 20)
        shown = window.wait_for(" │ ")  # now there is room for a preview
        assert "茶室" in shown
        window.resize(30, 8)
        window.wait_until_gone(" │ ")


@needs("tmux")
def test_there_are_no_styles_where_none_are_wanted(
    shared_daemon: Daemon, project: Path, paths: dict[str, str]
) -> None:
    with picker(shared_daemon, project) as window:
        window.wait_for("3 of 3")
        assert re.search(r"\x1b\[(0;)?7m", window.screen(with_styles=True))
        window.press("Escape")
        window.wait_for("ended with")
    with picker(shared_daemon, project, NO_COLOR="1") as window:
        window.wait_for("3 of 3")
        assert "\x1b[" not in window.screen(with_styles=True)


def test_a_pipe_gets_a_line_for_each_match_and_programs_json(
    shared_daemon: Daemon, project: Path, paths: dict[str, str]
) -> None:
    assert shared_daemon.run("search", "tabs").stdout == f"{paths['tabs']}\tTabs: {TABS}\n"
    assert len(shared_daemon.run("search").stdout.splitlines()) == 3
    found = json.loads(shared_daemon.run("search", "--json", "when do we deploy").stdout)[
        "memories"
    ]
    assert [one["path"] for one in found] == [paths["deploy"]]


def test_without_a_daemon_or_a_terminal_it_says_so_in_a_line(
    daemon: Daemon, shared_daemon: Daemon, project: Path
) -> None:
    absent = daemon.run("search", "--pick")
    assert absent.returncode == 69
    assert absent.stderr.splitlines()[0].startswith("memoryd: the daemon is not running")
    assert "memoryd serve" in absent.stderr
    alone = subprocess.run(
        [*COMMAND, "search", "--pick"],
        env=shared_daemon.env,
        capture_output=True,
        text=True,
        start_new_session=True,
        timeout=60,
        check=False,
    )
    assert alone.returncode == 1
    assert "there is no terminal" in alone.stderr
