"""The provider against a real server on loopback, through the real SDK."""

import os
import subprocess
import sys
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anthropic  # noqa: F401 - loading it takes long on a busy machine, and deadlines are short
import anyio
import anyio.to_thread
import msgspec
import pytest

from memoryd.base.config import Credentials, Secret
from memoryd.base.errors import ConfigError, MemorydError, Refused
from memoryd.llm.anthropic_client import AnthropicProvider, endpoint_at
from memoryd.llm.rules.messages import (
    AnswerUnreadable,
    AssistantTurn,
    ModelRequest,
    ProviderDown,
    ProviderPaused,
    ProviderRefused,
    Text,
    ToolDefinition,
    ToolResult,
    UserTurn,
    read_answer,
    read_json,
)
from tests.support.scripted_model import (
    Body,
    Call,
    Hang,
    Message,
    Reply,
    ScriptedModel,
    SeenRequest,
    Status,
    asks,
    says,
)

KEY = "sk-ant-made-up-key-0123456789"
CREDENTIALS = Credentials(api_key=Secret(KEY))


class Selection(msgspec.Struct, frozen=True):
    selected_memories: list[str]


class Look(msgspec.Struct, frozen=True):
    file_path: str
    offset: int | None = None


LOOK = ToolDefinition("Look", "Looks at a file.", Look)


def request(**changes: object) -> ModelRequest:
    plain = ModelRequest(
        job="test",
        project="/p",
        model="claude-haiku-5-5",
        max_tokens=256,
        system=(Text("You remember.", cache_here=True),),
        turns=(UserTurn((Text("Hello."),)),),
    )
    return msgspec.structs.replace(plain, **changes)


Connect = Callable[..., AnthropicProvider]


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    async with AsyncExitStack() as opened:

        def make(base_url: str, credentials: Credentials = CREDENTIALS) -> AnthropicProvider:
            provider = AnthropicProvider(endpoint_at(base_url, credentials))
            opened.push_async_callback(provider.aclose)
            return provider

        yield make


async def ask(connect: Connect, reply: Reply, **changes: object) -> tuple[object, SeenRequest]:
    with ScriptedModel([reply]) as server, anyio.fail_after(60):
        answer = await connect(server.base_url).complete(request(**changes), 10.0)
    return answer, server.requests[0]


async def test_an_answer_comes_back_whole_with_its_usage(connect: Connect) -> None:
    reply = asks(
        Call("Look", {"file_path": "a.md"}, "toolu_1"),
        Call("Look", {"file_path": "b.md"}, "toolu_2"),
        input_tokens=10,
        output_tokens=4,
        cache_read_input_tokens=90,
        cache_creation_input_tokens=0,
    )
    with ScriptedModel([reply]) as server:
        answer = await connect(server.base_url).complete(request(tools=(LOOK,)), 10.0)
    assert answer.outcome == "complete"
    assert [call.call_id for call in answer.calls] == ["toolu_1", "toolu_2"]
    assert msgspec.json.decode(answer.calls[1].input_json) == {"file_path": "b.md"}
    assert answer.usage.prompt_tokens == 100
    assert answer.usage.cache_hit_percent == 90.0


async def test_a_request_says_what_it_was_given_and_nothing_unknown(connect: Connect) -> None:
    turns = (
        UserTurn((Text("shared", cache_here=True), Text("new"))),
        AssistantTurn(b'[{"type":"tool_use","id":"t1","name":"Look","input":{}}]'),
        UserTurn((ToolResult("t1", "no", is_error=True),)),
    )
    _, seen = await ask(connect, says("ok"), tools=(LOOK,), turns=turns)
    mark = {"type": "ephemeral"}
    assert seen.path == "/v1/messages"
    assert seen.body == {
        "model": "claude-haiku-5-5",
        "max_tokens": 256,
        "system": [{"type": "text", "text": "You remember.", "cache_control": mark}],
        "tools": [
            {
                "name": "Look",
                "description": "Looks at a file.",
                "input_schema": {
                    "title": "Look",
                    "type": "object",
                    "properties": {
                        "file_path": {"type": "string"},
                        "offset": {
                            "anyOf": [{"type": "integer"}, {"type": "null"}],
                            "default": None,
                        },
                    },
                    "required": ["file_path"],
                },
            }
        ],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "shared", "cache_control": mark},
                    {"type": "text", "text": "new"},
                ],
            },
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t1", "name": "Look", "input": {}}],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": "no", "is_error": True}
                ],
            },
        ],
    }


