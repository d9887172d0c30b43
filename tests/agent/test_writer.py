"""Write and Edit change memories that were read, and a whole run stays confined."""

import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.agent.loop import AgentJob, Toolbox, run
from memoryd.agent.rules.access import file_to_write
from memoryd.agent.rules.limits import RunLimits
from memoryd.agent.rules.tool_schemas import DEFINITIONS
from memoryd.agent.toolbox import ToolOutcome
from memoryd.base.config import Credentials
from memoryd.base.errors import ToolError
from memoryd.llm.anthropic_client import AnthropicProvider, endpoint_at
from memoryd.llm.rules.messages import Text, schema_of
from memoryd.memories.records import MemoryDirectory, Stored
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system.landlock import landlock_abi
from tests.support.examples import examples
from tests.support.sandbox import (
    ATTACKS,
    CANARY,
    HOSTILE_PATHS,
    Sandbox,
    make_kinds,
    memory_text,
    sandbox,
    swapping,
)
from tests.support.scripted_model import Call, ScriptedModel, asks, says

TOKEN = "ghp_" + "x7Kq2mVb9RtY4wZp1LsN8dHf3GjC6aEu0oTi"


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Sandbox]:
    with sandbox(tmp_path) as made:
        yield made


def test_the_tools_have_the_inputs_that_models_know() -> None:
    inputs = {tool.name: schema_of(tool.arguments) for tool in DEFINITIONS}
    assert {name: list(schema["properties"]) for name, schema in inputs.items()} == {  # type: ignore[call-overload]  # a schema is plain JSON
        "Read": ["file_path", "offset", "limit"],
        "Grep": ["pattern", "path", "glob"],
        "Glob": ["pattern", "path"],
        "Bash": ["command"],
        "Write": ["file_path", "content"],
        "Edit": ["file_path", "old_string", "new_string", "replace_all"],
    }


async def test_other_kinds_of_files_are_neither_read_nor_written(box: Sandbox) -> None:
    names = make_kinds(box, box.memory)
    before = box.everything_outside()
    with anyio.fail_after(60):
        for name in names:
            for said in (
                await box.said("Read", file_path=name),
                await box.said("Write", file_path=name, content=memory_text("x")),
                await box.said("Edit", file_path=name, old_string="the", new_string="x"),
                await box.said("Bash", command=f"cat {box.memory}/{name}"),
            ):
                assert said.startswith("not done: "), name
    assert box.everything_outside() == before
    assert not box.tools.written
    assert sorted(path.name for path in box.outside.iterdir()) == ["canary.md"]


async def test_a_memory_is_written_with_its_index_line_and_history(box: Sandbox) -> None:
    said = await box.call("Write", file_path="feedback_tabs.md", content=memory_text("Use tabs."))
    place = box.memory / "feedback_tabs.md"
    assert said == f"saved {place}"
    assert place.read_text() == memory_text("Use tabs.")
    assert "(feedback_tabs.md)" in (box.memory / "MEMORY.md").read_text()
    (version,) = VersionTable(box.state).versions(str(box.memory), "feedback_tabs.md")
    assert (version.cause, version.session_id) == ("extraction", "s-1")
    assert [stored.file for stored in box.tools.written] == ["feedback_tabs.md"]
    assert box.tools.outcomes == [ToolOutcome("Write", "ok", "", "feedback_tabs.md")]


async def test_a_path_in_full_is_the_same_file_also_through_a_linked_home(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "claude").symlink_to("dotfiles")
    with sandbox(tmp_path) as box:
        for base in (box.memory, box.memory.resolve()):
            name = f"a{len(box.tools.written)}.md"
            await box.call("Write", file_path=str(base / name), content=memory_text("x"))
            assert (box.memory / name).exists()
            said = await box.call("Read", file_path=str(base / name))
            assert "Use tabs" in said


async def test_no_path_lets_a_write_escape(box: Sandbox) -> None:
    before = box.everything_outside()
    for path in HOSTILE_PATHS:
        for place in (path, f"{box.memory}/{path}"):
            await box.said("Write", file_path=place, content=memory_text("x"))
            await box.said("Edit", file_path=place, old_string="x", new_string="y")
    assert {one.verdict for one in box.tools.outcomes} == {"ok", "refused"}
    assert box.everything_outside() == before
    assert [path.name for path in box.project.iterdir()] == []
    made = {str(found.relative_to(box.memory)) for found in box.memory.rglob("*.*")}
    assert made - {"MEMORY.md"} == {stored.file for stored in box.tools.written}
    assert all(re.fullmatch(r"[a-z0-9_/-]+\.md", name) for name in made - {"MEMORY.md"})
    assert not any(name.startswith(("team", "logs")) for name in made)


