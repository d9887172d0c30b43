"""What the hook sends and reads: any payload goes out whole, any answer comes back whole."""

import json

from hypothesis import given
from hypothesis import strategies as st

from memoryd_client import hook

JSON_OBJECTS = st.dictionaries(
    st.text(),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)


@given(JSON_OBJECTS, st.none() | st.integers(0, 4))
def test_a_request_carries_the_payload_unchanged(
    payload: dict[str, object], indent: int | None
) -> None:
    request = hook.request_for(json.dumps(payload, indent=indent).encode())
    assert request is not None
    assert request.count(b"\n") == 1
    message = json.loads(request)
    assert message == {"jsonrpc": "2.0", "id": 1, "method": "hook", "params": payload}


def test_a_payload_cannot_turn_the_call_into_another() -> None:
    request = hook.request_for(b'{"a":1},"method":"shutdown","params":{}')
    assert request is not None
    assert json.loads(request)["method"] == "hook"


@given(st.text(), st.booleans(), st.sampled_from([None, (", ", ": "), (",", ":")]))
def test_any_text_comes_out_as_it_went_in(
    text: str, to_ascii: bool, separators: tuple[str, str] | None
) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "result": {"stdout": text, "more": '"stdout":"x"'}}
    line = json.dumps(message, ensure_ascii=to_ascii, separators=separators).encode() + b"\n"
    assert hook.output_in(line) == text.encode()


@given(st.binary())
def test_no_answer_breaks_the_reader(noise: bytes) -> None:
    try:
        hook.output_in(noise + b"\n")
    except ValueError:
        return


def test_the_sessions_own_switches_go_with_the_payload() -> None:
    environ = {
        b"CLAUDE_CODE_DISABLE_AUTO_MEMORY": b"1",
        b"CLAUDE_CODE_REMOTE": b'"},"method":"shutdown',
        b"PATH": b"/bin",
    }
    marks = hook.marks_in(environ)
    for payload, kept in ((b"{}", {}), (b'{"prompt":"x"}', {"prompt": "x"})):
        request = hook.request_for(payload, marks=marks)
        assert request is not None
        decoded = json.loads(request)
        assert decoded["method"] == "hook"
        assert decoded["params"] == kept | {"session_env": {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}}
