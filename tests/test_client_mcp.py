"""The MCP bridge, spoken to by the official client and by hand, in both eras of the protocol."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters, types
from mcp.client.stdio import stdio_client

from tests.running import COMMAND, Daemon, make_home


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    running = Daemon(make_home(tmp_path_factory.mktemp("mcp"))).start()
    yield running
    running.end()


def bridge(daemon: Daemon, cwd: Path) -> StdioServerParameters:
    env = daemon.env | {"CLAUDE_PROJECT_DIR": str(cwd)}
    return StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], "mcp"], env=env)


def text_of(result: Any) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_client_uses_every_tool(
    daemon: Daemon, tmp_path: Path, mode: Any
) -> None:
    with anyio.fail_after(60):
        async with Client(stdio_client(bridge(daemon, tmp_path)), mode=mode) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert tools == {"recall", "remember", "forget", "list_memories", "history"}
            kept = {"text": "Deploys happen on Tuesdays only.", "type": "project"}
            saved = text_of(await client.call_tool("remember", kept))
            assert "project_deploys_happen_on_tuesdays_only.md" in saved
            listed = text_of(await client.call_tool("list_memories", {}))
            assert "Deploys happen on Tuesdays only" in listed
            named = {"memory": "project_deploys_happen_on_tuesdays_only.md"}
            assert "by user" in text_of(await client.call_tool("history", named))
            index = await client.read_resource("memory://index")
            assert "Tuesdays" in index.contents[0].text  # type: ignore[union-attr]
            address = "memory://topic/project_deploys_happen_on_tuesdays_only.md"
            assert address in {one.uri for one in (await client.list_resources()).resources}
            topic = await client.read_resource(address)
            assert "Deploys happen" in topic.contents[0].text  # type: ignore[union-attr]
            assert "Forgotten" in text_of(await client.call_tool("forget", named))
            gone = await client.call_tool("forget", named)
            assert gone.is_error
            assert "there is no memory" in text_of(gone)


def talk(env: dict[str, str], *messages: object) -> list[dict[str, Any]]:
    raw = b"".join(
        (one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n" for one in messages
    )
    done = subprocess.run(
        [*COMMAND, "mcp"], input=raw, env=env, capture_output=True, timeout=60, check=True
    )
    assert done.stderr == b""
    return [json.loads(line) for line in done.stdout.splitlines()]


def request(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def test_an_unknown_handshake_version_is_answered_with_one_we_speak(daemon: Daemon) -> None:
    (answer,) = talk(daemon.env, request("initialize", protocolVersion="1999-01-01"))
    assert answer["result"]["protocolVersion"] == "2025-11-25"
    assert answer["result"]["serverInfo"]["name"] == "memoryd"


def test_a_later_protocol_version_is_refused_with_those_we_speak(daemon: Daemon) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}
    (answer,) = talk(daemon.env, request("server/discover", _meta=meta))
    assert answer["error"]["code"] == -32022
    assert answer["error"]["data"]["supported"] == ["2026-07-28"]


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (b"{nonsense", -32700),
        (b"[" * 100_000, -32700),
        ([1], -32600),
        ({"jsonrpc": "2.0", "id": 1}, -32600),
        (request("no/such"), -32601),
        (request("tools/call", name="no_such"), -32602),
        (request("resources/read", uri="memory://topic/none.md"), -32002),
    ],
)
def test_garbage_gets_its_code_and_the_next_message_its_answer(
    daemon: Daemon, message: object, code: int
) -> None:
    bad, good = talk(daemon.env, message, request("ping"))
    assert bad["error"]["code"] == code
    assert good["result"] == {}


def test_notifications_and_replies_are_taken_in_silence(daemon: Daemon) -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    reply = {"jsonrpc": "2.0", "id": 9, "result": {}}
    assert len(talk(daemon.env, note, reply, request("ping"))) == 1


@pytest.mark.parametrize(
    "arguments", [{}, {"query": ""}, {"query": "x", "colour": "blue"}, {"query": 5}]
)
def test_wrong_arguments_are_told_to_the_model(daemon: Daemon, arguments: object) -> None:
    (answer,) = talk(daemon.env, request("tools/call", name="recall", arguments=arguments))
    assert answer["result"]["isError"] is True


def test_without_a_daemon_the_tools_say_what_to_type(daemon: Daemon, tmp_path: Path) -> None:
    env = daemon.env | {"MEMORYD_SOCKET": str(tmp_path / "none.sock")}
    call = request("tools/call", name="list_memories", arguments={})
    listed, answer = talk(env, request("tools/list"), call)
    assert len(listed["result"]["tools"]) == 5
    assert answer["result"]["isError"] is True
    assert "memoryd serve" in answer["result"]["content"][0]["text"]


def test_the_bridge_loads_nothing_that_it_does_not_need(daemon: Daemon) -> None:
    program = (
        "import sys; from memoryd_client import mcp\n"
        "print([m for m in ('argparse', 'subprocess', 'asyncio', 'msgspec') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=daemon.env, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