@examples(200)
@given(st.text(st.sampled_from("./\\~ab\0\n-_M.mdé\u200b{}*$ "), max_size=24))
def test_no_name_escapes(name: str) -> None:
    """The resulting path is inside the folder, however it is resolved afterwards."""
    try:
        file = file_to_write(name, ("/m/memory",))
    except ToolError:
        return
    assert os.path.normpath(f"/m/memory/{file}") == f"/m/memory/{file}"
    assert not file.startswith("/")
    assert file.endswith(".md")


async def test_what_was_not_read_is_not_overwritten(box: Sandbox) -> None:
    place = box.remember("feedback_a.md", "Old.")
    new = memory_text("New.")
    assert "Read it first" in await box.said("Write", file_path="feedback_a.md", content=new)
    edit = {"file_path": "feedback_a.md", "old_string": "Old.", "new_string": "New."}
    assert "Read it first" in await box.said("Edit", **edit)
    await box.call("Bash", command=f"cat {place}")
    assert "Read it first" in await box.said("Edit", **edit)
    assert place.read_text() == memory_text("Old.")
    await box.call("Read", file_path="feedback_a.md")
    await box.call("Edit", **edit)
    assert place.read_text() == new


async def test_a_version_that_has_gone_stale_is_not_changed(box: Sandbox) -> None:
    place = box.remember("feedback_a.md", "Old.")
    await box.call("Read", file_path="feedback_a.md")
    theirs = memory_text("Theirs. Old.")
    place.write_text(theirs)
    for tool, given_ in (
        ("Edit", {"old_string": "Old.", "new_string": "New."}),
        ("Write", {"content": memory_text("New.")}),
    ):
        said = await box.said(tool, file_path="feedback_a.md", **given_)
        assert said == "not done: it has changed since you read it; Read it again"
        assert box.last_reason == "changed"
    assert place.read_text() == theirs


async def test_a_run_s_own_write_counts_as_a_read(box: Sandbox) -> None:
    await box.call("Write", file_path="a.md", content=memory_text("One."))
    await box.call("Edit", file_path="a.md", old_string="One.", new_string="Two.")
    await box.call("Write", file_path="a.md", content=memory_text("Three."))
    assert (box.memory / "a.md").read_text() == memory_text("Three.")


async def test_two_edits_of_one_answer_both_count(box: Sandbox) -> None:
    box.remember("a.md", "One. Two.")
    await box.call("Read", file_path="a.md")
    async with anyio.create_task_group() as side_by_side:
        for old, new in (("One", "1"), ("Two", "2")):
            side_by_side.start_soon(edit, box, old, new)
    assert (box.memory / "a.md").read_text() == memory_text("1. 2.")


async def edit(box: Sandbox, old: str, new: str) -> None:
    await box.call("Edit", file_path="a.md", old_string=old, new_string=new)


async def test_an_edit_that_is_not_clear_is_refused_in_words(box: Sandbox) -> None:
    box.remember("a.md", "Tabs. Tabs.")
    await box.call("Read", file_path="a.md")
    for old, new, words in (
        ("Tabs.", "Spaces.", "2 times"),
        ("spaces", "tabs", "not in the file"),
        ("", "x", "not in the file"),
        ("Tabs. Tabs.", "Tabs. Tabs.", "the same"),
        ("Tabs. Tabs.", " ", "text below its header"),
        ("type: feedback", "type: rant", "starts with a header"),
        ("Tabs. Tabs.", "x" * 300_000, "at most"),
    ):
        said = await box.said("Edit", file_path="a.md", old_string=old, new_string=new)
        assert words in said
    await box.call("Edit", file_path="a.md", old_string="bs.", new_string="s.", replace_all=True)
    assert "Tas. Tas." in (box.memory / "a.md").read_text()
    gone = await box.said("Edit", file_path="none.md", old_string="a", new_string="b")
    assert "there is no such memory" in gone


