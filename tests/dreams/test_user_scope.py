"""A person's own memories dream as a project's do, by gates and a lock of their own."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.base.config import DreamSettings
from memoryd.base.errors import NotFound, Refused
from memoryd.dreams.dream_table import Undoable
from memoryd.dreams.lock import NOTHING
from memoryd.system.folder import version_of
from tests.dreams.test_model_dream import dreaming, six_facts
from tests.support.dream_fixtures import Dreamland, data_of, tree_hash, two_of_a_kind, until
from tests.support.scripted_model import Call, Message, asks, says


@pytest.fixture
def land(home: Path) -> Iterator[Dreamland]:
    made = Dreamland(home)
    yield made
    made.state.close()


def two_of_ones_own(land: Dreamland) -> None:
    """Two memories in the user scope that say the same, one of them in a folder named team."""
    land.remember("a.md", "Explain in short sentences.", type="user", folder=land.own)
    (land.own / "team").mkdir()
    land.remember("team/b.md", "Explain in short sentences!", type="user", folder=land.own)


def another_project(land: Dreamland, name: str, sessions: int) -> str:
    root = land.home / "work" / name
    root.mkdir()
    land.have_turn(str(root))
    land.have_sessions(sessions, root=str(root))
    return str(root)


async def test_it_merges_under_its_own_lock_and_is_undone_exactly(land: Dreamland) -> None:
    two_of_a_kind(land)
    two_of_ones_own(land)
    before, elsewhere = tree_hash(land.own), land.tree()
    async with land.awake():
        dream = await land.dream(scope="user")
        assert (dream.state, dream.scope, dream.project) == ("done", "user", "")
        deeds = {one.file: one.deed for one in dream.summary.files}
        assert {deeds["a.md"], deeds["team/b.md"]} == {"changed", "retired"}
        assert (land.own / ".consolidate-lock").read_text() == str(os.getpid())
        assert land.tree() == elsewhere
        assert not land.lock.exists()
        with pytest.raises(NotFound):
            land.dreamer.undo(land.root)
        assert land.dreamer.undo(land.root, "user").left == []
        assert tree_hash(land.own) == before
    assert [dream.state for dream in land.dreamer.past(land.root, 9, "user")] == ["undone"]
    assert land.dreamer.past(land.root, 9) == []


async def test_its_gates_are_its_own(land: Dreamland) -> None:
    two_of_a_kind(land)
    async with land.awake():
        assert land.dreamer.status(land.root, "user").gate == "memories"
        assert [one.scope for one in land.dreamer.statuses()] == []
        two_of_ones_own(land)
        assert land.dreamer.status(land.root, "user").gate == "sessions"
        await land.dream(scope="user")
        assert land.dreamer.status(land.root, "user").gate == "hours"
        assert land.dreamer.status(land.root).gate == "sessions"
        (own,) = land.dreamer.statuses()
    assert (own.scope, own.project, own.directory) == ("user", "", str(land.own))
    assert own.message.startswith(f"{land.own}: not now: the last dream was less than an hour ago")


async def test_sessions_of_every_project_with_memory_on_count(land: Dreamland) -> None:
    two_of_ones_own(land)
    another_project(land, "one", sessions=2)
    silent = another_project(land, "silent", sessions=9)
    land.scopes.switch(silent, enabled=False)
    async with land.awake():
        reason = land.dreamer.status(land.root, "user").reason
        assert reason == "2 of 5 sessions since the last dream"
        another_project(land, "two", sessions=3)
        land.pass_time(601)
        assert land.dreamer.status(land.root, "user").is_open


async def test_the_end_of_a_turn_anywhere_wakes_it(land: Dreamland) -> None:
    two_of_ones_own(land)
    root = another_project(land, "one", sessions=5)
    async with land.awake():
        land.dreamer.turn_ended(root)
        await until(land.has_dreamt)
    (started,) = data_of(land.events, "dream/started")
    assert (started["scope"], started["project"], started["cause"]) == ("user", "", "schedule")


async def test_the_timer_brings_it_and_a_turn_end_no_second_one(home: Path) -> None:
    land = Dreamland(home, dream=DreamSettings(min_sessions=0))
    two_of_ones_own(land)
    naps = 0

    async def sleep(_seconds: float) -> None:
        nonlocal naps
        naps += 1
        land.pass_time(3600)
        if naps > 1:
            await Dreamland.sleep(land, 0)

    land.dreamer._sleep = sleep
    async with land.awake():
        await until(land.has_dreamt)
        await land.end_of_dream()
        with pytest.raises(Refused, match="the last dream was") as refusal:
            await land.dream(force=False, scope="user")
    assert refusal.value.hint == "memoryd dream --now --scope user does not wait"
    assert [one["scope"] for one in data_of(land.events, "dream/finished")] == ["user"]
    land.state.close()


async def test_only_the_persons_own_settings_switch_it_off(land: Dreamland) -> None:
    two_of_ones_own(land)
    (land.project / ".claude").mkdir()
    off = json.dumps({"autoDreamEnabled": False})
    (land.project / ".claude/settings.json").write_text(off)
    land.real += 10
    assert land.dreamer.status(land.root).gate == "switch"
    assert land.dreamer.status(land.root, "user").gate == "sessions"
    settings = land.own.parent / "settings.json"
    settings.write_text(off)
    assert land.dreamer.status(land.root, "user").gate == "switch"
    settings.unlink()
    land.scopes.switch(None, enabled=False)
    assert land.dreamer.status(land.root, "user").gate == "switch"


async def test_a_half_applied_one_is_taken_back(land: Dreamland) -> None:
    two_of_ones_own(land)
    file = land.own / "team/b.md"
    before = file.read_bytes()
    directory = land.scopes.person().memory
    number = land.book.begin(directory, "", cause="schedule", at=land.now, lock=NOTHING)
    land.book.begin_applying(number, [Undoable("team/b.md", before, 1000.0, version_of(b"half"))])
    file.write_bytes(b"half")
    async with land.awake():
        assert file.read_bytes() == before
    assert land.dreamer.one(land.root, number, "user").state == "failed"


async def test_a_model_sees_the_sessions_of_all_and_the_files_of_none(home: Path) -> None:
    replies: list[Message] = []
    async with dreaming(home, lambda _: replies.pop(0)) as (land, server):
        six_facts(land)
        (land.project / "plan.txt").write_text("canary of the project")
        two_of_ones_own(land)
        land.have_turn(land.root)
        land.have_sessions(1)
        root = another_project(land, "one", sessions=1)
        folders = [Path(land.means.sessions.folder(one)) for one in (land.root, root)]
        for folder in folders:
            (next(folder.glob("*.jsonl"))).write_text('{"said": "canary of a session"}\n')
        calls = [
            Call("Read", {"file_path": f"{land.project}/plan.txt"}),
            Call("Read", {"file_path": f"{land.memory}/m0.md"}),
            Call("Grep", {"pattern": "Kyoto", "path": str(folders[0])}),
            *(Call("Grep", {"pattern": "canary", "path": str(folder)}) for folder in folders),
            Call("Read", {"file_path": "team/b.md"}),
        ]
        replies += [asks(*calls), says("Nothing to do.")]
        async with land.awake():
            dream = await land.dream(scope="user")
        assert dream.state == "done", dream.reason
        results = [block["content"] for block in server.requests[1].body["messages"][-1]["content"]]
        texts = [json.dumps(one) for one in results]
        assert "outside" in texts[0]
        assert "outside" in texts[1]
        assert "Kyoto" not in texts[2]
        assert all("canary of a session" in text for text in texts[3:5])
        opening = json.dumps(server.requests[0].body["messages"][0]["content"])
        assert "follow the person into every project" in opening
        assert land.root not in opening.replace(str(folders[0]), "")
