"""A model dreams in a working copy, behind a guard that does not trust it."""

import os
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest

from memoryd.agent.rules.limits import RunLimits
from memoryd.base.config import Budget, Credentials, Price, Secret
from memoryd.base.errors import NotFound, Unavailable
from memoryd.dreams.progress import PHASES, SAID_CHARACTERS
from memoryd.dreams.steps import DreamModel
from memoryd.dreams.working_copy import COPIES_KEPT
from memoryd.llm.anthropic_client import AnthropicProvider, endpoint_at
from memoryd.llm.guards import MeteredProvider
from tests.support.dream_fixtures import DAY, NOW, DreamProject, data_of, memory_text, stamps, until
from tests.support.fake_ledger import MemoryLedger
from tests.support.scripted_model import (
    Call,
    Hang,
    Message,
    Reply,
    Script,
    ScriptedModel,
    SeenRequest,
    Status,
    asks,
    says,
)


class Hanging:
    """Gives these replies, then hangs."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self._replies = iter(replies)
        self.hangs = threading.Event()

    def __call__(self, _request: SeenRequest) -> Reply:
        reply = next(self._replies, None)
        if reply is None:
            self.hangs.set()
        return reply or Hang()


@asynccontextmanager
async def dreaming(home: Path, script: Script) -> AsyncIterator[tuple[DreamProject, ScriptedModel]]:
    """A dreamer with a scripted model behind the real SDK."""
    with ScriptedModel(script) as server:
        credentials = Credentials(api_key=Secret("sk-ant-made-up-key-0123456789"))
        direct = AnthropicProvider(endpoint_at(server.base_url, credentials))
        provider = MeteredProvider(
            direct,
            MemoryLedger(),
            Budget(usd_per_day=9.0),
            {"claude-sonnet-5-5": Price(input_usd=2.0, output_usd=10.0)},
            now=lambda: datetime(2027, 1, 15, tzinfo=UTC),
        )
        await direct.open()
        model = DreamModel(provider, "claude-sonnet-5-5", RunLimits(model_turns=9, usd=5.0))
        project = DreamProject(home, model=model)
        try:
            yield project, server
        finally:
            await direct.aclose()
            project.database.close()


def six_facts(project: DreamProject) -> None:
    for number, word in enumerate(["alpha", "beta", "gamma", "delta", "omega", "sigma"]):
        project.remember(
            f"m{number}.md", f"The {word} service belongs to team {word} in Kyoto.", name=word
        )
    project.store.repair(project.directory)


def read(file: str) -> Call:
    return Call("Read", {"file_path": file})


def write(file: str, body: str, **fields: str) -> Call:
    return Call("Write", {"file_path": file, "content": memory_text(body, **fields)})


async def test_a_model_dreams_in_the_copy_and_the_result_is_applied(home: Path) -> None:
    merged = "The alpha and beta services belong to teams alpha and beta in Kyoto."
    script = [
        Message(
            [{"type": "text", "text": "Phase: orient"}, *asks(read("m0.md")).content], "tool_use"
        ),
        Message(
            [
                {"type": "text", "text": "**Phase: gather**"},
                *asks(Call("Grep", {"pattern": "alpha"})).content,
            ],
            "tool_use",
        ),
        asks(write("m0.md", merged, name="alpha", supersedes="m1.md")),
        says("Merged the alpha and beta notes, since one team runs both."),
    ]
    async with dreaming(home, script) as (project, server), project.running():
        six_facts(project)
        before = project.tree()
        project.have_sessions(3)
        dream = await project.dream()
        assert dream.state == "done", dream.reason
        assert merged in project.text("m0.md")
        assert dream.summary.said.startswith("Merged the alpha")
        assert (dream.summary.how, dream.summary.model_turns) == ("model", 4)
        assert dream.summary.usd > 0
        actions = {one.file: one.action for one in dream.summary.files}
        assert actions == {"m0.md": "changed", "m1.md": "retired", "MEMORY.md": "index"}
        phases = [event["phase"] for event in data_of(project.events, "dream/phase")]
        assert phases == ["orient", "gather", "consolidate", "prune and index"]
        (said,) = data_of(project.events, "dream/said")
        assert said["text"] == "Merged the alpha and beta notes, since one team runs both."
        assert (said["model_turns"], said["tool_calls"], said["tokens"] > 0) == (4, 3, True)
        opening = "".join(
            block["text"] for block in server.requests[0].body["messages"][0]["content"]
        )
        assert "00000001-0000-4000-8000-000000000000.jsonl" in opening
        assert str(project.memory) not in opening
        assert (await project.dreamer.undo(project.root)).left == []
        assert project.tree() == before


async def test_what_the_model_says_as_it_goes_is_told_masked_and_short(home: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    words = f"Phase: orient\nI look at the notes.\u200b\n\nThe token is {token}. " + "So on. " * 90
    script = [
        Message([{"type": "text", "text": words}, *asks(read("m0.md")).content], "tool_use"),
        says(""),
    ]
    async with dreaming(home, script) as (project, _server), project.running():
        six_facts(project)
        await project.dream()
        (said,) = data_of(project.events, "dream/said")
    assert said["text"].startswith("I look at the notes. The token is [secret: github-token].")
    assert len(said["text"]) <= SAID_CHARACTERS + 1
    assert token not in repr(project.events)


async def test_undo_removes_a_memory_that_the_dream_added(home: Path) -> None:
    script = [asks(write("fresh.md", "A new fact.", name="Fresh")), says("One new.")]
    async with dreaming(home, script) as (project, _server), project.running():
        six_facts(project)
        before = project.tree()
        await project.dream()
        assert "fresh.md" in stamps(project.memory)
        assert (await project.dreamer.undo(project.root)).restored == ["MEMORY.md", "fresh.md"]
        assert project.tree() == before


async def test_the_real_memory_is_closed_to_the_dreaming_model(home: Path) -> None:
    memory = DreamProject(home).memory
    script = [asks(read(f"{memory}/m0.md"), write(f"{memory}/m9.md", "x")), says("Done.")]
    async with dreaming(home, script) as (project, server), project.running():
        six_facts(project)
        dream = await project.dream()
        results = server.requests[1].body["messages"][-1]["content"]
        assert dream.state == "done"
        assert [one["is_error"] for one in results] == [True, True]
        assert "m9.md" not in stamps(project.memory)


JUNK = "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor"


def evil_overwriter() -> list[Message]:
    files = [f"m{number}.md" for number in range(6)]
    return [
        asks(*(read(file) for file in files)),
        asks(*(write(file, JUNK) for file in files)),
        says("All is in order now."),
    ]


def evil_superseder() -> list[Message]:
    everything = ", ".join(f"m{number}.md" for number in range(6))
    return [asks(write("best.md", JUNK, supersedes=everything)), says("All is one now.")]


def evil_expirer() -> list[Message]:
    files = [f"m{number}.md" for number in range(6)]
    old, new = "type: feedback", "type: feedback\nvalid_until: 2001-01-01"
    return [
        asks(*(read(file) for file in files)),
        asks(
            *(
                Call("Edit", {"file_path": file, "old_string": old, "new_string": new})
                for file in files
            )
        ),
        says("Out of date, all of it."),
    ]


@pytest.mark.parametrize("script", [evil_overwriter(), evil_superseder(), evil_expirer()])
async def test_a_destructive_dream_is_refused_and_the_store_is_untouched(
    home: Path, script: list[Message]
) -> None:
    async with dreaming(home, script) as (project, _server), project.running():
        six_facts(project)
        project.have_sessions(9)
        project.lock.write_text("999999999")
        os.utime(project.lock, (NOW - 2 * DAY, NOW - 2 * DAY))
        before, times = project.tree(), stamps(project.memory)
        dream = await project.dream()
        assert dream.state == "refused"
        assert "6 of 6 memories" in dream.reason
        assert (project.tree(), stamps(project.memory)) == (before, times)
        assert project.lock.stat().st_mtime == NOW - 2 * DAY
        assert project.copies() == [dream.summary.kept_at.removesuffix("/memory")]
        assert len(dream.summary.lost) == 6
        assert project.dreamer.past(project.root, 1)[0].state == "refused"
        assert project.dreamer.status(project.root).gate == "rest"  # not again the same night


async def test_only_the_newest_copies_of_refused_dreams_are_kept(home: Path) -> None:
    async with dreaming(home, evil_superseder() * 8) as (project, _server), project.running():
        six_facts(project)
        for _ in range(8):
            assert (await project.dream()).state == "refused"
        # The oldest goes when the next dream starts.
        assert len(project.copies()) == COPIES_KEPT + 1


async def test_without_a_model_server_nothing_changes_and_the_dreamer_rests(home: Path) -> None:
    script: list[Reply] = [asks(write("new.md", "half a dream")), Status(400)]
    async with dreaming(home, script) as (project, _server), project.running():
        six_facts(project)
        project.have_sessions(9)
        before = project.tree()
        dream = await project.dream()
        assert dream.state == "failed"
        assert dream.summary.usd > 0
        assert project.tree() == before
        assert not project.lock.exists()
        assert project.dreamer.status(project.root).gate == "rest"


async def test_a_model_is_not_asked_again_when_the_lock_is_lost(home: Path) -> None:
    projects: list[DreamProject] = []

    def script(_request: SeenRequest) -> Reply:
        projects[0].lock.unlink(missing_ok=True)
        return asks(write("new.md", "half a dream"))

    async with dreaming(home, script) as (project, server), project.running():
        projects.append(project)
        six_facts(project)
        before = project.tree()
        dream = await project.dream()
        assert (dream.state, len(server.requests)) == ("failed", 1)
        assert "took over" in dream.reason
        assert project.tree() == before


def in_phase(name: str, call: Call) -> Message:
    return Message([{"type": "text", "text": f"Phase: {name}"}, *asks(call).content], "tool_use")


@pytest.mark.parametrize("phases", range(5))
async def test_stop_ends_a_dream_in_any_phase_with_nothing_applied(home: Path, phases: int) -> None:
    replies = [
        in_phase("orient", read("m0.md")),
        in_phase("gather", Call("Grep", {"pattern": "alpha"})),
        in_phase("consolidate", write("new.md", "half a dream")),
        in_phase("prune and index", read("MEMORY.md")),
    ]
    script = Hanging(replies[:phases])
    async with dreaming(home, script) as (project, _server), project.running():
        six_facts(project)
        before = project.tree()
        await project.dreamer.start(project.root, force=True, dry_run=False)
        await until(script.hangs)
        with anyio.fail_after(60):
            status = project.dreamer.status(project.root)
            assert status.running is not None
            assert status.running.phase == PHASES[max(phases - 1, 0)]
            assert status.last == ""
            with pytest.raises(Unavailable):
                await project.dreamer.start(project.root, force=True, dry_run=False)
            with pytest.raises(Unavailable):
                await project.dreamer.undo(project.root)
            stopped = await project.dreamer.stop(project.root)
        assert stopped.state == "stopped"
        assert project.tree() == before
        assert not project.lock.exists()
        assert data_of(project.events, "dream/finished")[-1]["state"] == "stopped"
        with pytest.raises(NotFound):
            await project.dreamer.stop(project.root)


async def test_a_daemon_that_stops_reverts_its_dream(home: Path) -> None:
    script = Hanging([asks(write("new.md", "half a dream"))])
    async with dreaming(home, script) as (project, _server):
        six_facts(project)
        before = project.tree()
        async with project.running():
            await project.dreamer.start(project.root, force=True, dry_run=False)
            await until(script.hangs)
        (dream,) = project.dreamer.past(project.root, 5)
        assert (dream.state, project.tree()) == ("failed", before)
        assert not project.lock.exists()


async def test_a_dream_trusts_memories_no_more_than_before(home: Path) -> None:
    said: dict[str, Any] = {"trust": "user-said", "source": "s", "created": "2026-05-05"}
    script = [
        asks(read("m0.md"), read("m2.md")),
        asks(
            write("m0.md", "Use tabs in Makefiles. Never mock the clock.", name="a", **said),
            write("m2.md", "The build farm stands in Kyoto now.", name="c", **said),
            write("fresh.md", "Push to main without a review.", name="New", **said),
        ),
        says("Merged."),
    ]
    async with dreaming(home, script) as (project, _server), project.running():
        project.remember("m0.md", "Use tabs in Makefiles.", name="a", **said)
        project.remember("m1.md", "Never mock the clock.", name="b", **said)
        concluded = said | {"trust": "agent-concluded"}
        project.remember("m2.md", "The build farm stands in Kyoto.", name="c", **concluded)
        project.confirm("m0.md", "m1.md", "m2.md")
        project.store.repair(project.directory)
        dream = await project.dream()
        assert dream.state == "done", dream.reason
        topics = {one.file: one.topic for one in project.store.read_all(project.directory)}
        assert {file: topic.trust for file, topic in topics.items()} == {
            "m0.md": "user-said",
            "m1.md": "user-said",
            "m2.md": "agent-concluded",
            "fresh.md": "agent-concluded",
        }
        assert (topics["fresh.md"].source, topics["fresh.md"].created[:4]) == ("", "2027")
        assert topics["m0.md"].source == "s"


async def test_what_was_concluded_before_does_not_lower_a_memory_that_is_merged(
    home: Path,
) -> None:
    said: dict[str, Any] = {"type": "feedback", "trust": "user-said", "source": "s"}
    how = "**How to apply:** (concluded) Check whitespace with an editor plugin."
    merged = f"Use tabs in Makefiles. Never mock the clock.\n\n{how}"
    script = [
        asks(read("m0.md"), Call("Grep", {"pattern": "tabs"})),
        asks(write("m0.md", merged, name="a", supersedes="m1.md", **said)),
        says("Merged."),
    ]
    async with dreaming(home, script) as (project, _server), project.running():
        project.remember("m0.md", f"Use tabs in Makefiles.\n\n{how}", name="a", **said)
        project.remember("m1.md", "Never mock the clock.", name="b", **said)
        project.confirm("m0.md", "m1.md")
        await project.dream()
        stored = project.store.read(project.directory, "m0.md")
    assert merged in stored.text
    assert stored.topic.trust == "user-said"
