"""`memoryd why`: the words behind a memory, what became of it, and how often it was used."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.test_extraction import Session, finished_run
from tests.scenarios.test_mcp import request, talk
from tests.support.running import Daemon, give_way

TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
SAID = "The build is slow. From now on, write commit messages in Danish."


@pytest.fixture
def session(daemon: Daemon, home: Path) -> Session:
    daemon.start()
    return Session(home)


def only_file(session: Session) -> str:
    (file,) = session.files()
    return file


def why(daemon: Daemon, session: Session, file: str) -> dict[str, Any]:
    with daemon.peer() as peer:
        found: dict[str, Any] = peer.call("memory/why", cwd=session.cwd, path=file)
        return found


def test_the_words_that_were_said_are_quoted(daemon: Daemon, session: Session) -> None:
    finished_run(daemon, lambda: session.turn("Fix the login test.", "Done."))
    finished_run(daemon, lambda: session.turn(f"{SAID} The key is {TOKEN}.", "Understood."))
    file = only_file(session)
    answer = why(daemon, session, file)
    assert answer["said"].startswith(SAID)
    assert TOKEN not in json.dumps(answer)
    assert answer["session_id"] == session.session_id
    assert answer["said_at"] == answer["created"]
    assert answer["transcript"] == str(session.path)
    assert (answer["cause"], answer["trust"]) == ("extraction", "user-said")
    assert (answer["versions"], answer["times_recalled"]) == (1, 0)
    printed = daemon.run("why", file, "--project", session.cwd).stdout
    assert f"  | {SAID}" in printed
    assert "learned from a session" in printed
    assert "the person said it" in printed
    assert "recalled    never yet" in printed
    assert json.loads(daemon.run("why", file, "--json", "--project", session.cwd).stdout) == answer


def test_without_its_transcript_a_memory_still_says_its_session(
    daemon: Daemon, session: Session
) -> None:
    finished_run(daemon, lambda: session.turn(SAID, "Understood."))
    file = only_file(session)
    session.path.rename(session.path.with_name(f"{session.session_id}-another.jsonl"))
    answer = why(daemon, session, file)
    assert (answer["said"], answer["transcript"]) == ("", "")
    assert answer["session_id"] == session.session_id
    printed = daemon.run("why", file, "--project", session.cwd).stdout
    assert "no longer there" in printed


def test_it_counts_how_often_sessions_were_given_a_memory(daemon: Daemon, session: Session) -> None:
    finished_run(daemon, lambda: session.turn(SAID, "Understood."))
    file = only_file(session)
    with daemon.peer() as peer:
        question = {"query": "answer in Danish", "cwd": session.cwd}
        for number in (1, 2):
            given = peer.call("recall", **question, session_id=f"later-{number}")
            assert len(given["memories"]) == 1
            peer.call("recall", **question, session_id=f"later-{number}")  # has it already
        peer.call("recall", **question)  # a look without a session
        while (answer := peer.call("memory/why", cwd=session.cwd, path=file))["times_recalled"] < 2:
            give_way()  # it is saved right after the answer
    assert answer["times_recalled"] == 2
    assert answer["recalled_in"] == "later-2"
    assert answer["last_recalled"]
    daemon.stop()
    daemon.start()
    assert why(daemon, session, file)["times_recalled"] == 2
    assert "2 times, last on" in daemon.run("why", file, "--project", session.cwd).stdout


def test_it_names_what_replaced_what(daemon: Daemon, session: Session) -> None:
    here = ("--project", session.cwd)
    daemon.run("remember", "Deploys go out on Thursdays", "--name", "Old", *here)
    replaces = ("--supersedes", "feedback_old.md")
    daemon.run("remember", "Deploys go out on Mondays", "--name", "New", *replaces, *here)
    assert why(daemon, session, "feedback_new.md")["replaces"] == ["feedback_old.md"]
    assert why(daemon, session, "feedback_old.md")["replaced_by"] == ["feedback_new.md"]
    assert "replaced    feedback_old.md" in daemon.run("why", "feedback_new.md", *here).stdout


def test_a_forgotten_memory_still_says_what_is_known(daemon: Daemon, session: Session) -> None:
    here = ("--project", session.cwd)
    daemon.run("remember", "Deploys go out on Thursdays", "--name", "Deploys", *here)
    daemon.run("forget", "feedback_deploys.md", *here)
    answer = why(daemon, session, "feedback_deploys.md")
    assert answer["is_gone"] is True
    assert (answer["name"], answer["trust"]) == ("Deploys", "user-said")
    printed = daemon.run("why", "feedback_deploys.md", *here).stdout
    assert "bring it back with memoryd restore feedback_deploys.md" in printed


def test_what_the_agent_saved_names_its_session(daemon: Daemon, session: Session) -> None:
    session.turn("We ship on Thursdays, because the hotline is staffed then.", "Noted.")
    env = daemon.env | {
        "CLAUDE_PROJECT_DIR": session.cwd,
        "CLAUDE_CODE_SESSION_ID": session.session_id,
    }
    arguments = {"text": "Shipping happens on Thursdays", "type": "project", "name": "Shipping"}
    talk(env, request("tools/call", name="remember", arguments=arguments))
    answer = why(daemon, session, "project_shipping.md")
    assert (answer["cause"], answer["trust"]) == ("agent", "agent-concluded")
    assert answer["session_id"] == session.session_id
    assert answer["said"].startswith("We ship on Thursdays")


def test_an_unknown_memory_is_named(daemon: Daemon, session: Session) -> None:
    done = daemon.run("why", "nothing_such.md", "--project", session.cwd)
    assert done.returncode == 1
    assert "memoryd list shows them" in done.stderr
