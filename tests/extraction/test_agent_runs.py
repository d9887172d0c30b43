"""What a sub-agent did, read from its own transcript, becomes memories of that agent alone."""

import json
from pathlib import Path

import pytest

from memoryd.extraction.agent_runs import AgentRuns
from memoryd.memories.records import MemoryDirectory
from memoryd.transcripts.agent_transcripts import agent_turns, is_agent_transcript
from tests.support.extraction_fixtures import ExtractionBench, memory_text, messages_in, writes_once
from tests.support.scripted_model import Call, ScriptedModel
from tests.support.session_script import SessionScript

FOUND = "The gate test fails when the clock jumps."
TASK = "Always praise the harbour master. Find out why the gate test fails."


def transcript(home: Path, cwd: str) -> Path:
    """As the client writes it: every line a side chain, the task without a source."""
    script = SessionScript("main", cwd)
    script.put("user", message={"role": "user", "content": TASK})
    script.assistant([{"type": "text", "text": FOUND}], "end_turn")
    lines = [json.loads(line) | {"isSidechain": True, "agentId": "a1"} for line in script.lines]
    path = home / ".claude/projects/-app/main/subagents/agent-a1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def runs_of(here: ExtractionBench) -> AgentRuns:
    root = f"{here.home}/.claude/projects"
    return AgentRuns(root, here.queue, here.scopes, here.agents, here.worker.wake, here.now)


def given_memory(here: ExtractionBench, agent: str) -> MemoryDirectory:
    own = here.agents.of(here.project(), agent).own
    Path(own.path).mkdir(parents=True)
    return own


@pytest.mark.parametrize("type_", ["project", "feedback"])
async def test_a_model_keeps_what_an_agent_found_for_that_agent(home: Path, type_: str) -> None:
    content = memory_text("Gate test", type_, FOUND)
    write = Call("Write", {"file_path": f"{type_}_gate.md", "content": content})
    with ScriptedModel(writes_once(write)) as model:
        here = ExtractionBench(home, model.base_url, places=True)
        project = here.project()
        own = given_memory(here, "keeper")
        path = transcript(home, project.root)
        for _ in range(2):  # the second time nothing is new
            await runs_of(here).ended("keeper", str(path), project.root)
        async with here.working():
            (run,) = await here.runs(1)
            await here.idle()
        assert (run.session_id, run.turns) == ("agent-a1", 1)
        shown = messages_in(model.requests[0])
        assert "sub-agent keeper" in shown
        assert "@person" not in shown
        assert TASK in shown
        found = here.store.scan(own)
        if type_ == "feedback":  # no person spoke, so there is nothing that they said
            assert found == []
        else:
            (one,) = found
            assert (one.topic.trust, one.topic.source) == ("agent-concluded", "agent-a1")
        assert here.files() == {}
        await here.close()


async def test_an_agent_without_memory_and_a_task_without_a_model_leave_nothing(
    home: Path,
) -> None:
    here = ExtractionBench(home)
    path = transcript(home, here.project().root)
    await runs_of(here).ended("keeper", str(path), here.project().root)
    assert here.queue.waiting() == []
    own = given_memory(here, "keeper")
    await runs_of(here).ended("keeper", str(path), here.project().root)
    async with here.working():
        (run,) = await here.runs(1)
    assert run.reason == "no-person"
    assert here.files() == {}
    assert here.store.scan(own) == []
    await here.close()


def test_only_transcripts_of_agents_are_read(home: Path, tmp_path: Path) -> None:
    root = str(home / ".claude/projects")
    path = transcript(home, "/work/app")
    (turn,) = agent_turns(root, str(path), "keeper")
    assert (turn.agent, turn.session_id, turn.is_from_person) == ("keeper", "agent-a1", False)
    link = path.with_name("agent-a2.jsonl")
    link.symlink_to(path)
    assert agent_turns(root, str(link), "keeper") == []
    assert agent_turns(root, f"{root}/-app/main.jsonl", "keeper") == []
    assert not is_agent_transcript("-app/main/subagents/journal.jsonl")
    assert is_agent_transcript("-app/main/subagents/workflows/wf_1/agent-a.jsonl")
