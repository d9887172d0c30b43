"""The package in a real Emacs, in batch, against a real daemon: one run, looked at from all sides.

EMACS names another Emacs than the one on PATH.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from memoryd_client.cli.inbox import WHY
from memoryd_client.cli.naming import description_for, name_for
from memoryd_client.version import __version__
from tests.support.editors import CLIENTS, RUN_SECONDS, WAITS_IN_INBOX, World, play, program
from tests.support.socket_cases import TEXTS, socket_cases

HERE = Path(__file__).parent
PACKAGE = CLIENTS / "emacs"
DEPLOY = "We deploy on Thursdays, after the review, with make ship."


def emacs_command(*arguments: str) -> list[str]:
    """Emacs in batch with nothing but the package."""
    emacs = program("emacs", "EMACS", "emacs-nox")
    return [emacs, "-Q", "--batch", "-L", str(PACKAGE), *arguments]


def world_for(folder: Path) -> World:
    world = World(folder)
    world.daemon.env |= {
        "MEMORYD_TEST_SCRIPTS": str(HERE),
        "MEMORYD_TEST_PROJECT": str(world.project),
    }
    return world


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the scenario printed."""
    command = emacs_command("-l", str(HERE / "emacs-scenario.el"))
    return play(world_for(tmp_path_factory.mktemp("emacs")), command)


@pytest.mark.parametrize("when", ["absent", "absent_again"])
def test_an_absent_daemon_is_one_line_that_says_what_to_type(
    day: dict[str, Any], when: str
) -> None:
    (line,) = day[when]
    assert line.startswith("memoryd: the daemon is not running; type: memoryd serve")
    assert "\n" not in line


def test_the_region_is_remembered(day: dict[str, Any]) -> None:
    assert day["remembered"] == [
        "memoryd: remembered in feedback_deploy_thursdays_after_review_make.md"
    ]
    assert DEPLOY in day["recalled"]


def test_an_event_reaches_the_editor(day: dict[str, Any]) -> None:
    assert day["event"]["kind"] == "memory/saved"
    assert day["event_after_restart"]["kind"] == "memory/forgotten"


def test_what_is_refused_says_why(day: dict[str, Any]) -> None:
    (line,) = day["refused"]
    assert line.startswith("memoryd: not saved: ")
    assert line.endswith("or use C-u C-u M-x memoryd-remember")


def test_recall_shows_a_heading_and_the_text(day: dict[str, Any]) -> None:
    assert day["recalled"][0].endswith("  feedback, project, today")


def test_the_file_itself_is_visited_and_xref_leads_back(day: dict[str, Any]) -> None:
    assert Path(day["opened"]).name == day["identifier"]
    assert day["definition"] == day["opened"]
    assert day["back_in"] == "*memory recall*"


def test_what_is_saved_there_is_known_to_be_the_persons(day: dict[str, Any]) -> None:
    assert not day["still_of_unknown_origin"]


def test_the_list_has_a_line_for_each_memory(day: dict[str, Any]) -> None:
    lines = [line for line in day["listed"] if line]
    assert len(lines) == 2
    assert lines[0].split()[1:4] == ["feedback", "project", "today"]


def test_a_history_shows_what_each_version_changed(day: dict[str, Any]) -> None:
    assert [line.split()[0] for line in day["history"] if line] == ["2", "1"]
    assert "+Never on a Friday." in day["diff"]
    assert day["diff"][1].startswith("--- version-1")
    assert day["restored"] == ["memoryd: version 1 is restored"]


def test_a_dream_is_followed_in_the_mode_line(day: dict[str, Any]) -> None:
    assert day["dream"][0] == "memoryd: dream 1 has started"
    assert day["dream"][-1].startswith("memoryd: dream 1 is done: ")
    assert " memory: dream 2/4 gather" in day["dream_lines"]


def test_a_dream_is_undone_or_says_why_not(day: dict[str, Any]) -> None:
    assert len(day["dream_undone"]) == 1


