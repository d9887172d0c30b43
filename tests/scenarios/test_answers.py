"""Every method of a real daemon answers as the OpenRPC document says, and so do its events."""

import base64
from pathlib import Path

import pytest

from memoryd.api.results import ANSWERS
from tests.scenarios.test_extraction import Session, finished_run
from tests.support.asking import Asking
from tests.support.running import Daemon, Peer

# What none of these calls can lead to without a model; both answer with a line of `dream/log`.
NEEDS_A_MODEL = {"dream/stop", "dream/accept"}
# Asked in `test_team` and `test_devices`, with a real database.
NEEDS_A_DATABASE = {method for method in ANSWERS if method.startswith(("team/", "device/"))}
TABS = {"name": "Tabs", "description": "d", "type": "feedback", "body": "Always use tabs here."}


@pytest.fixture
def session(daemon: Daemon, home: Path) -> Session:
    Path(home / "app").mkdir()
    daemon.start()
    return Session(home)


def test_every_answer_and_event_is_as_the_document_says(
    daemon: Daemon, session: Session, home: Path
) -> None:
    for said in (
        "We use pnpm for everything in the web client.",
        "I prefer short answers.",
        "The release notes live in the team drive.",
    ):
        finished_run(daemon, lambda said=said: session.turn(said, "Understood."))
    with daemon.peer() as following, daemon.peer() as peer:
        following.call("events/subscribe")
        ask = Asking(peer, session.cwd)
        about_sessions(ask, session)
        about_memories(ask)
        about_the_inbox(ask)
        about_the_project(ask, home)
        about_dreams(ask, following)
        ask("events/subscribe", kinds=["daemon/stopping"])
        ask("shutdown")
        while (message := following.receive()) is not None:
            ask.heard(message["params"])
    assert ask.asked == ANSWERS.keys() - NEEDS_A_MODEL - NEEDS_A_DATABASE
    assert {"memory/saved", "memory/forgotten", "dream/finished", "daemon/stopping"} <= ask.kinds


def about_sessions(ask: Asking, session: Session) -> None:
    ask("ping")
    ask("status")
    ask("health")
    ask("cost")
    ask("session/list")
    ask("session/show", session_id=session.session_id)
    ask("session/notes", session_id=session.session_id)
    ask("checkpoint/save", name="one")
    ask("checkpoint/list")
    ask("checkpoint/get", name="one")
    ask("checkpoint/remove", name="one")
    ask("turn/ended", session_id="s", transcript_path=str(session.path))
    ask("hook", hook_event_name="Stop")
    ask("statusline")
    ask("context")
    ask("queue/retry")
    ask("import/start", since="30d", dry_run=True)
    ask("import/start", since="30d")
    ask("import/stop")


def about_memories(ask: Asking) -> None:
    path = ask("memory/save", **TABS)["path"]
    ask("memory/save", **TABS, agent="tester")
    assert ask("memory/list")["memories"]
    got = ask("memory/get", path=path)
    ask("memory/edit", path=path, content=got["content"] + "Also in C.\n", version=got["version"])
    ask("memory/why", path=path)
    assert ask("memory/history", path=path, version=1)["content"]
    assert ask("recall", query="tabs")["memories"]
    ask("recall/stats")
    ask("review/list")
    ask("memory/trust")
    ask("review/keep", path=path)
    moved = ask("memory/move", path=path, scope="user")["path"]
    ask("memory/forget", path=moved)
    assert ask("memory/list", forgotten=True)["memories"]
    ask("memory/restore", path=moved)
    ask("review/retire", path=moved)
    other = ask("memory/save", **(TABS | {"name": "Spaces", "body": "Never use spaces."}))["path"]
    assert ask("memory/purge", path=other)["gone"]
    assert ask("agent/list")["agents"]
    ask("agent/snapshot", agent="tester")


def about_the_inbox(ask: Asking) -> None:
    first, second, third = (one["id"] for one in ask("inbox/list")["items"])
    ask("inbox/accept", ids=[first])
    ask("inbox/edit", ids=[second], text="I prefer short answers to questions.")
    ask("inbox/reject", ids=[third])


def about_the_project(ask: Asking, home: Path) -> None:
    outside = home / "more.md"
    outside.write_text("More.\n")
    Path(ask.cwd, "CLAUDE.md").write_text(f"@{outside}\n")
    assert ask("context")["needs_approval"]
    ask("context/approve", path=str(outside))
    packed = ask("archive/export")["archive"]
    Path(home / "packed.tar.gz").write_bytes(base64.b64decode(packed))
    ask("archive/import", path=str(home / "packed.tar.gz"))
    left = home / "left"
    left.mkdir()
    saved = ask.peer.call("memory/save", cwd=str(left), **TABS)["path"]
    assert ask("project/adopt", old=str(left))["moved"] == [Path(saved).name]
    ask("switch", enabled=True)
    assert "until" in ask("switch", enabled=False, seconds=60)
    ask("switch", enabled=True)


def about_dreams(ask: Asking, following: Peer) -> None:
    for name in ("Lint", "Lint first"):  # the same twice: there is something to merge
        ask("memory/save", **(TABS | {"name": name, "body": "Always lint before a commit."}))
    ask("dream/start", force=True)
    while ask.heard(following.next_event()) != "dream/finished":
        pass
    ask("dream/status")
    assert ask("dream/log")["dreams"]
    assert ask("dream/undo")["restored"]