async def test_a_file_keeps_its_own_line_ends(box: Sandbox) -> None:
    place = box.remember("a.md", "")
    place.write_bytes(memory_text("One.\nTwo.\nThree.").replace("\n", "\r\n").encode())
    assert "\r" not in await box.call("Read", file_path="a.md")
    await box.call("Edit", file_path="a.md", old_string="One.\nTwo.", new_string="1.\n2.")
    assert place.read_bytes().endswith(b"---\r\n\r\n1.\r\n2.\r\nThree.\r\n")


async def test_what_the_budget_kept_from_the_model_was_not_read(tmp_path: Path) -> None:
    with sandbox(tmp_path, RunLimits(read_bytes=10)) as box:
        box.remember("a.md", "Old.")
        assert "may not read" in await box.said("Read", file_path="a.md")
        said = await box.said("Edit", file_path="a.md", old_string="Old.", new_string="New.")
        assert "Read it first" in said


async def test_an_edit_that_would_grow_without_end_is_refused_before_it_does(box: Sandbox) -> None:
    box.remember("a.md", "a" * 200_000)
    await box.call("Read", file_path="a.md")
    bomb = {"old_string": "a", "new_string": "b" * 200_000, "replace_all": True}
    assert "at most" in await box.said("Edit", file_path="a.md", **bomb)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "no-header"),
        ("just text", "no-header"),
        (memory_text("x", type=""), "no-header"),
        (memory_text("x", type="opinion"), "no-header"),
        (memory_text("x", description=""), "no-header"),
        (memory_text(""), "empty"),
        (memory_text("x" * 300_000), "too-large"),
    ],
)
async def test_what_is_not_a_memory_is_not_written(
    tmp_path: Path, content: str, reason: str
) -> None:
    with sandbox(tmp_path, RunLimits(written_bytes=10_000_000)) as box:
        with pytest.raises(ToolError):
            await box.call("Write", file_path="a.md", content=content)
        assert box.last_reason == reason
        assert not (box.memory / "a.md").exists()


async def test_the_index_is_not_written_by_hand(box: Sandbox) -> None:
    (box.memory / "MEMORY.md").write_text("- [A](a.md) — x\n")
    await box.call("Read", file_path="MEMORY.md")
    for tool, given_ in (
        ("Write", {"content": memory_text("x")}),
        ("Edit", {"old_string": "A", "new_string": "B"}),
    ):
        assert "updated automatically" in await box.said(tool, file_path="MEMORY.md", **given_)


async def test_a_retired_memory_is_read_but_not_written(box: Sandbox) -> None:
    (box.memory / ".retired").mkdir()
    place = box.memory / ".retired/old.md"
    place.write_text(memory_text("Use tabs."))
    assert "Use tabs." in await box.call("Read", file_path=".retired/old.md")
    for tool, given_ in (
        ("Write", {"content": memory_text("x")}),
        ("Edit", {"old_string": "tabs", "new_string": "spaces"}),
    ):
        assert "hidden names" in await box.said(tool, file_path=".retired/old.md", **given_)
    assert place.read_text() == memory_text("Use tabs.")


async def test_a_secret_in_a_memory_is_masked_and_the_model_told(box: Sandbox) -> None:
    said = await box.call("Write", file_path="a.md", content=memory_text(f"Use {TOKEN}."))
    assert said.endswith("a.md; what looked like a secret in it was masked")
    assert TOKEN not in (box.memory / "a.md").read_text()
    await box.call("Edit", file_path="a.md", old_string="[secret: github-token]", new_string="it")
    assert "Use it." in (box.memory / "a.md").read_text()


async def test_a_race_does_not_let_a_write_escape_the_memory(box: Sandbox) -> None:
    (box.memory / "sub").mkdir()
    (box.outside / "trap").symlink_to(box.outside)
    written = 0
    with swapping(box.memory / "sub", box.outside / "trap"):
        for number in range(150):
            said = await box.said(
                "Write", file_path=f"sub/n{number}.md", content=memory_text("x", name=str(number))
            )
            written += said.startswith("saved")
    assert written > 0
    assert [path.name for path in box.outside.iterdir() if path.suffix == ".md"] == ["canary.md"]