async def test_thinking_goes_back_exactly_as_it_came(connect: Connect) -> None:
    blocks: list[dict[str, object]] = [
        {
            "type": "thinking",
            "thinking": "",
            "signature": "c2lnbmVk",
            "new_field": [1, {"a": None}],
        },
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "t1", "name": "Look", "input": {"file_path": "ü"}},
    ]
    with ScriptedModel([Message(blocks, "tool_use"), says("ok")]) as server:
        provider = connect(server.base_url)
        first = await provider.complete(request(), 10.0)
        turns = (*request().turns, first.turn, UserTurn((ToolResult("t1", "x"),)))
        await provider.complete(request(turns=turns), 10.0)
    assert server.requests[1].body["messages"][1] == {"role": "assistant", "content": blocks}


async def test_a_lone_surrogate_of_a_transcript_does_not_stop_a_request(connect: Connect) -> None:
    _, seen = await ask(connect, says("ok"), turns=(UserTurn((Text("a\ud800b"),)),))
    assert seen.body["messages"][0]["content"][0]["text"] == "a?b"


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/", "/v1/messages"])
async def test_every_spelling_of_the_url_leads_to_the_same_place(
    connect: Connect, suffix: str
) -> None:
    with ScriptedModel([says("ok")]) as server:
        await connect(f"{server.base_url}/anthropic{suffix}").complete(request(), 10.0)
    assert server.requests[0].path == "/anthropic/v1/messages"


async def test_a_compatible_server_gets_the_key_both_ways_and_the_old_version(
    connect: Connect,
) -> None:
    _, seen = await ask(connect, says("ok"))
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.headers["x-api-key"] == KEY
    assert seen.headers["anthropic-version"] == "2023-06-01"
    assert "anthropic-beta" not in seen.headers


async def test_a_token_is_sent_as_a_bearer_alone(connect: Connect) -> None:
    with ScriptedModel([says("ok")]) as server:
        provider = connect(server.base_url, Credentials(auth_token=Secret("made-up-token")))
        await provider.complete(request(), 10.0)
    assert server.requests[0].headers["authorization"] == "Bearer made-up-token"
    assert "x-api-key" not in server.requests[0].headers


async def test_a_local_server_needs_no_key(connect: Connect) -> None:
    with ScriptedModel([says("ok")]) as server:
        await connect(server.base_url, Credentials()).complete(request(), 10.0)
    assert len(server.requests) == 1


async def test_no_login_of_the_user_is_picked_up(
    connect: Connect, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = home / ".config/anthropic/configs/default.json"
    profile.parent.mkdir(parents=True)
    profile.write_text('{"base_url": "http://127.0.0.1:9", "api_key": "stolen"}')
    monkeypatch.setenv("ANTHROPIC_API_KEY", "stolen")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "stolen")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv(
        "ANTHROPIC_CUSTOM_HEADERS", "authorization: Bearer stolen\nX-Api-Key: stolen"
    )
    with ScriptedModel([says("ok")]) as server:
        provider = connect(server.base_url, Credentials(auth_token=Secret("made-up-token")))
        await provider.complete(request(), 10.0)
    assert "stolen" not in str(server.requests[0])


