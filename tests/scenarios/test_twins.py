"""Two projects whose paths differ only in punctuation, through the socket and the hook."""

import json
import os
import shlex
import stat
import subprocess
from pathlib import Path

import pytest

from tests.support.running import Daemon, Peer

GIVEN = {"type": "feedback", "description": "how to invoice"}


@pytest.fixture
def twins(tmp_path: Path) -> tuple[str, str]:
    roots = (tmp_path / "acme.billing", tmp_path / "acme-billing")
    for root in roots:
        root.mkdir()
    return str(roots[0]), str(roots[1])


def save(peer: Peer, root: str, body: str) -> str:
    return str(peer.call("memory/save", cwd=root, name=body[:30], body=body, **GIVEN)["path"])


def texts(peer: Peer, root: str) -> set[str]:
    return {one["name"] for one in peer.call("memory/list", cwd=root)["memories"]}


def test_neither_reads_nor_writes_the_others_memory(daemon: Daemon, twins: tuple[str, str]) -> None:
    daemon.start()
    dotted, dashed = twins
    with daemon.peer() as peer:
        first = save(peer, dotted, "Round invoices up")
        second = save(peer, dashed, "Round invoices down")
        assert Path(first).parent != Path(second).parent
        assert texts(peer, dotted) == {"Round invoices up"}
        assert texts(peer, dashed) == {"Round invoices down"}
        found = peer.call("recall", cwd=dashed, query="how are invoices rounded?")["text"]
        assert "Round invoices up" not in found


def test_the_owner_is_kept_in_the_directory_and_outlives_the_daemon(
    daemon: Daemon, twins: tuple[str, str]
) -> None:
    daemon.start()
    dotted, dashed = twins
    with daemon.peer() as peer:
        folder = Path(save(peer, dotted, "Round invoices up")).parent
        apart = Path(save(peer, dashed, "Round invoices down")).parent
    owner = folder / ".memoryd-root"
    assert owner.read_text() == f"{dotted}\n"
    assert stat.S_IMODE(owner.stat().st_mode) == 0o600
    daemon.end()
    Path(daemon.env["XDG_STATE_HOME"], "memoryd/state.db").unlink()
    daemon.start()
    with daemon.peer() as peer:
        assert Path(save(peer, dashed, "Invoices have two decimals")).parent == apart
        assert Path(save(peer, dotted, "Invoices have no decimals")).parent == folder


def test_a_directory_from_before_gets_the_first_comer_as_owner_and_nothing_moves(
    daemon: Daemon, twins: tuple[str, str]
) -> None:
    dotted, dashed = twins
    daemon.start()
    with daemon.peer() as peer:
        folder = Path(save(peer, dotted, "Round invoices up")).parent
    daemon.end()
    (folder / ".memoryd-root").unlink()
    before = {path.name for path in folder.iterdir()}
    daemon.start()
    with daemon.peer() as peer:
        assert texts(peer, dotted) == {"Round invoices up"}
        assert texts(peer, dashed) == set()
    assert {path.name for path in folder.iterdir()} == before | {".memoryd-root"}


def test_the_hook_injects_the_index_that_the_client_does_not_know(
    daemon: Daemon, twins: tuple[str, str]
) -> None:
    dotted, dashed = twins
    daemon.start()
    with daemon.peer() as peer:
        save(peer, dotted, "Round invoices up")
        save(peer, dashed, "Round invoices down")
        said = {}
        for root in twins:
            given = {"hook_event_name": "SessionStart", "cwd": root, "source": "startup"}
            said[root] = peer.call("hook", session_id="s", **given)["stdout"]
    assert "Round invoices down" in said[dashed]
    assert "Round invoices up" not in said[dashed]
    assert "Round invoices" not in said[dotted]


def test_a_renamed_project_keeps_its_memory(daemon: Daemon, tmp_path: Path) -> None:
    daemon.start()
    old, new = tmp_path / "acme.billing", tmp_path / "acme-billing"
    old.mkdir()
    with daemon.peer() as peer:
        folder = Path(save(peer, str(old), "Round invoices up")).parent
        old.rename(new)
        assert texts(peer, str(new)) == {"Round invoices up"}
    assert (folder / ".memoryd-root").read_text() == f"{new}\n"


def test_doctor_says_so_and_its_words_join_them(daemon: Daemon, twins: tuple[str, str]) -> None:
    dotted, dashed = twins
    daemon.start()
    with daemon.peer() as peer:
        save(peer, dotted, "Round invoices up")
        save(peer, dashed, "Round invoices down")
        findings = peer.call("health", cwd=dashed)["findings"]
        (one,) = (found for found in findings if found["check"] == "shared folder")
        assert one["verdict"] == "warn"
        command = one["fix"].partition("to join them: ")[2]
        assert shlex.split(command)[1] == dashed
    subprocess.run(["/bin/sh", "-c", command], check=True, env=os.environ | {"HOME": "/"})
    daemon.end()
    daemon.start()
    with daemon.peer() as peer:
        assert texts(peer, dashed) == texts(peer, dotted) == {"Round invoices up"}
        findings = json.dumps(peer.call("health", cwd=dashed)["findings"])
    assert "one memory, as its owner file says" in findings
