"""The inbox as people and agents use it: command, keys, editor, hook and MCP tool."""

import json
from pathlib import Path

import pytest

from tests.scenarios.test_extraction import Session, configure, finished_run, wait_until_idle
from tests.scenarios.test_hooks import event, injected
from tests.scenarios.test_mcp import request, talk
from tests.support.running import Daemon
from tests.support.terminal import Terminal

PNPM = "We use pnpm for everything in the web client."
DRIVE = "The release notes live in the team drive."


@pytest.fixture
def session(daemon: Daemon, home: Path) -> Session:
    daemon.start()
    return Session(home)


def say(daemon: Daemon, session: Session, *messages: str) -> None:
    for message in messages:
        finished_run(daemon, lambda message=message: session.turn(message, "Understood."))


def test_a_statement_is_listed_shown_and_accepted(daemon: Daemon, session: Session) -> None:
    say(daemon, session, f"Fix the login test. {PNPM}", DRIVE)
    assert session.files() == {}
    here = ("--project", session.cwd)
    listed = daemon.run("inbox", "list", *here).stdout
    assert PNPM in listed
    assert DRIVE in listed
    assert "inbox        2 statements to decide on" in daemon.run("status", *here).stdout
    items = json.loads(daemon.run("inbox", "--json", *here).stdout)["items"]
    shown = daemon.run("inbox", "show", str(items[0]["id"])).stdout
    assert "  | Fix the login test." in shown
    assert "it may hold beyond the task" in shown
    accepted = daemon.run("inbox", "accept", str(items[0]["id"]))
    assert accepted.stdout.startswith("remembered in ")
    (text,) = session.files().values()
    assert PNPM in text
    assert daemon.run("inbox", "reject", "--all", *here).stdout == "rejected 1 statement\n"
    assert daemon.run("inbox", "list", *here).stdout == "The inbox is empty.\n"
    assert "statements to decide" not in daemon.run("status", *here).stdout


def test_all_that_is_accepted_retires_nothing(daemon: Daemon, session: Session) -> None:
    say(daemon, session, "Always use tabs in Makefiles. Always use tabs in Go files.")
    say(daemon, session, PNPM, "Forget what I said about tabs.")
    here = ("--project", session.cwd)
    listed = daemon.run("inbox", "list", *here).stdout
    assert "retire feedback_always_use_tabs_makefiles.md? Forget what I said" in listed
    accepted = daemon.run("inbox", "accept", "--all", *here).stdout
    assert accepted.startswith("remembered in ")
    assert "These ask whether to retire a memory: memoryd inbox accept 2 3" in accepted
    assert len(session.files()) == 3
    retired = daemon.run("inbox", "accept", "2", *here).stdout
    assert retired.startswith("retired to ")
    why = daemon.run("why", "feedback_always_use_tabs_makefiles.md", *here).stdout
    assert "state       retired on 20" in why
    assert "bring it back with memoryd restore" in why


def test_what_waits_is_never_recalled(daemon: Daemon, session: Session) -> None:
    say(daemon, session, PNPM)
    with daemon.peer() as peer:
        assert peer.call("recall", query="pnpm web client", cwd=session.cwd)["memories"] == []


def test_a_person_decides_with_one_key_each(
    daemon: Daemon, session: Session, tmp_path: Path
) -> None:
    say(daemon, session, PNPM, DRIVE, "I prefer short answers without lists.")
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "Release notes: team drive.\\n" > "$1"\n')
    editor.chmod(0o700)
    daemon.env["EDITOR"] = str(editor)
    terminal = Terminal(daemon, "inbox", "--project", session.cwd)
    for number, key in enumerate(("a", "e", "r"), start=1):
        terminal.read_until(f"{number} of 3")
        terminal.read_until("[q]uit? ")
        terminal.seen = ""
        terminal.type(f"{key}\n")
    assert terminal.end() == 0
    texts = "".join(session.files().values())
    assert PNPM in texts
    assert "Release notes: team drive." in texts
    assert "short answers" not in texts
    assert daemon.run("inbox", "list", "--project", session.cwd).stdout == "The inbox is empty.\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("accept", "99"), "candidate 99 is not in the inbox"),
        (("show", "99"), "99 is not in the inbox"),
        (("accept",), "accept needs ids, or --all"),
        (("show",), "show takes one id"),
        (("list", "3"), "a list takes no ids"),
        (("list", "--all"), "--all goes with accept or reject"),
        (("accept", "x"), "'x' is not a whole number"),
    ],
)
def test_wrong_use_is_told_what_to_type(
    shared_daemon: Daemon, words: tuple[str, ...], said: str
) -> None:
    done = shared_daemon.run("inbox", *words)
    assert done.returncode != 0
    assert said in done.stderr


def test_an_agent_that_reviews_sorts_what_its_session_is_shown(daemon: Daemon, home: Path) -> None:
    configure(home, '[inbox]\nreviewer = "agent"\n')
    daemon.start()
    session = Session(home)
    say(daemon, session, PNPM, DRIVE)
    shown = injected(daemon, event("SessionStart", session.cwd, source="startup"))
    assert f'"{PNPM}"' in shown
    env = daemon.env | {"CLAUDE_PROJECT_DIR": session.cwd}
    (listed,) = talk(env, request("tools/list"))
    assert "sort_inbox" in {tool["name"] for tool in listed["result"]["tools"]}
    with daemon.peer() as peer:
        first, second = (one["id"] for one in peer.call("inbox/list", cwd=session.cwd)["items"])
    decisions = [{"id": first, "keep": True, "text": "Use pnpm."}, {"id": second, "keep": False}]
    call = request("tools/call", name="sort_inbox", arguments={"decisions": decisions})
    (answer,) = talk(env, call)
    assert answer["result"]["isError"] is False
    (text,) = session.files().values()
    assert "Use pnpm." in text
    assert PNPM not in injected(daemon, event("SessionStart", session.cwd, source="startup"))


def test_otherwise_the_agent_neither_sees_nor_sorts(daemon: Daemon, session: Session) -> None:
    say(daemon, session, PNPM)
    assert PNPM not in injected(daemon, event("SessionStart", session.cwd, source="startup"))
    env = daemon.env | {"CLAUDE_PROJECT_DIR": session.cwd}
    (listed,) = talk(env, request("tools/list"))
    assert "sort_inbox" not in {tool["name"] for tool in listed["result"]["tools"]}
    decisions = [{"id": 1, "keep": True}]
    (answer,) = talk(
        env, request("tools/call", name="sort_inbox", arguments={"decisions": decisions})
    )
    assert answer["result"]["isError"] is True
    assert session.files() == {}


@pytest.mark.parametrize("mode", ["off", "review"])
def test_a_project_has_a_mode_of_its_own(daemon: Daemon, home: Path, mode: str) -> None:
    session = Session(home)
    configure(home, f'[projects."{session.cwd}"]\nextraction = "{mode}"\n')
    daemon.start()
    session.turn("From now on, use tabs in Makefiles.", "Understood.")
    other = Session(home, "t", "elsewhere")
    other.turn("From now on, use tabs in Makefiles.", "Understood.")
    wait_until_idle(daemon)
    assert len(other.files()) == 1
    assert session.files() == {}
    with daemon.peer() as peer:
        found = peer.call("inbox/list", cwd=session.cwd)["items"]
    assert [one["reason"] for one in found] == (["review"] if mode == "review" else [])
    assert f"extraction is set to {mode}" in daemon.run("status", "--project", session.cwd).stdout
    assert "extraction" not in daemon.run("status", "--project", other.cwd).stdout
