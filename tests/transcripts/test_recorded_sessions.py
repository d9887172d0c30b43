"""Whole transcripts: what the real client wrote gives what was scripted, however it arrives."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryd.transcripts.rules.assembler import (
    Follower,
    is_session_transcript,
    living_history,
    read_entries,
)
from memoryd.transcripts.rules.session_view import conversation, summarize
from memoryd.transcripts.rules.turns import Abandoned, Compacted, Turn, TurnEvent, TurnPart
from tests.support.thinning import thinned

CASES = Path(__file__).parents[1] / "data" / "claude-code"


def session_files(case: str) -> dict[str, Path]:
    root = CASES / case / "projects"
    return {
        path.stem: path
        for path in sorted(root.rglob("*.jsonl"))
        if is_session_transcript(path.relative_to(root).as_posix())
    }


ALL_FILES = {
    f"{case.name}/{name[:8]}": path
    for case in sorted(CASES.glob("c*"))
    for name, path in session_files(case.name).items()
}
SCRIPTED = [
    pytest.param(session_files(case.name)[name], turns, id=f"{case.name}/{name[:8]}")
    for case in sorted(CASES.glob("c*"))
    for name, turns in json.loads((case / "expected.json").read_bytes())["sessions"].items()
]
files = st.sampled_from(sorted(ALL_FILES)).map(lambda name: ALL_FILES[name].read_bytes())


def events_of(data: bytes) -> list[TurnEvent]:
    follower = Follower()
    events = follower.feed(data) + follower.finish()
    assert follower.bad_lines == 0
    return events


def turns_of(data: bytes) -> list[Turn]:
    return [event for event in events_of(data) if isinstance(event, Turn)]


def session(case: str, prefix: str = "") -> bytes:
    [path] = [path for name, path in session_files(case).items() if name.startswith(prefix)]
    return path.read_bytes()


def as_scripted(turn: Turn, abandoned: set[str]) -> dict[str, Any]:
    """The turn as expected.json describes it, which leaves out false flags."""
    opening = turn.parts[0]
    found: dict[str, Any] = {
        "prompt": "<task-notification>" if opening.kind == "notice" else opening.text,
        "final": turn.final,
        "tools": [call.tool for call in turn.tool_calls],
        "complete": turn.complete,
    }
    marks = {
        "human": None if turn.is_from_person else False,
        "abandoned": turn.id in abandoned or None,
        "local_command": turn.ending == "local_command" or None,
        "bash_mode": opening.source == "bash" or None,
        "queued": [part.text for part in turn.prompts if part.source == "queued"] or None,
    }
    return found | {name: mark for name, mark in marks.items() if mark is not None}


# Keys of the script that are not part of a turn's outline; other tests check them.
ASIDE = {"how", "api_error", "note", "denied", "copied_from", "cwd"}


@pytest.mark.parametrize(("path", "scripted"), SCRIPTED)
def test_the_real_client_s_files_give_what_was_scripted(
    path: Path, scripted: list[dict[str, Any]]
) -> None:
    events = events_of(path.read_bytes())
    abandoned = {event.turn_id for event in events if isinstance(event, Abandoned)}
    found = [as_scripted(event, abandoned) for event in events if isinstance(event, Turn)]
    assert found == [{k: v for k, v in turn.items() if k not in ASIDE} for turn in scripted]


def test_files_of_sub_agents_journals_and_backups_are_not_sessions() -> None:
    paths = [path for root in CASES.glob("c*/projects") for path in root.rglob("*.jsonl")]
    others = set(paths) - set(ALL_FILES.values())
    assert len(others) == 14
    assert all("subagents" in path.parts for path in others)
    assert is_session_transcript("-home-dev-app/0f.jsonl")
    for name in ("0f.jsonl", "p/s/0f.jsonl", "p/0f.jsonl.superseded-1", "p/agent-0f.jsonl", "p/a"):
        assert not is_session_transcript(name)


def test_a_sub_agent_s_file_gives_no_turn_even_when_it_is_read() -> None:
    for path in CASES.glob("c*/projects/**/subagents/**/agent-*.jsonl"):
        assert events_of(path.read_bytes()) == []


def test_a_fork_repeats_its_turns_under_the_same_ids() -> None:
    original = turns_of(session("c04_fork", "2e368284"))
    copied, own = turns_of(session("c04_fork", "00a0b01b"))
    assert copied.id == original[0].id
    assert copied.parts == original[0].parts
    assert own.id not in {turn.id for turn in original}


def test_a_fork_of_a_compacted_session_repeats_no_answer_without_its_prompt() -> None:
    original = {turn.id for turn in turns_of(session("c19_hooks", "00b9ddea"))}
    turns = turns_of(session("c19_hooks", "b7604f34"))
    assert [turn.parts[0].text for turn in turns if turn.id not in original] == [
        "Say hello to the project"
    ]


def test_a_turn_tells_what_was_done_in_order() -> None:
    [turn] = turns_of(session("c02_tools_thinking"))
    assert [(part.kind, part.tool or part.text[:12]) for part in turn.parts] == [
        ("prompt", "The add func"),
        ("assistant", "I'll look at"),
        ("tool_call", "Read"),
        ("tool_output", "1\tdef add(a,"),
        ("assistant", "The function"),
        ("tool_call", "Edit"),
        ("tool_output", "The file /ho"),
        ("tool_call", "Bash"),
        ("tool_call", "Bash"),
        ("tool_output", "5"),
        ("tool_output", " M calc.py\n?"),
        ("assistant", "Fixed: `add`"),
    ]
    calls = [call.tool_use_id for call in turn.tool_calls]
    assert [output.tool_use_id for output in turn.tool_outputs] == calls
    assert turn.files_written == ("/home/dev/work/c02_tools_thinking/calc.py",)
    assert (turn.started, turn.ended) == ("2026-11-16T01:01:57.337Z", turn.prose[-1].at)
    assert turn.tool_call_count == 4


def test_tokens_of_a_message_on_many_lines_count_once() -> None:
    data = session("c02_tools_thinking")
    messages = [
        line["message"]
        for line in map(json.loads, data.splitlines())
        if line["type"] == "assistant"
    ]
    by_id = {message["id"]: message["usage"] for message in messages}
    assert len(by_id) == 4 < len(messages)
    [turn] = turns_of(data)
    assert turn.output_tokens == sum(usage["output_tokens"] for usage in by_id.values())
    last = messages[-1]["usage"]
    assert turn.context_tokens == last["input_tokens"] + last["output_tokens"]


def test_the_offsets_of_a_turn_enclose_its_lines() -> None:
    data = session("c03_resume_memory")
    turns = turns_of(data)
    for turn in turns:
        lines = [
            json.loads(line)
            for line in data[turn.first_offset : turn.last_offset].split(b"\n")[:-1]
        ]
        assert lines[0]["uuid"] == turn.id
        assert lines[-1]["message"]["content"][-1]["text"] == turn.final
    assert turns[0].last_offset <= turns[1].first_offset


def test_the_agent_s_own_memory_writes_are_among_the_files_written() -> None:
    turns = turns_of(session("c03_resume_memory"))
    folder = "/home/dev/.claude/projects/-home-dev-work-c03-resume-memory/memory"
    assert [turn.files_written for turn in turns[1:]] == [
        (f"{folder}/run-tests-with-pytest-q.md", f"{folder}/MEMORY.md"),
        (),
    ]


def test_a_denied_write_wrote_nothing() -> None:
    [turn] = turns_of(session("c13_tool_failures", "4a165ec2"))
    assert turn.tool_outputs[0].is_error
    assert turn.files_written == ()


def test_each_turn_belongs_to_the_directory_of_its_own_prompt() -> None:
    turns = turns_of(session("c14_paths", "1988d758"))
    assert [turn.cwd for turn in turns] == ["/home/dev/work/c14_paths", "/home/dev/work/c14_nogit"]
    [moved] = turns_of(session("c15_relocated", "37a24325"))
    assert (moved.cwd, moved.git_branch) == ("/home/dev/work/c15_relocated", "main")


@pytest.mark.parametrize(
    ("case", "prefix", "ending"),
    [
        ("c11_interrupts", "a6b8645b", "interrupted"),
        ("c11_interrupts", "a0e6c033", "interrupted"),
        ("c11_interrupts", "514103f1", "unanswered"),
        ("c11_interrupts", "f0228b73", "unanswered"),
        ("c11_interrupts", "37eebc08", "unanswered"),
        ("c12_api_errors", "700b086c", "api_error"),
        ("c12_api_errors", "8a2cb920", "api_error"),
    ],
)
def test_an_incomplete_turn_says_how_it_ended(case: str, prefix: str, ending: str) -> None:
    turn = turns_of(session(case, prefix))[0]
    assert (turn.complete, turn.ending) == (False, ending)


def test_compactions_are_events_and_one_in_mid_turn_names_the_turn() -> None:
    [compacted, turn] = events_of(session("c10_compact_auto"))
    assert isinstance(compacted, Compacted)
    assert isinstance(turn, Turn)
    assert compacted.inside_turn == turn.id
    assert (compacted.trigger, compacted.tokens_before, compacted.tokens_after) == (
        "auto",
        102036,
        2684,
    )
    manual = [
        event for event in events_of(session("c09_compact_manual")) if isinstance(event, Compacted)
    ]
    assert [event.inside_turn for event in manual] == [""]


INJECTED = (
    b"RECALL-AT-START",
    b"RECALL-FOR-PROMPT",
    b"This session is being continued",
    b"tools-used-before-summary>Bash</tools-used-before-summary>\n</system",
    b"local-command-caveat",
    b"cut off mid-stream",
    b"AutoMem",
)


@pytest.mark.parametrize("name", sorted(ALL_FILES))
def test_injected_text_is_never_part_of_a_turn(name: str) -> None:
    for turn in turns_of(ALL_FILES[name].read_bytes()):
        said = [part.text for part in turn.parts if part.kind not in {"tool_output", "printed"}]
        for mark in INJECTED:
            assert mark.decode() not in "\n".join(said)


def test_the_recorded_files_do_contain_injected_text() -> None:
    everything = b"".join(path.read_bytes() for path in ALL_FILES.values())
    assert b"RECALL-AT-START" in everything
    assert b"local-command-caveat" in everything
    assert b"cut off mid-stream" in everything


def spoken_lines(data: bytes) -> bytes:
    kinds = (b'"type":"user"', b'"type":"assistant"', b'"type":"system"')
    return b"".join(line for line in data.splitlines(True) if any(kind in line for kind in kinds))


@pytest.mark.parametrize(
    ("case", "prefix"),
    [("c12_api_errors", "79eca5e5"), ("c18_rewind", ""), ("c12_api_errors", "595fa091")],
)
def test_a_cut_and_a_restart_at_every_byte_change_nothing(case: str, prefix: str) -> None:
    data = spoken_lines(session(case, prefix))
    whole = events_of(data)
    for position in thinned(range(len(data))):
        before = Follower()
        events = before.feed(data[:position])
        after = Follower.restore(before.snapshot())
        assert after.next_offset <= position
        events += after.feed(data[after.next_offset :]) + after.finish()
        assert events == whole


cut_points = st.lists(st.integers(min_value=0, max_value=100_000), max_size=12).map(sorted)


@settings(deadline=None)
@given(files, cut_points, st.lists(st.booleans(), min_size=13, max_size=13))
def test_chunks_and_restarts_change_nothing(
    data: bytes, ends: list[int], restarts: list[bool]
) -> None:
    follower = Follower()
    events: list[TurnEvent] = []
    for end, is_restarted in zip([*ends, len(data)], restarts, strict=False):
        if is_restarted:
            follower = Follower.restore(follower.snapshot())
        events += follower.feed(data[follower.next_offset : end])
    assert events + follower.finish() == events_of(data)


def spoken(events: list[TurnEvent]) -> list[TurnPart]:
    return [part for event in events if isinstance(event, Turn) for part in event.parts]


@settings(deadline=None)
@given(files, st.sets(st.integers(min_value=0, max_value=110)))
def test_settling_at_any_line_neither_loses_nor_repeats_a_word(
    data: bytes, settled_lines: set[int]
) -> None:
    follower, events = Follower(), []
    for number, line in enumerate(data.splitlines(True)):
        events += follower.feed(line)
        if number in settled_lines:
            events += follower.settle()
            assert not follower.awaits_settling
    events += follower.finish()
    assert spoken(events) == spoken(events_of(data))
    ids = [event.id for event in events if isinstance(event, Turn)]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", sorted(ALL_FILES))
def test_a_repeated_file_says_nothing_new(name: str) -> None:
    data = ALL_FILES[name].read_bytes()
    follower = Follower()
    first = follower.feed(data) + follower.finish()
    assert first
    assert follower.feed(data) + follower.finish() == []


def test_a_conversation_shows_the_live_branch_with_tools_folded() -> None:
    history = living_history(read_entries([session("c18_rewind")]))
    assert [(part.kind, part.text) for part in conversation(history)] == [
        ("prompt", "Say hello to the project"),
        ("assistant", "Hello from the fake API."),
        ("prompt", "What did we fix earlier?"),
        ("assistant", "We fixed the add function in calc.py."),
    ]
    tools = conversation(living_history(read_entries([session("c13_tool_failures", "3250dbca")])))
    assert [(part.kind, part.text) for part in tools][1] == (
        "tools",
        "Bash ls /nonexistent-dir; exit 3 (failed)",
    )


def test_a_conversation_marks_compactions_where_they_happened() -> None:
    def kinds(case: str) -> list[str]:
        return [part.kind for part in conversation(living_history(read_entries([session(case)])))]

    assert kinds("c10_compact_auto") == [
        *("prompt", "assistant", "tools", "compaction", "assistant"),
    ]
    assert kinds("c09_compact_manual")[-6:] == [
        *("assistant", "compaction", "prompt", "printed", "prompt", "assistant"),
    ]


def test_a_session_is_summed_up_in_one_row() -> None:
    summary = summarize(living_history(read_entries([session("c09_compact_manual")])))
    assert summary is not None
    assert (summary.turns, summary.compactions) == (4, 1)
    assert (summary.git_branch, summary.cwd) == ("main", "/home/dev/work/c09_compact_manual")
    assert summary.started < summary.last_activity
    assert summary.context_tokens > 1000
    notices = summarize(living_history(read_entries([session("c06_subagents_background")])))
    assert notices is not None
    assert notices.turns == 1
    assert summarize([]) is None
