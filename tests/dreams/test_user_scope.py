"""Dreams over a person's own memories work like a project's, with gates and a lock of their own."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.base.config import DreamSettings
from memoryd.base.errors import NotFound, Refused
from memoryd.dreams.dream_table import Undoable
from memoryd.dreams.lock import NOTHING
from memoryd.dreams.target import AgentName, DreamScope
from memoryd.system.folder import version_of
from tests.dreams.test_model_dream import dreaming, six_facts
from tests.support.dream_fixtures import DreamProject, data_of, tree_hash, two_of_a_kind, until
from tests.support.scripted_model import Call, Message, asks, says


@pytest.fixture
def project(home: Path) -> Iterator[DreamProject]:
    made = DreamProject(home)
    yield made
    made.database.close()


def two_of_ones_own(project: DreamProject) -> None:
    """Two memories in the user scope that say the same, one of them in a folder named team."""
    project.remember("a.md", "Explain in short sentences.", type="user", folder=project.own)
    (project.own / "team").mkdir()
    project.remember("team/b.md", "Explain in short sentences!", type="user", folder=project.own)


def another_project(project: DreamProject, name: str, sessions: int) -> str:
    root = project.home / "work" / name
    root.mkdir()
    project.have_turn(str(root))
    project.have_sessions(sessions, root=str(root))
    return str(root)


async def test_a_persons_dream_has_its_own_lock_and_can_be_undone(
    project: DreamProject,
) -> None:
    two_of_a_kind(project)
    two_of_ones_own(project)
    before, elsewhere = tree_hash(project.own), project.tree()
    async with project.running():
        dream = await project.dream(scope="user")
        assert (dream.state, dream.scope, dream.project) == ("done", "user", "")
        actions = {one.file: one.action for one in dream.summary.files}
        assert {actions["a.md"], actions["team/b.md"]} == {"changed", "retired"}
        assert (project.own / ".consolidate-lock").read_text() == str(os.getpid())
        assert project.tree() == elsewhere
        assert not project.lock.exists()
        with pytest.raises(NotFound):
            await project.dreamer.undo(project.root)
        assert (await project.dreamer.undo(project.root, "user")).left == []
        assert tree_hash(project.own) == before
    assert [dream.state for dream in project.dreamer.past(project.root, 9, "user")] == ["undone"]
    assert project.dreamer.past(project.root, 9) == []


async def test_a_persons_dream_has_its_own_gates(project: DreamProject) -> None:
    two_of_a_kind(project)
    async with project.running():
        assert project.dreamer.status(project.root, "user").gate == "memories"
        assert [one.scope for one in project.dreamer.statuses()] == []
        two_of_ones_own(project)
        assert project.dreamer.status(project.root, "user").gate == "sessions"
        await project.dream(scope="user")
        assert project.dreamer.status(project.root, "user").gate == "hours"
        assert project.dreamer.status(project.root).gate == "sessions"
        (own,) = project.dreamer.statuses()
    assert (own.scope, own.project, own.directory) == ("user", "", str(project.own))
    assert own.message.startswith(
        f"{project.own}: not now: the last dream was less than an hour ago"
    )


async def test_sessions_of_every_project_with_memory_on_count(project: DreamProject) -> None:
    two_of_ones_own(project)
    another_project(project, "one", sessions=2)
    silent = another_project(project, "silent", sessions=9)
    project.scopes.switch(silent, enabled=False)
    async with project.running():
        reason = project.dreamer.status(project.root, "user").reason
        assert reason == "2 of 5 sessions before the first dream"
        another_project(project, "two", sessions=3)
        project.pass_time(601)
        assert project.dreamer.status(project.root, "user").is_open


async def test_the_end_of_any_turn_checks_the_persons_gates(project: DreamProject) -> None:
    two_of_ones_own(project)
    root = another_project(project, "one", sessions=5)
    async with project.running():
        project.dreamer.turn_ended(root)
        await until(project.has_dreamt)
    (started,) = data_of(project.events, "dream/started")
    assert (started["scope"], started["project"], started["cause"]) == ("user", "", "schedule")


async def test_the_timer_starts_a_persons_dream_and_only_one(home: Path) -> None:
    project = DreamProject(home, dream=DreamSettings(min_sessions=0))
    two_of_ones_own(project)
    naps = 0

    async def sleep(_seconds: float) -> None:
        nonlocal naps
        naps += 1
        project.pass_time(3600)
        if naps > 1:
            await DreamProject.sleep(project, 0)

    project.dreamer._sleep = sleep
    async with project.running():
        await until(project.has_dreamt)
        await project.end_of_dream()
        with pytest.raises(Refused, match="the last dream was") as refusal:
            await project.dream(force=False, scope="user")
    assert refusal.value.hint == "start one anyway: memoryd dream --now --scope user"
    assert [one["scope"] for one in data_of(project.events, "dream/finished")] == ["user"]
    project.database.close()


async def test_only_the_persons_own_settings_switch_their_dreams_off(project: DreamProject) -> None:
    two_of_ones_own(project)
    (project.folder / ".claude").mkdir()
    off = json.dumps({"autoDreamEnabled": False})
    (project.folder / ".claude/settings.json").write_text(off)
    project.real += 10
    assert project.dreamer.status(project.root).gate == "switch"
    assert project.dreamer.status(project.root, "user").gate == "sessions"
    settings = project.own.parent / "settings.json"
    settings.write_text(off)
    assert project.dreamer.status(project.root, "user").gate == "switch"
    settings.unlink()
    project.scopes.switch(None, enabled=False)
    assert project.dreamer.status(project.root, "user").gate == "switch"


async def test_a_half_applied_dream_of_a_person_is_reverted(project: DreamProject) -> None:
    two_of_ones_own(project)
    file = project.own / "team/b.md"
    before = file.read_bytes()
    directory = project.scopes.person().memory
    number = project.table.begin(directory, "", cause="schedule", at=project.now, lock=NOTHING)
    project.table.begin_applying(
        number, [Undoable("team/b.md", before, 1000.0, version_of(b"half"))]
    )
    file.write_bytes(b"half")
    async with project.running():
        assert file.read_bytes() == before
    assert project.dreamer.one(project.root, number, "user").state == "failed"


async def test_a_model_sees_all_sessions_and_no_projects_files(home: Path) -> None:
    replies: list[Message] = []
    async with dreaming(home, lambda _: replies.pop(0)) as (project, server):
        six_facts(project)
        (project.folder / "plan.txt").write_text("canary of the project")
        two_of_ones_own(project)
        project.have_turn(project.root)
        project.have_sessions(1)
        root = another_project(project, "one", sessions=1)
        folders = [Path(project.sessions.folder(one)) for one in (project.root, root)]
        for folder in folders:
            (next(folder.glob("*.jsonl"))).write_text('{"said": "canary of a session"}\n')
        calls = [
            Call("Read", {"file_path": f"{project.folder}/plan.txt"}),
            Call("Read", {"file_path": f"{project.memory}/m0.md"}),
            Call("Grep", {"pattern": "Kyoto", "path": str(folders[0])}),
            *(Call("Grep", {"pattern": "canary", "path": str(folder)}) for folder in folders),
            Call("Read", {"file_path": "team/b.md"}),
        ]
        replies += [asks(*calls), says("Nothing to do.")]
        async with project.running():
            dream = await project.dream(scope="user")
        assert dream.state == "done", dream.reason
        results = [block["content"] for block in server.requests[1].body["messages"][-1]["content"]]
        texts = [json.dumps(one) for one in results]
        assert "outside" in texts[0]
        assert "outside" in texts[1]
        assert "Kyoto" not in texts[2]
        assert all("canary of a session" in text for text in texts[3:5])
        opening = json.dumps(server.requests[0].body["messages"][0]["content"])
        assert "follow the person into every project" in opening
        assert project.root not in opening.replace(str(folders[0]), "")


async def test_a_model_carries_no_projects_name_into_every_project(home: Path) -> None:
    replies: list[Message] = []
    async with dreaming(home, lambda _: replies.pop(0)) as (project, server):
        two_of_ones_own(project)
        another_project(project, "quayside", sessions=1)
        header = "---\nname: Sentences\ndescription: how to explain\ntype: project\n---\n\n"
        texts = ("Explain quayside in short sentences.", "Explain in sentences that are short.")
        writes = [
            Call("Write", {"file_path": f"project_{at}.md", "content": header + text + "\n"})
            for at, text in enumerate(texts)
        ]
        replies += [asks(*writes), says("Done.")]
        async with project.running():
            dream = await project.dream(scope="user")
        assert dream.state == "done", dream.reason
        results = json.dumps(server.requests[1].body["messages"][-1]["content"])
        assert "belongs to one of them" in results
        assert not (project.own / "project_0.md").exists()
        assert (project.own / "project_1.md").exists()


# --- the team's and the agents' -------------------------------------------------------------------


async def test_team_and_agent_memories_dream_by_their_own_locks(project: DreamProject) -> None:
    team = project.memory / "team"
    agent = project.folder / ".claude/agent-memory/tester"
    own = Path(project.places.claude_dir, "agent-memory/reviewer")
    for folder in (team, agent, own):
        project.remember("a.md", "Use pnpm for installs.", folder=folder)
        project.remember("b.md", "Always use pnpm for installs!", folder=folder)
    scopes: list[tuple[Path, DreamScope]] = [
        (team, "team"),
        (agent, AgentName("tester")),
        (own, AgentName("reviewer")),
    ]
    async with project.running():
        for folder, scope in scopes:
            dream = await project.dream(scope=scope)
            assert dream.state == "done"
            assert (folder / ".consolidate-lock").exists()
            assert len(list((folder / ".retired").iterdir())) == 1
            await project.dreamer.undo(project.root, scope)
            assert sorted(path.name for path in folder.glob("[ab].md")) == ["a.md", "b.md"]
    assert not project.lock.exists()


async def test_all_of_a_projects_directories_are_checked_on_schedule(project: DreamProject) -> None:
    project.have_turn(project.root)
    for folder in (
        project.memory,
        project.memory / "team",
        project.folder / ".claude/agent-memory/x",
    ):
        project.remember("a.md", "Use pnpm for installs.", folder=folder)
    found = {(one.scope, one.directory) for one in project.dreamer.statuses()}
    assert found == {
        ("project", str(project.memory)),
        ("team", str(project.memory / "team")),
        ("agent", str(project.folder / ".claude/agent-memory/x")),
    }


async def test_an_unknown_agent_is_named(project: DreamProject) -> None:
    with pytest.raises(NotFound, match="nobody"):
        await project.dreamer.start(
            project.root, force=True, dry_run=False, scope=AgentName("nobody")
        )