async def test_only_a_disk_error_is_reported_as_one(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    long, new = "a" * 300 + ".md", memory_text("x")
    await box.said("Read", file_path=long)
    await box.said("Write", file_path=long, content=new)
    await box.said("Write", file_path="a/" * 60 + "b.md", content=new)
    box.put("plain/a.md", "x")
    await box.said("Read", file_path=str(box.project / "plain/a.md/b.md"))
    assert "storage" not in {one.reason for one in box.tools.outcomes}

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "write", full)
    await box.said("Write", file_path="a.md", content=new)
    assert box.last_reason == "storage"


@pytest.mark.skipif(not landlock_abi(), reason="this kernel has no Landlock")
async def test_the_kernel_confines_a_writer_whose_checks_are_removed(box: Sandbox) -> None:
    class Astray(Store):
        def write(self, directory: MemoryDirectory, *args: object, **more: object) -> Stored:
            (box.outside / "canary.md").write_text("overwritten")
            raise AssertionError("the kernel let it pass")

    box.store = Astray(VersionTable(box.state), now=lambda: 0.0)
    box.new_run()
    with pytest.raises(ToolError):
        await box.call("Write", file_path="a.md", content=memory_text("x"))
    assert (box.outside / "canary.md").read_text() == CANARY


async def test_what_is_read_and_written_is_charged(tmp_path: Path) -> None:
    with sandbox(tmp_path, RunLimits(read_bytes=3000, written_bytes=200)) as box:
        box.put("a.txt", "x" * 1900)
        await box.call("Read", file_path="a.txt")
        for tool, given_ in (
            ("Read", {"file_path": "a.txt"}),
            ("Bash", {"command": "cat a.txt"}),
            ("Grep", {"pattern": "x" * 1000, "path": "a.txt"}),
        ):
            said = await box.said(tool, **given_)
            assert "may not read that much more" in said or tool == "Grep"
        assert box.tools.outcomes[1].reason == "limit"
        await box.call("Write", file_path="a.md", content=memory_text("One."))
        said = await box.said("Write", file_path="b.md", content=memory_text("x" * 200))
        assert "may not write that much more" in said
        assert not (box.memory / "b.md").exists()


async def test_every_attempt_leaves_an_outcome_without_contents(box: Sandbox) -> None:
    box.put("a.txt", CANARY)
    await box.said("Read", file_path="a.txt")
    await box.said("Read", file_path="/etc/passwd")
    await box.said("Write", file_path="x.py", content=memory_text(CANARY))
    await box.said("Bash", command=f"cat {TOKEN}")
    assert [(one.tool, one.verdict, one.reason) for one in box.tools.outcomes] == [
        ("Read", "ok", ""),
        ("Read", "refused", "outside"),
        ("Write", "refused", "not-markdown"),
        ("Bash", "refused", "no-file"),
    ]
    assert CANARY not in str(box.tools.outcomes)
    assert TOKEN not in str(box.tools.outcomes)


async def test_an_evil_model_gets_nothing_through_the_whole_loop(box: Sandbox) -> None:
    toolbox: Toolbox = box.tools
    evil = [
        *(Call("Write", {"file_path": path, "content": "x"}) for path in HOSTILE_PATHS[:40]),
        *(Call("Bash", {"command": command}) for command in ATTACKS[:30]),
        *(Call("Read", {"file_path": path}) for path in HOSTILE_PATHS[:40]),
        Call("Delete", {"file_path": "a.md"}),
        Call("Write", {"file_path": ["a.md"], "content": "x"}),
    ]
    honest = Call("Write", {"file_path": "feedback_a.md", "content": memory_text("Use tabs.")})
    job = AgentJob("extraction", "/p", "claude-haiku-5-5", (Text("s"),), (Text("o"),))
    before = box.everything_outside()
    with (
        anyio.fail_after(60),
        ScriptedModel([asks(*evil), asks(honest), says("done")]) as server,
    ):
        provider = AnthropicProvider(endpoint_at(server.base_url, Credentials()))
        report = await run(job, provider, toolbox, RunLimits(tool_calls=200))
        await provider.aclose()
    assert report.ended == "done"
    assert [attempt.tool for attempt in report.attempts if attempt.ok] == ["Write"]
    assert box.everything_outside() == before
    assert CANARY not in str([request.body for request in server.requests])
    assert (box.memory / "feedback_a.md").exists()