async def test_loopback_is_reached_past_a_proxy(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    answer, _ = await ask(connect, says("ok"))
    assert answer is not None


@asynccontextmanager
async def as_if_anthropic(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, reply: Reply
) -> AsyncIterator[tuple[AnthropicProvider, ScriptedModel]]:
    """Anthropic's host name, answered by a proxy on loopback: nothing leaves this machine."""
    with ScriptedModel([reply]) as server:
        monkeypatch.delenv("MEMORYD_FORBID_NETWORK")
        monkeypatch.setenv("HTTP_PROXY", server.base_url)
        yield connect("http://api.anthropic.com"), server


async def test_other_hosts_are_reached_through_the_proxy(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with as_if_anthropic(connect, monkeypatch, says("ok")) as (provider, server):
        await provider.complete(request(), 10.0)
    assert server.requests[0].path == "http://api.anthropic.com/v1/messages"


async def test_anthropic_gets_the_schema_as_a_field_and_one_key(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = request(answer_type=Selection, thinks=False)
    reply = says('{"selected_memories": ["a.md"]}')
    async with as_if_anthropic(connect, monkeypatch, reply) as (provider, server):
        answer = await provider.complete(asked, 10.0)
    seen = server.requests[0]
    assert seen.body["output_config"]["format"]["type"] == "json_schema"
    assert seen.body["output_config"]["format"]["schema"]["type"] == "object"
    assert seen.body["thinking"] == {"type": "disabled"}
    assert seen.body["messages"][0]["content"] == [{"type": "text", "text": "Hello."}]
    assert "x-api-key" not in seen.headers
    assert seen.headers["anthropic-version"] > "2023-06-01"
    assert read_json(answer, Selection).selected_memories == ["a.md"]


async def test_a_big_model_of_anthropic_is_told_to_think_little(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = request(model="claude-sonnet-5-5", thinks=False)
    async with as_if_anthropic(connect, monkeypatch, says("ok")) as (provider, server):
        await provider.complete(asked, 10.0)
    assert server.requests[0].body["output_config"] == {"effort": "low"}
    assert "thinking" not in server.requests[0].body


async def test_a_compatible_server_is_asked_for_json_in_words(connect: Connect) -> None:
    fenced = says('Here it is:\n```json\n{"selected_memories": ["a.md"]}\n```')
    with ScriptedModel([fenced]) as server:
        asked = request(answer_type=Selection, thinks=False)
        answer = await connect(server.base_url).complete(asked, 10.0)
    assert server.requests[0].body.keys() == {"model", "max_tokens", "system", "messages"}
    assert "selected_memories" in server.requests[0].body["messages"][0]["content"][-1]["text"]
    assert read_json(answer, Selection).selected_memories == ["a.md"]


@pytest.mark.parametrize(
    "text", ["", "no", "}{", '{"selected_memories": "a"}', '{"selected_memories": ["a"', "[1]"]
)
async def test_json_that_does_not_match_the_schema_is_unreadable(
    connect: Connect, text: str
) -> None:
    with ScriptedModel([says(text)]) as server:
        answer = await connect(server.base_url).complete(request(answer_type=Selection), 10.0)
    with pytest.raises(AnswerUnreadable):
        read_json(answer, Selection)


async def test_json_of_a_cut_answer_is_not_read(connect: Connect) -> None:
    reply = says('{"selected_memories": []}', stop_reason="max_tokens")
    with ScriptedModel([reply]) as server:
        answer = await connect(server.base_url).complete(request(answer_type=Selection), 10.0)
    with pytest.raises(AnswerUnreadable):
        read_json(answer, Selection)


ERRORS: list[tuple[Reply, type[MemorydError]]] = [
    (Status(401), ProviderRefused),
    (Status(404), ProviderRefused),
    (Status(307, {"location": "http://127.0.0.1:9/"}), ProviderRefused),
    (Status(402), ProviderPaused),
    (Status(429), ProviderPaused),
    (Status(500), ProviderDown),
    (Status(502, {}, f"<html>{KEY}</html>".encode()), ProviderDown),
    (Body(b'{"oops": "' + KEY.encode()), AnswerUnreadable),
]


@pytest.mark.parametrize(("reply", "kind"), ERRORS)
async def test_no_error_shows_the_key_that_a_server_echoes(
    connect: Connect, reply: Reply, kind: type[MemorydError]
) -> None:
    with pytest.raises(kind) as caught:
        await ask(connect, reply)
    shown = "".join(traceback.format_exception(caught.value)) + caught.value.hint
    assert KEY not in shown
    assert KEY not in repr(vars(caught.value))


async def test_a_spend_limit_in_a_plain_400_is_a_pause(connect: Connect) -> None:
    error = {"type": "invalid_request_error", "message": "... your specified API usage limits."}
    words = msgspec.json.encode({"type": "error", "error": error})
    with pytest.raises(ProviderPaused) as caught:
        await ask(connect, Status(400, {}, words))
    assert not caught.value.retryable


async def test_a_server_that_is_not_there_cost_nothing(connect: Connect) -> None:
    with ScriptedModel([]) as server:
        gone = server.base_url
    with pytest.raises(ProviderDown, match="cannot reach") as caught:
        await connect(gone).complete(request(), 10.0)
    assert not caught.value.may_have_cost


async def test_a_cancelled_call_ends_at_once(connect: Connect) -> None:
    with ScriptedModel([Hang()]) as server, anyio.fail_after(60):
        provider = connect(server.base_url)
        async with anyio.create_task_group() as group:
            group.start_soon(provider.complete, request(), 600.0)
            await anyio.to_thread.run_sync(server.asked.wait)
            group.cancel_scope.cancel()
    assert group.cancel_scope.cancelled_caught


@pytest.mark.parametrize(
    "base_url",
    [None, "https://api.anthropic.com", "http://10.0.0.1:8080", "http://localhost.evil.org"],
)
def test_a_forbidden_network_stops_before_a_connection(base_url: str | None) -> None:
    with pytest.raises(Refused, match="MEMORYD_FORBID_NETWORK"):
        endpoint_at(base_url, CREDENTIALS)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "[::1]"])
def test_loopback_is_not_forbidden(host: str) -> None:
    assert endpoint_at(f"http://{host}:11434", CREDENTIALS).is_loopback


@pytest.mark.parametrize(
    "base_url",
    [
        "localhost:80",
        "ftp://localhost",
        "http://",
        "http://a b",
        "http://u:p@localhost",
        "http://[",
        "http://x:99999",
    ],
)
def test_an_invalid_url_is_a_config_error(base_url: str) -> None:
    with pytest.raises(ConfigError, match="base_url"):
        endpoint_at(base_url, CREDENTIALS)


@pytest.mark.parametrize("key", ["", "two words", "line\nbreak", "schlüssel"])
def test_an_invalid_key_is_reported_without_being_shown(key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        endpoint_at("http://localhost", Credentials(api_key=Secret(key)))
    assert not key or key not in caught.value.message + caught.value.hint


def test_an_endpoint_does_not_print_its_key() -> None:
    assert KEY not in repr(endpoint_at("http://localhost", CREDENTIALS))


def test_the_sdk_is_not_imported_before_it_is_used() -> None:
    program = (
        "import sys, memoryd.agent.loop; print('anthropic' in sys.modules, 'httpx2' in sys.modules)"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ},
    )
    assert finished.stdout.split() == ["False", "False"]


WHOLE = b'{"role":"assistant","content":[%s],"stop_reason":"tool_use","usage":{}}'
CALL = b'{"type":"tool_use","id":"t","name":"Look","input":{}}'
UNREADABLE = [
    b"",
    b"null",
    b"[]",
    b"{}",
    b"\xff\xfe",
    b"<html>",
    b"[" * 100_000,
    WHOLE % b'{"type":"text"}',
    WHOLE % b'{"type":"text","text":null}',
    WHOLE % b'{"text":"no type"}',
    WHOLE % b'"a bare string"',
    WHOLE % b'{"type":"tool_use","id":"t","name":"Look"}',
    WHOLE % b'{"type":"tool_use","id":"","name":"Look","input":{}}',
    WHOLE % b'{"type":"tool_use","id":7,"name":"Look","input":{}}',
    WHOLE % b'{"type":"tool_use","id":"t","name":null,"input":{}}',
    WHOLE % (CALL + b"," + CALL),
    (WHOLE % CALL).replace(b"assistant", b"user"),
    (WHOLE % CALL).replace(b'"usage":{}', b'"usage":{"input_tokens":-1}'),
    (WHOLE % CALL).replace(b'"usage":{}', b'"usage":{"output_tokens":"many"}'),
    (WHOLE % CALL).replace(b'"stop_reason":"tool_use",', b""),
    (WHOLE % CALL).replace(b'"stop_reason":"tool_use"', b'"stop_reason":7'),
    (WHOLE % CALL)[:-1],
]


def test_the_valid_message_that_the_bad_ones_are_made_from_is_read() -> None:
    assert read_answer(WHOLE % CALL).outcome == "complete"


@pytest.mark.parametrize("body", UNREADABLE, ids=range(len(UNREADABLE)))
def test_bytes_that_are_not_a_message_are_unreadable(body: bytes) -> None:
    with pytest.raises(AnswerUnreadable):
        read_answer(body)


@pytest.mark.parametrize(
    ("stop_reason", "outcome"),
    [
        ("end_turn", "complete"),
        ("tool_use", "complete"),
        ("stop_sequence", "complete"),
        ("max_tokens", "cut"),
        ("model_context_window_exceeded", "cut"),
        ("pause_turn", "cut"),
        ("something_new", "cut"),
        ("", "cut"),
        (None, "cut"),
        ("refusal", "refused"),
    ],
)
def test_only_a_known_stop_reason_completes_an_answer(
    stop_reason: str | None, outcome: str
) -> None:
    body = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t", "name": "Look", "input": {}}],
        "stop_reason": stop_reason,
    }
    assert read_answer(msgspec.json.encode(body)).outcome == outcome


def test_an_answer_that_stops_for_tools_and_names_none_was_cut() -> None:
    body = b'{"role":"assistant","content":[{"type":"text","text":"x"}],"stop_reason":"tool_use"}'
    assert read_answer(body).outcome == "cut"
