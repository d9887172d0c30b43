"""Forgetting by hand, and what was forgotten by mistake."""

import json
from pathlib import Path

import pytest

from tests.support.running import Daemon
from tests.support.session_script import SessionScript
from tests.support.tail_fixtures import projects
from tests.support.terminal import Terminal


@pytest.fixture
def cwd(tmp_path: Path) -> str:
    folder = tmp_path / "app"
    folder.mkdir()
    return str(folder)


def remember(daemon: Daemon, cwd: str, text: str, name: str) -> str:
    done = daemon.run("remember", text, "--name", name, "--project", cwd, "--json")
    return str(json.loads(done.stdout)["path"]).rpartition("/")[2]


def files(daemon: Daemon, cwd: str, *words: str) -> list[str]:
    listed = json.loads(daemon.run("list", "--project", cwd, "--json", *words).stdout)
    return [one["file"] for one in listed["memories"]]


def test_a_program_has_to_name_a_memory_exactly(shared_daemon: Daemon, cwd: str) -> None:
    file = remember(shared_daemon, cwd, "Use tabs in Makefiles.", "Tabs in Makefiles")
    for loose in ("tabs_make", "makefiles"):
        done = shared_daemon.run("forget", loose, "--project", cwd)
        assert done.returncode == 1
        assert f"memoryd forget {file}" in done.stderr
    assert files(shared_daemon, cwd) == [file]
    assert shared_daemon.run("forget", "makefiles", "--yes", "--project", cwd).returncode == 0
    assert files(shared_daemon, cwd) == []
    remember(shared_daemon, cwd, "Use tabs in Makefiles.", "Tabs in Makefiles")
    assert shared_daemon.run("forget", "tabs in makefiles", "--project", cwd).returncode == 0
    assert files(shared_daemon, cwd) == [], "a title is a name"


@pytest.mark.parametrize(("answer", "is_gone"), [("y", True), ("n", False)])
def test_a_person_is_asked_about_a_loose_name(
    shared_daemon: Daemon, cwd: str, answer: str, is_gone: bool
) -> None:
    file = remember(shared_daemon, cwd, "Use tabs in Makefiles.", "Tabs in Makefiles")
    terminal = Terminal(shared_daemon, "forget", "makefiles", "--project", cwd)
    shown = terminal.read_until("Forget this one?")
    assert f"{file}: Use tabs" in shown
    terminal.type(f"{answer}\n")
    assert terminal.end() == (0 if is_gone else 1)
    assert (files(shared_daemon, cwd) == []) == is_gone


def test_what_is_forgotten_is_listed_and_comes_back_by_the_same_words(
    shared_daemon: Daemon, cwd: str
) -> None:
    tabs = remember(shared_daemon, cwd, "Use tabs in Makefiles.", "Tabs in Makefiles")
    other = remember(shared_daemon, cwd, "Deploy on Tuesdays.", "Deploys")
    assert files(shared_daemon, cwd, "--forgotten", "--scope", "project") == []
    for words in ("Tabs in Makefiles", "makefiles", tabs, tabs.removesuffix(".md")):
        assert shared_daemon.run("forget", words, "--yes", "--project", cwd).returncode == 0
        assert files(shared_daemon, cwd, "--forgotten", "--scope", "project") == [tabs]
        assert tabs not in files(shared_daemon, cwd, "--forgotten", "--scope", "user")
        assert tabs not in files(shared_daemon, cwd, "--forgotten", "--type", "reference")
        assert files(shared_daemon, cwd) == [other]
        done = shared_daemon.run("restore", words, "--project", cwd)
        assert done.returncode == 0, done.stderr
        assert tabs in done.stdout
        assert files(shared_daemon, cwd, "--forgotten", "--scope", "project") == []


def test_a_name_of_several_forgotten_memories_is_not_guessed(
    shared_daemon: Daemon, cwd: str
) -> None:
    for number in ("one", "two"):
        file = remember(shared_daemon, cwd, f"Rule {number} of linting.", f"Linting {number}")
        shared_daemon.run("forget", file, "--project", cwd)
    done = shared_daemon.run("restore", "linting", "--project", cwd)
    assert done.returncode == 1
    assert "several" in done.stderr


def test_notes_and_checkpoints_take_the_short_ids_of_the_list(
    shared_daemon: Daemon, cwd: str
) -> None:
    script = SessionScript("0a1b2c3d-0000-4000-8000-00000000f0e1", cwd)
    script.turn("Why is the cart empty after a login?", "The session id changes.")
    path = projects(shared_daemon.home) / "-app-of-notes/0a1b2c3d-0000-4000-8000-00000000f0e1.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(script.data)
    done = shared_daemon.run("notes", "0a1b2c3d", "--project", cwd)
    assert done.returncode == 0, done.stderr
    assert "cart" in done.stdout
    saving = ("checkpoint", "save", "here", "--session", "0a1b2c3d", "--project", cwd)
    assert shared_daemon.run(*saving).returncode == 0
    assert "cart" in shared_daemon.run("checkpoint", "show", "here", "--project", cwd).stdout
    done = shared_daemon.run("notes", "ffffffff", "--project", cwd)
    assert done.returncode == 1
    assert "ffffffff" in done.stderr
