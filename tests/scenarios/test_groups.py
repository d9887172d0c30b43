"""Projects of a group share a directory between the user scope and their own."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.running import Daemon, Peer, make_home
from tests.support.session_script import SessionScript
from tests.support.tail_fixtures import write

SQUASH = "Remember that in all our repos we use squash merges."
DUTCH = "Invoices are written in Dutch."


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    made = Daemon(make_home(tmp_path_factory.mktemp("groups")))
    settings = made.home / ".config/memoryd/config.toml"
    settings.parent.mkdir()
    settings.write_text('[groups]\nwork = ["~/src/acme/*"]\n')
    for name in ("acme/web", "acme/mail", "own"):
        (made.home / "src" / name).mkdir(parents=True)
    yield made.start()
    made.end()


@pytest.fixture
def peer(running: Daemon) -> Iterator[Peer]:
    with running.peer() as made:
        yield made


def root(running: Daemon, name: str) -> str:
    return str(running.home / "src" / name)


def group_files(peer: Peer, cwd: str) -> set[str]:
    found = peer.call("memory/list", cwd=cwd)["memories"]
    return {one["description"] for one in found if one["scope"] == "group"}


def test_a_group_has_one_memory_and_only_its_projects_see_it(running: Daemon, peer: Peer) -> None:
    web, mail, own = (root(running, name) for name in ("acme/web", "acme/mail", "own"))
    done = running.run("remember", DUTCH, "--scope", "group", "--project", web)
    assert f"{running.home}/.claude/memory-groups/work/" in done.stdout, done.stderr
    assert group_files(peer, mail) == {DUTCH}
    assert group_files(peer, own) == set()
    asked = {"query": "in which language are invoices written?"}
    found = peer.call("recall", **asked, cwd=mail)["memories"]
    assert [one["scope"] for one in found] == ["group"]
    assert peer.call("recall", **asked, cwd=own)["memories"] == []
    kinds = {part["kind"] for part in peer.call("context", cwd=mail)["parts"]}
    assert "index:group" in kinds
    assert "memory-groups/work" in peer.call("context", cwd=mail)["text"]
    start = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s"}
    assert "Invoices" in peer.call("hook", **start, cwd=mail)["stdout"]
    assert peer.call("hook", **start, cwd=own)["stdout"] == ""
    dream = json.loads(running.run("dream", "--scope", "group", "--project", mail, "--json").stdout)
    assert dream["message"]
    refused = running.run("remember", DUTCH, "--scope", "group", "--project", own)
    assert refused.returncode == 1
    assert "in no group" in refused.stderr
    assert "groups.NAME" in refused.stderr


def test_what_is_said_of_all_our_projects_goes_to_the_group(running: Daemon, peer: Peer) -> None:
    web, own = root(running, "acme/web"), root(running, "own")
    peer.call("events/subscribe", kinds=["memory/saved"])
    for session, cwd in (("of-group", web), ("of-own", own)):
        script = SessionScript(session, cwd)
        script.turn(SQUASH, "Understood.")
        write(running.home, script)
    scopes = {
        Path(event["path"]).parent.name: event["scope"]
        for event in (peer.next_event(), peer.next_event())
    }
    assert scopes == {"work": "group", "memory": "project"}


def test_a_memory_goes_up_and_down_all_three_steps(running: Daemon, peer: Peer) -> None:
    mail = root(running, "acme/mail")
    given = {
        "name": "Plans",
        "description": "plans",
        "type": "feedback",
        "body": "Show plans first.",
    }
    file = Path(peer.call("memory/save", cwd=mail, **given)["path"]).name
    for words, scope in (
        (("promote", file, "--scope", "group"), "group"),
        (("promote", file), "user"),
        (("demote", file, "--scope", "group"), "group"),
        (("demote", file), "project"),
    ):
        done = running.run(*words, "--project", mail)
        assert done.returncode == 0, done.stderr
        assert peer.call("memory/get", cwd=mail, path=file)["scope"] == scope
        assert "Undo: memoryd" in done.stdout
    history = peer.call("memory/history", cwd=mail, path=file)["versions"]
    assert [one["cause"] for one in history] == ["move"] * 4 + ["user"]


def test_config_shows_and_sets_groups(running: Daemon) -> None:
    shown = json.loads(running.run("config", "--json").stdout)
    assert "groups.work" in json.dumps(shown)
