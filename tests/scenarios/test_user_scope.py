"""What holds for the person in every project: saved, told, recalled, promoted and demoted."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.running import Daemon, Peer, make_home
from tests.support.session_script import SessionScript
from tests.support.tail_fixtures import write

SHORT = "Never answer me in more than five sentences."
LINT = "Always run make lint before you commit."


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One daemon for this module, whose tests share the user scope."""
    made = Daemon(make_home(tmp_path_factory.mktemp("user-scope"))).start()
    yield made
    made.end()


@pytest.fixture
def peer(running: Daemon) -> Iterator[Peer]:
    with running.peer() as made:
        yield made


def project(running: Daemon, name: str) -> str:
    folder = running.home / name
    folder.mkdir(exist_ok=True)
    return str(folder)


def scopes_of(peer: Peer, cwd: str) -> dict[str, str]:
    found = peer.call("memory/list", cwd=cwd)["memories"]
    return {one["description"]: one["scope"] for one in found}


def test_a_session_in_one_project_teaches_all_and_every_file_has_its_source(
    running: Daemon, peer: Peer
) -> None:
    shop, other = project(running, "shop"), project(running, "other")
    script = SessionScript("teaching", shop)
    script.turn(f"{SHORT} {LINT}", "Understood.")
    peer.call("events/subscribe", kinds=["memory/saved"])
    write(running.home, script)
    for _ in range(2):
        peer.next_event()
    with running.peer() as asking:
        assert scopes_of(asking, shop) == {SHORT: "user", LINT: "project"}
        assert scopes_of(asking, other) == {SHORT: "user"}
        path = running.home / ".claude/memory/feedback_never_answer_more_than_five.md"
        assert "\nsource: teaching\n" in path.read_text()
        found = asking.call("recall", query="how many sentences may an answer have?", cwd=other)
        assert [one["scope"] for one in found["memories"]] == ["user"]
        start = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "new"}
        told = asking.call("hook", **start, cwd=other)["stdout"]
        assert str(running.home / ".claude/memory") in told
        assert "every project" in told
        assert "feedback_never_answer_more_than_five.md" in told
        context = asking.call("context", cwd=other)
        assert "index:user" in {part["kind"] for part in context["parts"]}
        dreams = asking.call("dream/status", cwd=other, scope="user")
        assert dreams["message"]


def test_remember_places_what_is_typed_and_a_project_can_be_insisted_on(
    running: Daemon, peer: Peer
) -> None:
    cwd = project(running, "typed")
    done = running.run("remember", "I am a statistician.", "--type", "user", "--project", cwd)
    assert f"remembered in {running.home}/.claude/memory/user_statistician.md" in done.stdout
    text = (running.home / ".claude/memory/user_statistician.md").read_text()
    assert "\nsource: terminal\n" in text
    here = running.run(
        "remember", "I type slowly.", "--scope", "project", "--project", cwd, "--json"
    )
    assert "/projects/" in json.loads(here.stdout)["path"]
    saved = peer.call(
        "memory/save",
        cwd=cwd,
        name="x",
        description="x",
        type="user",
        body="I sing.",
        scope="auto",
        by="agent",
    )
    assert "/projects/" in saved["path"]  # an agent's words go to no other project by themselves


def test_promote_and_demote_take_the_history_along_and_undo_each_other(
    running: Daemon, peer: Peer
) -> None:
    cwd, other = project(running, "mover"), project(running, "other")
    saved = peer.call(
        "memory/save",
        cwd=cwd,
        name="Brief plans",
        description="plans",
        type="feedback",
        body="Keep plans brief.",
    )
    file = Path(saved["path"]).name
    done = running.run("promote", file, "--project", cwd)
    assert done.returncode == 0, done.stderr
    assert f"moved to {running.home}/.claude/memory/{file}" in done.stdout
    assert f"Undo: memoryd demote {file} --project {cwd}" in done.stdout
    assert peer.call("memory/get", cwd=other, path=file)["scope"] == "user"
    history = peer.call("memory/history", cwd=other, path=file)["versions"]
    assert [one["cause"] for one in history] == ["move", "user"]
    why = peer.call("memory/why", cwd=other, path=file)
    assert (why["trust"], why["cause"]) == ("user-said", "user")
    again = running.run("promote", file, "--project", cwd)
    assert again.returncode == 1
    assert "already" in again.stderr
    back = json.loads(running.run("demote", file, "--project", cwd, "--json").stdout)
    assert (back["path"], back["scope"], back["source"]) == (saved["path"], "project", "user")
    assert "error" in peer.ask("memory/get", cwd=other, path=file)


def test_what_names_a_project_is_not_for_all_unless_a_person_insists(
    running: Daemon, peer: Peer
) -> None:
    cwd = project(running, "quayside")
    given = {"name": "Ports", "description": "ports", "type": "feedback"}
    saved = peer.call("memory/save", cwd=cwd, **given, body="Explain quayside ports to me.")
    refused = running.run("promote", saved["path"], "--project", cwd)
    assert refused.returncode == 1
    assert "'quayside' belongs to one project" in refused.stderr
    assert "--anyway" in refused.stderr
    answer = peer.ask("memory/save", cwd=cwd, **given, body="I run Quayside.", scope="user")
    assert answer["error"]["data"]["kind"] == "refused"
    guessed = {**given, "name": "Zork", "body": "I grew up with Zork.", "scope": "user"}
    assert "error" in peer.ask("memory/save", cwd=cwd, **guessed, by="agent")
    known = peer.call("memory/save", cwd=cwd, **guessed)  # the person knows what is theirs
    running.run("forget", known["path"], "--project", cwd)
    agents = peer.ask("memory/move", cwd=cwd, path=saved["path"], scope="user", by="agent")
    assert "only a person" in agents["error"]["message"]
    done = running.run("promote", saved["path"], "--anyway", "--project", cwd)
    assert done.returncode == 0, done.stderr
    whole = peer.call("memory/get", cwd=cwd, path=f"user/{Path(saved['path']).name}")
    changed = whole["content"].replace("ports to me", "ports in src/quays.py to me")
    edit = {"path": whole["path"], "content": changed, "version": whole["version"]}
    assert "src/quays.py" in peer.ask("memory/edit", cwd=cwd, **edit)["error"]["message"]
    running.run("forget", whole["path"], "--project", cwd)


def test_off_keeps_everything_in_the_project(daemon: Daemon) -> None:
    settings = daemon.home / ".config/memoryd/config.toml"
    settings.parent.mkdir()
    settings.write_text('[scopes]\nuser = "off"\n')
    daemon.start()
    done = daemon.run(
        "remember", "I am a statistician.", "--type", "user", "--project", str(daemon.home / "app")
    )
    assert "/projects/" in done.stdout
