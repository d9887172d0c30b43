"""A purged memory is in no file, row, free page or log, and the command proves it."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.scenarios.test_extraction import Session, configure, wait_until_idle
from tests.scenarios.test_privacy import hook, run
from tests.support.kept_text import places_with
from tests.support.running import Daemon
from tests.support.tail_fixtures import database

SAID = "Remember that the heronmerger closes in March and only legal may know."
NAME = "project_heronmerger"


def save(daemon: Daemon, session: Session, **more: Any) -> str:
    body = "The heronmerger closes in March and only legal may know. Ask Ada."
    with daemon.peer() as peer:
        saved = peer.call(
            "memory/save",
            cwd=session.cwd,
            name="Heronmerger",
            description="When the heronmerger closes",
            type="project",
            body=body,
            **more,
        )
    return str(saved["path"])


def test_a_purged_memory_is_found_nowhere(daemon: Daemon, home: Path) -> None:
    configure(home, "[log]\nlevel = 'debug'\n")
    daemon.start()
    session = Session(home)
    session.prompt(SAID)
    session.answer("I will.", usage={"input_tokens": 20_000})
    hook(daemon, session, "Stop")
    wait_until_idle(daemon)
    hook(daemon, session, "PreCompact", trigger="manual")
    path = save(daemon, session)
    Path(path).write_text(Path(path).read_text() + "Bring the heronmerger folder.\n")
    run(daemon, session, "history", path)
    run(daemon, session, "checkpoint", "save", "before", "--session", session.session_id)
    with daemon.peer() as peer:
        peer.call("recall", query="when does the heronmerger close", cwd=session.cwd)
        for said in session.files():  # what extraction saved of the same words
            peer.call("memory/forget", cwd=session.cwd, path=said)
    daemon.stop()
    with closing(sqlite3.connect(database(home))) as state, state:
        row = ("s", "the heronmerger closes in March and only", 1e12)
        state.execute(
            "insert or replace into last_words (session_id, text, at) values (?, ?, ?)", row
        )
    daemon.start()
    assert {"state.db: blobs", "state.db: last_words"} <= {*places_with(home, "heronmerger")}
    refused = run(daemon, session, "forget", "--purge", NAME)
    assert "cannot be undone" in refused
    for name in (NAME, *(one for one in forgotten(daemon, session) if one != f"{NAME}.md")):
        printed = run(daemon, session, "forget", "--purge", "--yes", name)
        assert "LOOKED IN" in printed
    assert "is purged: nothing of it was found in any of these places." in printed
    assert str(session.path) in printed  # the client's transcript is not ours to change
    assert places_with(home, "heronmerger") == []
    daemon.stop()
    assert places_with(home, "heronmerger") == []
    assert places_with(home, "March and only legal") == []


def forgotten(daemon: Daemon, session: Session) -> list[str]:
    printed = json.loads(run(daemon, session, "list", "--forgotten", "--json"))
    return [one["file"] for one in printed["memories"]]


def test_other_memories_with_the_same_words_stay_and_are_named(daemon: Daemon, home: Path) -> None:
    daemon.start()
    session = Session(home)
    purged, other = save(daemon, session), save(daemon, session)
    answer = json.loads(run(daemon, session, "forget", "--purge", "--yes", "--json", purged))
    assert answer["gone"] is True
    assert Path(other).exists()
    left = {one["place"]: one["left"] for one in answer["places"] if one["left"]}
    assert left["other memories"] == [other]
    assert not Path(purged).exists()
    assert purged.rpartition("/")[2] not in (session.memory / "MEMORY.md").read_text()
    with daemon.peer() as peer:
        (listed,) = peer.call("memory/list", cwd=session.cwd)["memories"]
        assert listed["path"] == other
        assert (
            peer.ask("memory/purge", cwd=session.cwd, path=other, by="agent")["error"]["data"][
                "kind"
            ]
            == "refused"
        )
