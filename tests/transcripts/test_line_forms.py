"""A line gives the same entry however it is written: nobody can hide one by its form.

The client writes compact JSON with its keys in one order. A line written by hand may have
another order, blanks, escapes or a key twice; what `json` reads in it decides.
"""

import json
from pathlib import Path
from string import ascii_letters
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.transcripts.rules.entries import TranscriptEntry, read_entry
from memoryd.transcripts.rules.lines import Line, LineSplitter
from tests.support.session_script import SessionScript

pytestmark = pytest.mark.rules

RECORDED = Path(__file__).parent.parent / "data" / "claude-code"
TYPES = ("user", "assistant", "system", "attachment", "queue-operation", "api-request-blob", "", 7)
BLANKS = ("", " ", "\t", "\r", "  ")
values = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(("", "x", "user", "é"))


def entry_of(text: str | bytes) -> TranscriptEntry:
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return read_entry(Line(0, 10, data))


def recorded_lines() -> list[bytes]:
    files = sorted(RECORDED.rglob("*.jsonl"))
    return [line.data for path in files for line in LineSplitter().feed(path.read_bytes())]


def escaped(text: str) -> str:
    """JSON that spells out every ASCII letter of every string, keys too."""
    within = False
    made: list[str] = []
    at = 0
    while at < len(text):
        letter = text[at]
        if within and letter == "\\":
            made.append(text[at : at + 2])
            at += 2
            continue
        if letter == '"':
            within = not within
        made.append(f"\\u{ord(letter):04x}" if within and letter in ascii_letters else letter)
        at += 1
    return "".join(made)


def turned(value: Any, blank: str) -> str:
    """JSON with the keys in reverse order, and blanks wherever they may be."""
    if isinstance(value, dict):
        pairs = (f"{json.dumps(k)}{blank}:{blank}{turned(v, blank)}" for k, v in value.items())
        inner = f"{blank},{blank}".join(reversed(list(pairs)))
        return f"{{{blank}{inner}{blank}}}"
    if isinstance(value, list):
        return f"[{blank}{f',{blank}'.join(turned(one, blank) for one in value)}]"
    return json.dumps(value, ensure_ascii=False)


@pytest.mark.parametrize("blank", BLANKS)
def test_recorded_lines_are_read_the_same_in_another_order_and_with_blanks(blank: str) -> None:
    lines = recorded_lines()[:: 7 if blank else 3]
    assert len(lines) > 100
    for line in lines:
        try:
            value = json.loads(line)
        except ValueError:
            assert entry_of(line).kind == "bad"
            continue
        same = entry_of(blank + turned(value, blank) + blank)
        assert _without_spelling(same) == _without_spelling(entry_of(line))


def test_recorded_lines_are_read_the_same_with_every_letter_escaped() -> None:
    for line in recorded_lines()[::11]:
        try:
            text = json.dumps(json.loads(line), ensure_ascii=False)
        except ValueError:
            continue
        same = entry_of(escaped(text))
        assert _without_spelling(same) == _without_spelling(entry_of(line))


def _without_spelling(entry: TranscriptEntry) -> tuple[object, ...]:
    """All but the client's raw copy of answers, which keeps its bytes, and the order in inputs."""
    blocks = [
        (b.kind, b.tool, b.tool_use_id, b.gist, b.writes, sorted(b.names), b.is_error, b.refusal)
        for b in entry.blocks
    ]
    texts = [sorted(b.text) for b in entry.blocks if len(b.text) < 2000]
    return (entry.kind, entry.place, entry.text, entry.source, entry.stop_reason, blocks, texts)


@given(
    st.permutations(["type", "uuid", "message", "isSidechain", "promptSource", "timestamp"]),
    st.sampled_from(BLANKS),
    st.sampled_from(["before", "after", "none"]),
)
def test_a_prompt_is_found_in_any_order_and_beside_a_second_type(
    keys: list[str], blank: str, decoy: str
) -> None:
    script = SessionScript("s")
    script.prompt("remember to use tabs")
    value = json.loads(script.lines[0])
    rest = {key: one for key, one in value.items() if key not in keys}
    pairs = [(key, value[key]) for key in keys if key in value] + list(rest.items())
    if decoy == "before":  # the last of two counts, as for every reader of JSON
        pairs.insert(0, ("type", "api-request-blob"))
    inner = ",".join(f"{blank}{json.dumps(k)}{blank}:{json.dumps(v)}" for k, v in pairs)
    if decoy == "after":
        inner += ',"type":"api-request-blob"'
    entry = entry_of(f"{blank}{{{inner}}}{blank}")
    assert entry.kind == ("side" if decoy == "after" else "prompt")
    if entry.kind == "prompt":
        assert entry.text == "remember to use tabs"


@given(
    st.dictionaries(
        st.sampled_from(
            ("type", "uuid", "message", "content", "operation", "isMeta", "cwd", "attachment")
        ),
        values | st.sampled_from(TYPES) | st.dictionaries(st.just("content"), values),
    )
)
def test_generated_lines_are_read_as_their_canonical_form(value: dict[str, Any]) -> None:
    """Garbage under the right keys is read as `json` would read it, and never raises."""
    assert entry_of(turned(value, " ")) == entry_of(json.dumps(value))


@given(st.binary(max_size=80))
def test_no_bytes_raise(data: bytes) -> None:
    assert entry_of(data).kind in {"bad", "side"}


@pytest.mark.parametrize("lone", ["\\ud800", "\\udfff", "a\\ud800b"])
def test_a_lone_surrogate_does_not_hide_a_line(lone: str) -> None:
    script = SessionScript("s")
    script.prompt("remember to use tabs")
    line = script.lines[0].decode().replace("use tabs", f"use tabs {lone}")
    entry = entry_of(line)
    assert (entry.kind, entry.text.startswith("remember to use tabs")) == ("prompt", True)
