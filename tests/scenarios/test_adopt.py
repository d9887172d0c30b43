"""A project that was moved or cloned finds its memory again: doctor, the session's start, adopt."""

import json
from pathlib import Path

from tests.memories.test_identity import git, repository
from tests.scenarios.test_extraction import Session
from tests.scenarios.test_privacy import hook, run
from tests.support.running import Daemon, Peer, give_way


def save(peer: Peer, root: Path, body: str) -> Path:
    saved = peer.call(
        "memory/save", cwd=str(root), name=body[:30], description=body, type="project", body=body
    )
    return Path(saved["path"])


def names(peer: Peer, root: Path) -> list[str]:
    return sorted(one["name"] for one in peer.call("memory/list", cwd=str(root))["memories"])


def identity_of(memory: Path) -> dict[str, str]:
    """What is recorded beside a memory; the test's own time limit ends a vain wait."""
    file = memory.parent / ".memoryd-identity"
    while not file.exists():
        give_way()
    return dict(json.loads(file.read_text()))


def test_a_moved_project_keeps_its_memory_with_history_and_can_undo_it(
    daemon: Daemon, home: Path
) -> None:
    daemon.start()
    old, new = Session(home, "one", "old"), Session(home, "two", "new")
    first = repository(Path(old.cwd))
    git(Path(old.cwd), "remote", "add", "origin", "git@host.example:acme/shop.git")
    with daemon.peer() as peer:
        path = save(peer, Path(old.cwd), "We ship from Lisbon")
        text = peer.call("memory/get", cwd=old.cwd, path=str(path))
        peer.call(
            "memory/edit",
            cwd=old.cwd,
            path=str(path),
            content=text["content"].replace("Lisbon", "Porto"),
            version=text["version"],
        )
        assert identity_of(path) == {"root_commit": first, "remote": "host.example/acme/shop"}
    Path(old.cwd).rename(new.cwd)
    assert f"memoryd adopt {old.cwd}" in hook(daemon, new, "SessionStart", source="startup")
    doctor = run(daemon, new, "doctor")
    assert f"left behind at {old.cwd}" in " ".join(doctor.split())
    assert f"-> memoryd adopt {old.cwd}" in doctor
    assert json.loads(run(daemon, new, "adopt", "--json"))["source"] == str(path.parent)
    refused = run(daemon, new, "adopt", old.cwd)
    assert "1 memory moved, with their history" in refused
    assert "nothing was changed" in refused
    with daemon.peer() as peer:
        (there,) = peer.call("memory/list", cwd=old.cwd)["memories"]
        assert "Done. Undo: memoryd adopt --undo" in run(daemon, new, "adopt", old.cwd, "--yes")
        (here,) = peer.call("memory/list", cwd=new.cwd)["memories"]
        assert here["file"] == there["file"]
        history = peer.call("memory/history", cwd=new.cwd, path=here["path"])["versions"]
        assert [one["cause"] for one in history] == ["user", "user"]
        assert peer.call("memory/list", cwd=old.cwd)["memories"] == []
        found = peer.call("recall", query="where do we ship from", cwd=new.cwd)["memories"]
        assert "Porto" in found[0]["content"]
        assert here["file"] in (Path(here["path"]).parent / "MEMORY.md").read_text()
        assert hook(daemon, new, "SessionStart", source="startup") == ""
        assert "is undone" in run(daemon, new, "adopt", "--undo", "--yes")
        assert peer.call("memory/list", cwd=new.cwd)["memories"] == []
        assert path.read_text().count("Porto") >= 1
        assert len(peer.call("memory/history", cwd=old.cwd, path=str(path))["versions"]) == 2
    assert "nothing to undo" in run(daemon, new, "adopt", "--undo", "--yes")
    assert "no memories of this repository" in run(daemon, old, "adopt")


def test_a_clone_gets_copies_and_names_that_are_taken_a_number(daemon: Daemon, home: Path) -> None:
    daemon.start()
    one, two = home / "one", home / "two"
    repository(one)
    git(home, "clone", "-q", str(one), str(two))
    session = Session(home, "s", "two")
    with daemon.peer() as peer:
        same = "We ship from Lisbon"
        first = save(peer, one, same)
        clash = save(peer, one, "The tea is green")
        mine = save(peer, two, "The tea is green")
        mine.write_text(mine.read_text().replace("green", "black"))
        (mine.parent / first.name).write_bytes(first.read_bytes())
        identity_of(first)
        answer = json.loads(run(daemon, session, "adopt", "../one", "--yes", "--json"))
        assert answer["copied"] is True
        assert answer["same_project"] is True
        assert answer["already_here"] == [first.name]
        assert list(answer["renamed"]) == [clash.name]
        assert names(peer, one) == ["The tea is green", same]
        assert len(names(peer, two)) == 3
        assert json.loads(run(daemon, session, "adopt", "--undo", "--yes", "--json"))["done"]
        assert len(names(peer, two)) == 2
        error = peer.ask("project/adopt", cwd=str(two), old=str(one), by="agent")["error"]
        assert error["data"]["kind"] == "refused"
        error = peer.ask("project/adopt", cwd=str(two), old="/nowhere/at/all")["error"]
        assert error["data"]["hint"] == f"memoryd adopt {one}"
        error = peer.ask("project/adopt", cwd=str(two), old=str(two))["error"]
        assert "already" in error["message"]
