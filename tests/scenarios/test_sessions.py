"""Sessions as a person sees them, and the import of what was there before."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.support.running import Daemon, Peer
from tests.support.session_script import SessionScript
from tests.support.tail_fixtures import append, database, projects, session, write
from tests.transcripts.test_recorded_sessions import CASES

pytestmark = pytest.mark.usefixtures("turns_are_held")


@pytest.fixture
def work(home: Path) -> Path:
    folder = home / "work"
    folder.mkdir()
    return folder


def scripted(name: str, work: Path, *texts: str) -> SessionScript:
    script = SessionScript(name, str(work))
    for text in texts:
        script.turn(text, f"{text}: done")
    return script


def play(home: Path, case: str) -> None:
    for path in (CASES / case / "projects").rglob("*.jsonl"):
        there = projects(home) / path.relative_to(CASES / case / "projects")
        there.parent.mkdir(parents=True, exist_ok=True)
        there.write_bytes(path.read_bytes())


def sessions_in(peer: Peer, cwd: Path | str, **more: Any) -> list[dict[str, Any]]:
    return list(peer.call("session/list", cwd=str(cwd), **more)["sessions"])


def test_a_project_s_sessions_are_listed_newest_first(
    daemon: Daemon, home: Path, work: Path
) -> None:
    write(home, scripted("older", work, "first question", "second"))
    write(home, scripted("newer", work, "another"))
    (projects(home) / "-home-dev-work-app/newer.jsonl").touch()
    write(home, session("elsewhere", "not here"))
    daemon.start()
    with daemon.peer() as peer:
        newer, older = sessions_in(peer, work)
        assert [one["session_id"] for one in sessions_in(peer, work, limit=1)] == ["newer"]
        assert [one["session_id"] for one in sessions_in(peer, "/home/dev/work/app")] == [
            "elsewhere"
        ]
    assert older["first_prompt"] == "first question"
    assert (older["turns"], older["git_branch"], older["cwd"]) == (2, "main", str(work))
    assert (older["context_tokens"], older["output_tokens"]) == (3160, 80)
    assert (older["started"], older["last_activity"]) == (
        "2026-11-16T01:00:01.000Z",
        "2026-11-16T01:00:04.000Z",
    )
    assert older["path"] == str(projects(home) / "-home-dev-work-app/older.jsonl")
    assert newer["turns"] == 1


def test_a_session_is_listed_where_it_was_and_where_it_went(
    daemon: Daemon, home: Path, work: Path
) -> None:
    script = scripted("s", work, "here")
    script.cwd = str(home / "elsewhere")
    script.turn("there", "done")
    write(home, script)
    write(home, session("empty"))
    daemon.start()
    with daemon.peer() as peer:
        assert len(sessions_in(peer, work)) == 1
        assert len(sessions_in(peer, home / "elsewhere")) == 1
        assert sessions_in(peer, home / "nowhere") == []


def test_what_grew_since_the_last_list_is_seen(daemon: Daemon, home: Path, work: Path) -> None:
    script = scripted("s", work, "one")
    path = write(home, script)
    daemon.start()
    with daemon.peer() as peer:
        assert [one["turns"] for one in sessions_in(peer, work)] == [1]
        seen = len(script.data)
        script.turn("two", "done")
        append(path, script.data[seen:])
        assert [one["turns"] for one in sessions_in(peer, work)] == [2]


def test_no_secret_is_shown(daemon: Daemon, home: Path, work: Path) -> None:
    token = "ghp_" + "k3Jf8sLq0ZpX7vRt2WmB5nYc9HdG1aUe4TiO"
    write(home, scripted("s", work, f"my token is {token}"))
    daemon.start()
    with daemon.peer() as peer:
        told = json.dumps([sessions_in(peer, work), peer.call("session/show", session_id="s")])
    assert token not in told
    assert "[secret: " in told


def test_no_secret_shows_where_the_first_words_are_cut(
    daemon: Daemon, home: Path, work: Path
) -> None:
    token = "ghp_" + "k3Jf8sLq0ZpX7vRt2WmB5nYc9HdG1aUe4TiO"
    for number in range(4):
        write(home, scripted(f"s{number}", work, "a" * (140 + 20 * number) + f" {token} end"))
    daemon.start()
    with daemon.peer() as peer:
        told = [one["first_prompt"] for one in sessions_in(peer, work)]
    assert all(token[:8] not in text and len(text) <= 200 for text in told)


def test_a_session_is_shown_as_a_person_reads_it(daemon: Daemon, home: Path) -> None:
    play(home, "c18_rewind")
    play(home, "c02_tools_thinking")
    play(home, "c09_compact_manual")
    daemon.start()
    with daemon.peer() as peer:
        rewound = peer.call("session/show", session_id="e19b3dee")
        with_tools = peer.call("session/show", session_id="e0dbab68-6200-4d5f-800b-7a5031a72647")
        compacted = peer.call("session/show", session_id="3fc87968")
    assert [(part["kind"], part["text"]) for part in rewound["parts"]] == [
        ("prompt", "Say hello to the project"),
        ("assistant", "Hello from the fake API."),
        ("prompt", "What did we fix earlier?"),
        ("assistant", "We fixed the add function in calc.py."),
    ]
    assert rewound["parts_left_out"] == 0
    tools = [part["text"] for part in with_tools["parts"] if part["kind"] == "tools"]
    assert tools[0].startswith("Read ")
    assert "compaction" in {part["kind"] for part in compacted["parts"]}


def test_an_unknown_or_ambiguous_session_is_refused(daemon: Daemon, home: Path, work: Path) -> None:
    write(home, scripted("abc-1", work, "one"))
    write(home, scripted("abc-2", work, "two"))
    write(home, scripted("quiet", work))
    daemon.start()
    with daemon.peer() as peer:
        several = peer.ask("session/show", session_id="abc")["error"]
        assert several["data"] == {"kind": "invalid-input", "hint": "use one of abc-1, abc-2"}
        for name in ("nothing", "", "../../etc/passwd", "quiet"):
            answer = peer.ask("session/show", session_id=name)["error"]
            assert answer["data"]["kind"] == "not-found"
        assert peer.call("session/show", session_id="abc-1")["session_id"] == "abc-1"


def test_of_a_very_long_session_the_newest_parts_are_shown(
    daemon: Daemon, home: Path, work: Path
) -> None:
    script = SessionScript("s", str(work))
    for number in range(120):
        script.turn(f"question {number}", "long answer " * 4000)
    write(home, script)
    daemon.start()
    with daemon.peer() as peer:
        shown = peer.call("session/show", session_id="s")
    assert shown["parts"][-2]["text"] == "question 119"
    assert shown["parts_left_out"] + len(shown["parts"]) == 240
    assert shown["parts_left_out"] > 0


def pending(home: Path) -> list[tuple[str, int]]:
    with sqlite3.connect(f"file:{database(home)}?mode=ro", uri=True) as connection:
        found = connection.execute(
            "select id, imported from turns where state = 'pending' order by number"
        ).fetchall()
    connection.close()
    return found


def finish_import(peer: Peer, **params: Any) -> dict[str, Any]:
    """Starts an import on a connection that hears events; what the end of it said."""
    peer.call("events/subscribe", kinds=["import/finished"])
    assert peer.call("import/start", **params)["started"]
    return peer.next_event()


def test_an_estimate_comes_first_and_changes_nothing(
    daemon: Daemon, home: Path, work: Path
) -> None:
    write(home, scripted("a", work, "one", "two"))
    write(home, scripted("b", work, "three"))
    write(home, session("c", "elsewhere"))
    daemon.start()
    with daemon.peer() as peer:
        everything = peer.call("import/start", since="2026-01-01", dry_run=True)
        here = peer.call("import/start", since="2026-01-01", cwd=str(work), dry_run=True)
        nothing = peer.call("import/start", since="2036-01-01", dry_run=True)
    assert (everything["sessions"], everything["turns"]) == (3, 4)
    assert (here["sessions"], here["turns"]) == (2, 3)
    assert 0 < here["usd"] < everything["usd"] < 0.1
    assert here["tokens"] > 2 * 2 * 4000
    assert (here["model"], here["since"], here["resumes"]) == (
        "claude-haiku-5-5",
        "2026-01-01T00:00:00Z",
        False,
    )
    assert (nothing["turns"], nothing["usd"]) == (0, 0.0)
    assert pending(home) == []


def test_an_import_queues_old_turns_once(daemon: Daemon, home: Path, work: Path) -> None:
    write(home, scripted("a", work, "one", "two"))
    write(home, session("c", "elsewhere"))
    daemon.start()
    with daemon.peer() as peer:
        ended = finish_import(peer, since="2026-01-01", cwd=str(work))
    assert (ended["complete"], ended["turns"], ended["files_done"]) == (True, 2, 2)
    assert pending(home) == [("a-line-1", 1), ("a-line-3", 1)]
    with daemon.peer() as peer:
        assert finish_import(peer, since="2026-01-01")["turns"] == 1
        assert peer.call("import/start", since="2026-01-01", dry_run=True)["turns"] == 0
        assert finish_import(peer, since="2026-01-01")["turns"] == 0
    assert [turn_id for turn_id, _ in pending(home)] == ["a-line-1", "a-line-3", "c-line-1"]


def test_an_import_takes_nothing_that_was_followed_anyway(
    daemon: Daemon, home: Path, work: Path
) -> None:
    old = scripted("old", work, "before")
    path = write(home, old)
    daemon.start()
    seen = len(old.data)
    old.turn("after", "done")
    with daemon.peer() as peer:
        peer.call("events/subscribe", kinds=["transcript/turn"])
        append(path, old.data[seen:])
        write(home, scripted("new", work, "new"))
        assert {peer.next_event()["turn_id"] for _ in range(2)} == {"old-line-3", "new-line-1"}
    with daemon.peer() as peer:
        assert finish_import(peer, since="2026-01-01")["turns"] == 1
    assert sorted(pending(home)) == [("new-line-1", 0), ("old-line-1", 1), ("old-line-3", 0)]


def test_abandoned_and_too_old_turns_are_not_imported(
    daemon: Daemon, home: Path, work: Path
) -> None:
    script = scripted("a", work, "one", "two")
    script.leaf = "a-line-2"
    script.turn("instead of two", "done")
    script.lines[0] = script.lines[0].replace(b"2026-11-16", b"2020-11-16")
    script.lines[1] = script.lines[1].replace(b"2026-11-16", b"2020-11-16")
    write(home, script)
    daemon.start()
    with daemon.peer() as peer:
        assert finish_import(peer, since="2026-01-01")["turns"] == 1
    assert pending(home) == [("a-line-5", 1)]


def test_an_import_that_was_stopped_or_killed_goes_on_where_it_was(
    daemon: Daemon, home: Path, work: Path
) -> None:
    for number in range(90):
        write(home, scripted(f"s{number:03}", work, *("question",) * 10))
    daemon.start()
    with daemon.peer() as peer, daemon.peer() as other:
        peer.call("events/subscribe", kinds=["import/progress", "import/finished"])
        assert not other.call("import/stop")["stopping"]
        peer.call("import/start", since="2026-01-01")
        refused = other.ask("import/start", since="2026-01-01")["error"]
        assert refused["data"]["kind"] == "conflict"
        assert other.call("import/stop")["stopping"]
        event = peer.next_event()
        while event["kind"] != "import/finished":
            event = peer.next_event()
        assert not event["complete"]
        first = event["turns"]
        assert len(pending(home)) == first < 900
        rest = peer.call("import/start", since="2026-01-01", dry_run=True)
        assert (rest["resumes"], rest["turns"]) == (first > 0, 900 - first)
        peer.call("import/start", since="2026-01-01")
    daemon.stop(9)
    daemon.start()
    with daemon.peer() as peer:
        assert finish_import(peer, since="2026-01-01")["complete"]
    assert len({turn_id for turn_id, _ in pending(home)}) == len(pending(home)) == 900


def test_a_meaningless_since_is_refused(daemon: Daemon, home: Path) -> None:
    daemon.start()
    with daemon.peer() as peer:
        answer = peer.ask("import/start", since="a while")["error"]
        assert "30d" in answer["data"]["hint"]
        assert peer.ask("import/start")["error"]["code"] == -32602