def test_what_an_agent_runs_is_not_taken_for_a_persons(day: dict[str, Any]) -> None:
    assert day["agents_event"]["cause"] == "agent"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file of another user")
def test_a_socket_of_another_user_is_not_used(day: dict[str, Any]) -> None:
    (line,) = day["stranger"]
    assert "stranger.sock belongs to another user; type: memoryd doctor" in line


def test_the_inbox_is_counted_shown_and_decided_on(day: dict[str, Any]) -> None:
    assert day["inbox_line"] == " memory: inbox 1"
    assert WAITS_IN_INBOX in day["inbox"][0]
    assert day["statement"][0] == WAITS_IN_INBOX
    assert day["accepted"][0].startswith("memoryd: remembered in ")


def test_why_a_statement_waits_is_said_in_the_words_of_the_command(day: dict[str, Any]) -> None:
    source = (PACKAGE / "memoryd-inbox.el").read_text()
    assert [words for words in WHY.values() if words not in source] == []
    assert WHY["may-last"] in "\n".join(day["statement"])


def test_a_daemon_that_hangs_does_not_block_the_editor(day: dict[str, Any]) -> None:
    assert day["answered_while_frozen"] is False


def test_a_restart_of_the_daemon_needs_nothing_from_the_person(day: dict[str, Any]) -> None:
    assert day["said_at_restart"] == []
    assert DEPLOY in day["recalled_after_restart"]


def test_forgetting_says_how_to_bring_it_back(day: dict[str, Any]) -> None:
    (line,) = day["forgotten"]
    assert "is forgotten; bring it back with: memoryd restore feedback_deploy" in line


def test_the_library_logs_nothing_of_what_was_said(day: dict[str, Any]) -> None:
    assert day["buffers"] == ["*memoryd diff*"]


def test_another_program_on_the_socket_is_a_broken_connection(day: dict[str, Any]) -> None:
    assert day["impostor"] == ["memoryd: the connection to the daemon broke; type: memoryd doctor"]


def test_the_package_finds_the_socket_and_names_texts_as_the_command_does(tmp_path: Path) -> None:
    world = world_for(tmp_path / "world")
    cases = socket_cases()
    (world.scratch / "cases.json").write_text(json.dumps({"sockets": cases, "texts": TEXTS}))
    results = play(world, emacs_command("-l", str(HERE / "emacs-rules.el")))
    assert results["sockets"] == [case["expected"] for case in cases]
    assert results["texts"] == [[name_for(text), description_for(text)] for text in TEXTS]


def test_the_package_compiles_without_a_warning_and_checkdoc_is_content(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "emacs", ignore=shutil.ignore_patterns("*.elc"))
    check = (
        "(progn (require 'checkdoc) (setq byte-compile-error-on-warn t)"
        ' (dolist (file (directory-files default-directory t "\\\\.el\\\\\'"))'
        " (unless (byte-compile-file file) (kill-emacs 1)) (checkdoc-file file)))"
    )
    emacs = program("emacs", "EMACS", "emacs-nox")
    done = subprocess.run(
        [emacs, "-Q", "--batch", "-L", ".", "--eval", check],
        cwd=tmp_path / "emacs",
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Warning (" not in done.stderr


def test_the_folder_installs_as_a_package_with_autoloads(tmp_path: Path) -> None:
    script = (
        f"(progn (setq package-user-dir {json.dumps(str(tmp_path / 'elpa'))} package-archives nil)"
        f" (package-initialize) (package-install-file {json.dumps(str(PACKAGE))})"
        " (unless (and (autoloadp (symbol-function 'memoryd-recall)) (fboundp 'memoryd-mode)"
        " (autoloadp (symbol-function 'memoryd-command-map))) (kill-emacs 1)))"
    )
    emacs = program("emacs", "EMACS", "emacs-nox")
    command = [emacs, "-Q", "--batch", "--eval", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS, check=False)
    assert done.returncode == 0, done.stderr


def test_the_package_has_the_version_of_memoryd() -> None:
    assert f";; Version: {__version__}\n" in (PACKAGE / "memoryd.el").read_text()
