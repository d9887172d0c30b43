"""Lines to entries: the client's marks say who is speaking, and no line can do harm."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryd.transcripts.rules.assembler import Follower
from memoryd.transcripts.rules.blocks import PROSE_CHARS_MAX, TOOL_CHARS_MAX
from memoryd.transcripts.rules.entries import (
    OWN_ENTRYPOINT,
    OWN_RUN_MARKER,
    TranscriptEntry,
    read_entry,
)
from memoryd.transcripts.rules.lines import Line
from memoryd.transcripts.rules.turns import Turn
from tests.support.session_script import SessionScript


def entry_of(data: bytes) -> TranscriptEntry:
    return read_entry(Line(0, len(data) + 1, data))


def read(script: SessionScript) -> TranscriptEntry:
    return entry_of(script.lines[-1])


def user(content: Any, **keys: Any) -> TranscriptEntry:
    script = SessionScript()
    script.user(content, **keys)
    return read(script)


def system(subtype: str, **keys: Any) -> TranscriptEntry:
    script = SessionScript()
    script.system(subtype, **keys)
    return read(script)


def attachment(kind: str, **keys: Any) -> TranscriptEntry:
    script = SessionScript()
    script.attach(kind, **keys)
    return read(script)


def queued_by_a_script(**keys: Any) -> TranscriptEntry:
    script = SessionScript()
    given = {"type": "queued_command", "prompt": "hi", "commandMode": "prompt"} | keys
    script.put("attachment", attachment=given, entrypoint="sdk-cli")
    return read(script)


COMMAND = "<command-name>/compact</command-name>\n  <command-args>keep the rule</command-args>"
CUSTOM = "<command-message>review</command-message>\n<command-name>/review</command-name>"


@pytest.mark.parametrize(
    ("entry", "kind", "source", "text"),
    [
        (user("hi", promptSource="typed"), "prompt", "typed", "hi"),
        (user("hi", promptSource="sdk"), "prompt", "sdk", "hi"),
        (user("hi", promptSource="from a later client"), "prompt", "sdk", "hi"),
        (user("hi", promptSource="queued"), "prompt", "typed", "hi"),
        (user("hi", promptSource="suggestion_accepted"), "prompt", "typed", "hi"),
        (user("hi", promptSource="new", origin={"kind": "human"}), "prompt", "typed", "hi"),
        (user("hi", promptSource="sdk", entrypoint="claude-vscode"), "prompt", "typed", "hi"),
        (user("hi", promptSource="typed", entrypoint="sdk-cli"), "prompt", "typed", "hi"),
        (user("hi", entrypoint="sdk-py"), "prompt", "sdk", "hi"),
        (user("hi", entrypoint="claude-vscode"), "prompt", "unmarked", "hi"),
        (
            user(f"<teammate-message a='b'>{'hi ' * 5000}", promptSource="typed"),
            *("notice", "notice", None),
        ),
        (user("hi"), "prompt", "unmarked", "hi"),
        (user([{"type": "text", "text": "hi"}, {"type": "image"}]), "prompt", "unmarked", None),
        (attachment("queued_command", prompt="hi", humanTurn=True), "queued", "queued", "hi"),
        (attachment("queued_command", prompt="hi"), "queued", "notice", "hi"),
        (
            attachment("queued_command", prompt="hi", commandMode="prompt"),
            *("queued", "queued", "hi"),
        ),
        (
            attachment("queued_command", prompt="hi", origin={"kind": "human"}),
            *("queued", "queued", "hi"),
        ),
        (
            attachment(
                "queued_command",
                prompt="hi",
                commandMode="prompt",
                origin={"kind": "task-notification"},
            ),
            *("queued", "notice", "hi"),
        ),
        (queued_by_a_script(), "queued", "sdk", "hi"),
        (queued_by_a_script(origin={"kind": "human"}), "queued", "queued", "hi"),
        (user('<teammate-message teammate_id="a">hi</teammate-message>'), "notice", "notice", None),
        (user("Implement the following plan:\n\n# Plan"), "notice", "notice", None),
        (
            user("Implement the following plan:\n\n# Plan", promptSource="typed"),
            *("notice", "notice", None),
        ),
        (
            user("<system-reminder>rules</system-reminder>\nfix the build"),
            *("prompt", "unmarked", "fix the build"),
        ),
        (
            user("<ide_opened_file>a.py</ide_opened_file>\nfix it", promptSource="typed"),
            *("prompt", "typed", "fix it"),
        ),
        (
            user("<ide_selection>x</ide_selection><ide_opened_file>a</ide_opened_file>why"),
            *("prompt", "unmarked", "why"),
        ),
        (user(COMMAND), "command", "command", "/compact keep the rule"),
        (user(CUSTOM), "command", "command", "/review"),
        (user("<bash-input>ls -l</bash-input>"), "bash_input", "bash", "! ls -l"),
        (user("done", promptSource="system"), "notice", "notice", "done"),
        (user("done", origin={"kind": "coordinator"}), "notice", "notice", "done"),
        (user("done", turnOrigin="task_notification"), "notice", "notice", "done"),
        (user("<task-notification>x"), "notice", "notice", "<task-notification>x"),
    ],
)
def test_what_may_open_a_turn_says_where_it_came_from(
    entry: TranscriptEntry, kind: str, source: str, text: str | None
) -> None:
    assert (entry.kind, entry.source) == (kind, source)
    assert text in {None, entry.text}


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        (user("x", isMeta=True), "nudge"),
        (user("<system-reminder>x</system-reminder>", isMeta=True), "meta"),
        (user("<local-command-caveat>x", isMeta=True), "meta"),
        (user("<system-reminder>x</system-reminder>"), "meta"),
        (user(""), "meta"),
        (user("x", isCompactSummary=True, promptSource="typed"), "summary"),
        (user([{"type": "tool_result", "tool_use_id": "a", "content": "b"}]), "tool_result"),
        (user([{"type": "text", "text": "[Request interrupted by user]"}]), "interrupt"),
        (user("[Request interrupted by user for tool use]"), "interrupt"),
        (user("<local-command-stdout>x</local-command-stdout>"), "command_output"),
        (user("<bash-stdout>x</bash-stdout><bash-stderr></bash-stderr>"), "bash_output"),
        (user(OWN_RUN_MARKER + "extract", promptSource="sdk"), "own_run"),
        (user("extract", entrypoint=OWN_ENTRYPOINT), "own_run"),
        (user("x", isSidechain=True), "sidechain"),
        (user("x", uuid=None), "side"),
        (attachment("hook_success", content="x"), "injected"),
        (attachment("hook_additional_context", content=["x"]), "injected"),
        (attachment("instructions", files=[{"content": "x"}]), "injected"),
        (attachment("prompt_snapshot"), "client"),
        (attachment("of a later client"), "client"),
        (system("compact_boundary"), "compaction"),
        (system("turn_duration"), "turn_end"),
        (system("local_command", content="<local-command-stdout>x"), "command_output"),
        (system("local_command", content="<command-name>/rename</command-name>"), "client"),
        (system("api_error"), "client"),
    ],
)
def test_lines_that_are_not_prompts_are_recognised(entry: TranscriptEntry, kind: str) -> None:
    assert entry.kind == kind


@pytest.mark.parametrize(
    "text",
    [
        "<bash-input>ls</bash-input>",
        "<command-name>/x</command-name>",
        "<task-notification>",
        "<system-reminder>",
        "[Request interrupted by user]",
    ],
)
def test_a_person_may_type_any_tag(text: str) -> None:
    entry = user(text, promptSource="typed", origin={"kind": "human"})
    assert (entry.kind, entry.text) == ("prompt", text)


def test_messages_made_up_by_the_client_are_not_answers() -> None:
    script = SessionScript()
    script.answer("No response requested.", message={"model": "<synthetic>"})
    assert read(script).kind == "synthetic"
    script.answer("API Error: 529", isApiErrorMessage=True, message={"model": "<synthetic>"})
    assert read(script).kind == "api_error"


def test_context_size_adds_all_that_was_read_and_written() -> None:
    script = SessionScript()
    script.answer("x")
    entry = read(script)
    assert (entry.context_tokens, entry.output_tokens) == (3160, 40)


def test_output_of_commands_loses_its_colours() -> None:
    entry = user("<local-command-stdout>\x1b[2mCompacted\x1b[22m</local-command-stdout>")
    assert entry.text == "Compacted"


def test_a_call_names_its_gist_and_the_file_it_writes() -> None:
    script = SessionScript()
    script.call("Edit", {"replace_all": False, "file_path": "/a/ä.py", "new_string": "y"})
    [block] = read(script).blocks
    assert (block.tool, block.gist, block.writes) == ("Edit", "/a/ä.py", "/a/ä.py")
    assert block.text == '{"replace_all":false,"file_path":"/a/ä.py","new_string":"y"}'
    script.call("Read", {"file_path": "/a/b.py"})
    assert not read(script).blocks[0].writes


def test_long_text_is_cut_with_a_mark_and_keeps_both_ends() -> None:
    prompt = user("a" * PROSE_CHARS_MAX + "z", promptSource="typed").text
    assert len(prompt) < PROSE_CHARS_MAX + 100
    assert prompt.startswith("aaa")
    assert prompt.endswith("az")
    assert "[... 1 characters cut ...]" in prompt
    script = SessionScript()
    script.result("id", [{"type": "text", "text": "o" * 1_000_000}])
    assert len(read(script).blocks[0].text) < TOOL_CHARS_MAX + 100


def test_half_a_character_costs_one_character_not_the_line() -> None:
    script = SessionScript()
    script.prompt("before")
    line = script.lines[-1].replace(b"before", rb"a \ud83d b \ude00 c \ud83d\ude00 d")
    entry = entry_of(line)
    assert entry.text == "a ? b ? c 😀 d"
    entry.text.encode()


def test_garbage_in_side_fields_is_a_missing_field() -> None:
    entry = user(
        "hi",
        promptSource="typed",
        timestamp="yesterday",
        cwd=7,
        gitBranch=None,
        sessionId=[],
        promptId={},
        origin="x",
        parentUuid=3,
        turnOrigin=1.5,
    )
    assert (entry.kind, entry.text) == ("prompt", "hi")
    place = entry.place
    fields = (
        place.at,
        place.cwd,
        place.git_branch,
        place.session_id,
        place.prompt_id,
        place.parent,
    )
    assert fields == ("", "", "", "", "", None)


def deep(opening: bytes, closing: bytes, levels: int = 100_000) -> bytes:
    return b'{"type":"user","uuid":"u","x":' + opening * levels + closing * levels + b"}"


def broken(**keys: Any) -> bytes:
    return json.dumps({"type": "user", "uuid": "u", "message": {"content": "x"}} | keys).encode()


HOSTILE = {
    "no json": b"this is no json",
    "half an object": b'{"type":"user","uuid":"u","message":{"content":"to be cont',
    "two objects": b'{"type":"mode"}{"type":"mode"}',
    "array": b'[{"type":"user"}]',
    "string": b'"user"',
    "number": b"17",
    "null": b"null",
    "NUL bytes": b"\x00" * 4096,
    "NUL inside": b'{"type":"user","uuid":"u\x00","message":{"content":"x"}}',
    "byte order mark": b'\xef\xbb\xbf{"type":"user","uuid":"u","message":{"content":"x"}}',
    "UTF-16": '{"type":"user"}'.encode("utf-16"),
    "broken UTF-8": b'{"type":"user","uuid":"u","message":{"content":"\xff\xfe"}}',
    "overlong UTF-8": b'{"type":"user","uuid":"u","message":{"content":"\xc0\xaf"}}',
    "NaN": b'{"type":"user","uuid":"u","message":{"content":"x"},"v":NaN}',
    "infinite number": broken(message={"content": "x", "usage": {"input_tokens": 1}}).replace(
        b'"input_tokens": 1', b'"input_tokens": 1e999'
    ),
    "integer of 10,000 digits": broken().replace(b'"u"', b"9" * 10_000),
    "deep arrays": deep(b"[", b"]"),
    "deep objects": deep(b'{"a":', b"}").replace(b":}", b":1}"),
    "deep arrays with an escape": deep(b"[", b"]").replace(b'"u"', rb'"\ud800"'),
    "type is a number": broken(type=5),
    "message is a string": broken(message="x"),
    "message is missing": b'{"type":"user","uuid":"u"}',
    "content is a number": broken(message={"content": 5}),
    "content holds strings": broken(message={"content": ["x"]}),
    "usage is a list": broken(type="assistant", message={"content": [], "usage": []}),
    "attachment is a string": b'{"type":"attachment","uuid":"u","attachment":"x"}',
    "control characters": b'{"type":"user","uuid":"u","message":{"content":"a\x01b\x1b"}}',
    "single quotes": b"{'type':'user'}",
    "trailing comma": b'{"type":"user",}',
}

ODD_BUT_READABLE = {
    "carriage return": b'{"type":"mode"}\r',
    "spaces around": b'  {"type": "mode"}\t ',
    "empty object": b"{}",
    "unknown type": b'{"type":"of a later client","uuid":"u","message":7,"attachment":true}',
    "duplicate keys": b'{"type":"user","type":"mode"}',
    "uuid is a list": broken(uuid=[1]),
    "uuid of a megabyte": broken(uuid="u" * 1_000_000),
    "usage of the wrong kind": broken(
        type="assistant",
        message={
            "content": [],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": "7", "output_tokens": -1},
        },
    ),
    "huge integer": broken(v=10**300),
    "blocks of the wrong kind": broken(message={"content": [{"type": 5}, {}, {"type": "text"}]}),
    "sidechain is a string": broken(isSidechain="yes", isMeta=1, isCompactSummary="true"),
    "system without a subtype": b'{"type":"system","uuid":"u"}',
    "compaction without figures": b'{"type":"system","uuid":"u","subtype":"compact_boundary",'
    b'"compactMetadata":[1]}',
}


def turns_around(line: bytes) -> tuple[list[Turn], Follower]:
    script = SessionScript()
    script.turn("first", "one")
    script.raw(line)
    script.turn("second", "two")
    follower = Follower()
    events = follower.feed(script.data) + follower.finish()
    return [event for event in events if isinstance(event, Turn)], follower


@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_line_is_counted_and_its_neighbours_are_read(line: bytes) -> None:
    turns, follower = turns_around(line)
    assert [(turn.parts[0].text, turn.final) for turn in turns] == [
        ("first", "one"),
        ("second", "two"),
    ]
    assert follower.bad_lines == 1


@pytest.mark.parametrize("line", ODD_BUT_READABLE.values(), ids=ODD_BUT_READABLE.keys())
def test_an_odd_line_is_not_bad_and_its_neighbours_are_read(line: bytes) -> None:
    turns, follower = turns_around(line)
    assert (turns[0].final, turns[-1].final) == ("one", "two")
    assert follower.bad_lines == 0


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KEYS = (
    *("type", "uuid", "parentUuid", "isSidechain", "timestamp", "sessionId", "cwd", "gitBranch"),
    *("promptId", "entrypoint", "message", "isMeta", "isCompactSummary", "promptSource", "origin"),
    *("turnOrigin", "isApiErrorMessage", "subtype", "content", "compactMetadata", "attachment"),
)
TYPES = ("user", "assistant", "system", "attachment")


@settings(deadline=None)
@given(st.sampled_from(TYPES), st.dictionaries(st.sampled_from(KEYS), json_values))
def test_no_value_of_any_key_raises(kind: str, keys: dict[str, Any]) -> None:
    whole = {"type": kind, "uuid": "u", "message": {"content": "x"}, "attachment": {}} | keys
    entry = entry_of(json.dumps(whole).encode())
    Follower().feed(json.dumps(whole).encode() + b"\n")
    assert entry.kind in {"bad", "side"} or entry.place.uuid


@settings(deadline=None)
@given(st.binary())
def test_no_bytes_raise(data: bytes) -> None:
    assert entry_of(data).kind in {"bad", "side"}
