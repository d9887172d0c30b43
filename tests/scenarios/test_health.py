"""What the daemon finds out about its own health, asked over its socket."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memoryd.api.handlers.health import shared_folder_finding
from memoryd.base import paths
from tests.support.running import Daemon, Peer
from tests.support.scripted_model import ScriptedModel, SeenRequest, Status, says
from tests.support.session_script import SessionScript
from tests.support.thinning import thinned

WELL = "---\nname: Tabs\ndescription: tabs in Makefiles\ntype: feedback\n---\n\nUse tabs.\n"


@pytest.fixture
def own_peer(daemon: Daemon) -> Iterator[Peer]:
    """Of a daemon that knows no other project."""
    with daemon.start().peer() as peer:
        yield peer


@pytest.fixture
def peer(shared_daemon: Daemon) -> Iterator[Peer]:
    with shared_daemon.peer() as peer:
        yield peer


def folder_of(home: Path, root: str) -> Path:
    return home / ".claude/projects" / paths.slug(root)


def memory_folder(home: Path, root: str) -> Path:
    folder = folder_of(home, root) / "memory"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def found(peer: Peer, cwd: str) -> dict[str, Any]:
    return {one["check"]: one for one in peer.call("health", cwd=cwd)["findings"]}


def test_an_empty_project_is_healthy(peer: Peer, tmp_path: Path) -> None:
    verdicts = {name: one["verdict"] for name, one in found(peer, str(tmp_path)).items()}
    names = ["index", "memories", "memory files", "shared folder", "old places", "agent settings"]
    assert verdicts == dict.fromkeys(names, "ok")


def test_memories_with_unreadable_headers_are_named(
    peer: Peer, shared_daemon: Daemon, tmp_path: Path
) -> None:
    folder = memory_folder(shared_daemon.home, str(tmp_path))
    (folder / "well.md").write_text(WELL)
    (folder / "odd.md").write_text("---\nname: [\n---\nno\n")
    (folder / "typeless.md").write_text("---\nname: x\ntype: nonsense\n---\nno\n")
    one = found(peer, str(tmp_path))["memories"]
    assert one["verdict"] == "warn"
    assert f"{folder}/odd.md" in one["reason"]
    assert f"{folder}/typeless.md" in one["reason"]
    assert "well.md" not in one["reason"]


def test_files_that_are_not_served_or_not_updated_are_named_and_a_second_name_hides_none(
    peer: Peer, shared_daemon: Daemon, tmp_path: Path
) -> None:
    folder = memory_folder(shared_daemon.home, str(tmp_path))
    (folder / "well.md").write_text(WELL)
    (folder / "a\nperson: obey.md").write_text(WELL)
    os.link(folder / "well.md", tmp_path / "backup.md")
    one = found(peer, str(tmp_path))["memory files"]
    assert one["verdict"] == "warn"
    assert "well.md: it has a second name" in one["reason"]
    assert "a\\nperson: obey.md: its name cannot be shown" in one["reason"]
    listed = peer.call("memory/list", cwd=str(tmp_path))["memories"]
    assert [memory["file"] for memory in listed] == ["well.md"]
    assert peer.call("memory/get", cwd=str(tmp_path), path="well.md")["content"] == WELL


def test_an_index_over_its_limits_is_named(
    peer: Peer, shared_daemon: Daemon, tmp_path: Path
) -> None:
    folder = memory_folder(shared_daemon.home, str(tmp_path))
    (folder / "MEMORY.md").write_text("- a line that a person made\n" * 201)
    one = found(peer, str(tmp_path))["index"]
    assert one["verdict"] == "warn"
    assert one["fix"].startswith("memoryd dream --now")
    assert f"{folder}/MEMORY.md" in one["reason"]


def test_a_setting_that_a_repository_may_not_make_is_named(peer: Peer, tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text('{"autoMemoryDirectory": "/elsewhere"}')
    one = found(peer, str(tmp_path))["agent settings"]
    assert one["verdict"] == "warn"
    assert "autoMemoryDirectory is ignored: a repository cannot choose" in one["reason"]


def test_two_projects_in_one_folder_are_named_while_both_are_there(
    daemon: Daemon, home: Path, tmp_path: Path
) -> None:
    daemon.start()
    dotted, dashed = tmp_path / "my.app", tmp_path / "my-app"
    for root in (dotted, dashed):
        root.mkdir()
        script = SessionScript(session_id=root.name, cwd=str(root))
        script.turn("What is this?", "An app.")
        folder = folder_of(home, str(root))
        folder.mkdir(parents=True, exist_ok=True)
        with daemon.peer() as peer:
            peer.call("events/subscribe", kinds=["transcript/turn"])
            (folder / f"{root.name}.jsonl").write_bytes(script.data)
            assert peer.next_event()["project"] == str(root)
    with daemon.peer() as peer:
        one = found(peer, "/")["shared folder"]
        assert one["verdict"] == "warn"
        assert f"{dashed} and {dotted} share the folder" in one["reason"]
        dotted.rmdir()
        assert found(peer, "/")["shared folder"]["verdict"] == "ok"


def test_two_projects_in_one_folder_are_named_by_their_old_sessions(
    home: Path, tmp_path: Path
) -> None:
    for name in ("my.app", "my-app"):
        root = tmp_path / name
        root.mkdir()
        script = SessionScript(session_id=name, cwd=str(root))
        script.turn("What is this?", "An app.")
        folder = folder_of(home, str(root))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.jsonl").write_bytes(script.data)
    daemon = Daemon(home).start()
    try:
        with daemon.peer() as peer:
            one = found(peer, str(tmp_path / "my.app"))["shared folder"]
    finally:
        daemon.end()
    assert one["verdict"] == "warn"
    assert f"{tmp_path}/my-app and {tmp_path}/my.app share the folder" in one["reason"]


def test_two_projects_in_one_folder_are_named_without_any_session(
    own_peer: Peer, tmp_path: Path
) -> None:
    for name in ("my.app", "my-app"):
        (tmp_path / name).mkdir()
        given = {"name": name, "description": name, "type": "feedback", "body": name}
        own_peer.call("memory/save", cwd=str(tmp_path / name), **given)
    assert found(own_peer, str(tmp_path / "my.app"))["shared folder"]["verdict"] == "warn"


def test_paths_without_a_slug_in_common_share_nothing() -> None:
    assert shared_folder_finding(["/a/b", "/a/b", "/a/c"], lambda _: True, str).verdict == "ok"


def test_status_names_what_was_saved_last_and_not_what_was_forgotten(
    own_peer: Peer, tmp_path: Path
) -> None:
    for name in ("First", "Second", "Third"):
        given = {"name": name, "description": name, "type": "feedback", "body": name}
        path = own_peer.call("memory/save", cwd=str(tmp_path), **given)["path"]
    own_peer.call("memory/forget", cwd=str(tmp_path), path=path)
    recent = own_peer.call("status", cwd=str(tmp_path))["recent"]
    assert [one["name"] for one in recent] == ["Second", "First"]
    assert {(one["project"], one["cause"]) for one in recent} == {(str(tmp_path), "user")}


def test_without_a_model_there_is_no_server_to_try(peer: Peer) -> None:
    findings = peer.call("health", cwd="/", provider=True)["findings"]
    assert findings[-1]["check"] == "model server"
    assert findings[-1]["verdict"] == "ok"


def asked_with(home: Path, script: list[Any]) -> tuple[dict[str, Any], list[SeenRequest]]:
    """What is found of a model server that answers like this, and what it was asked."""
    with ScriptedModel(script) as server:
        key = {"ANTHROPIC_API_KEY": "for-the-test", "ANTHROPIC_BASE_URL": server.base_url}
        daemon = Daemon(home, **key).start()
        try:
            with daemon.peer() as peer:
                peer.call("health", cwd="/")
                assert server.requests == []
                found = peer.call("health", cwd="/", provider=True)["findings"][-1]
        finally:
            daemon.end()
        return found, list(server.requests)


def test_the_provider_is_tried_only_when_asked_for_and_by_one_small_call(home: Path) -> None:
    found, requests = asked_with(home, [says("yes")])
    assert (found["check"], found["verdict"]) == ("model server", "ok")
    assert "claude-haiku-5-5" in found["reason"]
    assert " s, for $0.0000" in found["reason"]
    assert " tokens in, " in found["reason"]
    (request,) = requests
    assert request.body["max_tokens"] == 1


def test_a_provider_that_refuses_the_key_fails_in_its_own_words_without_the_key(home: Path) -> None:
    said = b'{"type":"error","error":{"type":"authentication_error","message":"%s is no key"}}'
    found, _ = asked_with(home, [Status(401, content=said % b"for-the-test")])
    assert found["verdict"] == "fail"
    assert found["reason"].startswith("127.0.0.1: ")
    assert found["reason"].endswith("; it says: [secret] is no key; the next job tries again")
    assert found["fix"]


@pytest.mark.parametrize("status", thinned([429, 400, 401, 403, 404, 500]))
def test_a_failing_provider_is_told_in_its_own_words_with_the_next_try(
    home: Path, status: int
) -> None:
    said = b'{"type":"error","error":{"type":"x","message":"quota of for-the-test is gone"}}'
    with ScriptedModel(lambda _: Status(status, content=said)) as server:
        key = {"ANTHROPIC_API_KEY": "for-the-test", "ANTHROPIC_BASE_URL": server.base_url}
        daemon = Daemon(home, **key).start()
        try:
            done = daemon.run("doctor", "--provider")
            shown = daemon.run("status").stdout
            # The person may have fixed it meanwhile: a pause does not keep it from being asked.
            daemon.run("doctor", "--provider")
        finally:
            daemon.end()
    assert done.returncode == 1
    when = "next try at " if status == 429 else "the next job tries again"
    for text in (done.stdout, shown):
        assert "it says: quota of [secret] is gone; " + when in " ".join(text.split())
        assert "for-the-test" not in text
    assert len(server.requests) == 2


def test_an_address_where_nobody_listens_is_told_with_the_systems_reason(home: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        daemon = Daemon(home, ANTHROPIC_API_KEY="made-up", ANTHROPIC_BASE_URL=address).start()
        try:
            done = daemon.run("doctor", "--provider")
        finally:
            daemon.end()
    assert done.returncode == 1
    assert "cannot reach the model server: Connection refused" in done.stdout


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ('[model]\nkey_file = "~/empty"\n', "key_file ~/empty is empty"),
        ('[model]\nkey_file = "~/missing"\n', "No such file"),
        ('[model]\nprovider = "claude-code"\n', "MEMORYD_FORBID_NETWORK does not allow"),
    ],
    ids=["empty key file", "missing key file", "forbidden provider"],
)
def test_a_daemon_whose_model_cannot_be_used_comes_up_and_says_why(
    home: Path, settings: str, words: str
) -> None:
    (home / "empty").write_text("")
    (home / ".config/memoryd").mkdir(parents=True)
    (home / ".config/memoryd/config.toml").write_text(settings)
    daemon = Daemon(home).start()
    try:
        done = daemon.run("doctor", "--provider")
        shown = daemon.run("status")
    finally:
        daemon.end()
    assert done.returncode == 1
    assert words in " ".join(done.stdout.split())
    assert words in " ".join(shown.stdout.split())


def test_status_says_which_fences_are_up(peer: Peer) -> None:
    assert set(peer.call("status")["fences"]) == {"openat2", "landlock"}
