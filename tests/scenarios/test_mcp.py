"""The MCP server, used by the official client and by hand, in both generations of the protocol."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters, types
from mcp.client.stdio import stdio_client

from memoryd.base.paths import slug
from tests.support.running import COMMAND, ROOT, Daemon, make_home


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
            assert "project_deploys_happen_tuesdays_only.md" in saved
            listed = text_of(await client.call_tool("list_memories", {}))
            assert "Deploys happen on Tuesdays only" in listed
            named = {"memory": "project_deploys_happen_tuesdays_only.md"}
            past = text_of(await client.call_tool("history", named))
            assert "by agent" in past
            assert f"at {time.strftime('%Y-')}" in past
            topic_file = daemon.home / ".claude/projects" / slug(str(tmp_path)) / "memory"
            header = (topic_file / named["memory"]).read_text()
            assert "trust: agent-concluded" in header
            index = await client.read_resource("memory://index")
            assert "Tuesdays" in index.contents[0].text  # type: ignore[union-attr]
            address = "memory://topic/project_deploys_happen_tuesdays_only.md"
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
        (b"\xff\xfe", -32700),
        (b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}', -32700),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": {"a": 1}, "method": "ping"}, -32600),
        ([request("ping")], -32600),
        (request("resources/read", uri="file:///etc/passwd"), -32002),
        (request("resources/read"), -32002),
        (b"x" * 9_000_000, -32700),
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


def test_notifications_and_replies_get_no_answer(daemon: Daemon) -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    reply = {"jsonrpc": "2.0", "id": 9, "result": {}}
    assert len(talk(daemon.env, note, reply, request("ping"))) == 1


KEPT = {"text": "Tests are slow.", "type": "project"}
# Arguments that the daemon refuses, and what its error names.
WRONG: list[tuple[str, object, str]] = [
    ("recall", {}, "`query`"),
    ("recall", None, "`query`"),
    ("recall", "words", "`query`"),
    ("recall", {"query": ""}, "`query`"),
    ("recall", {"query": 5}, "query"),
    ("recall", {"query": "x", "limit": "5"}, "limit"),
    ("recall", {"query": "x", "limit": 0}, "limit"),
    ("recall", {"query": "x", "limit": 51}, "limit"),
    ("recall", {"query": "x", "limit": True}, "limit"),
    ("remember", {"text": "a"}, "`type`"),
    ("remember", {"type": "user"}, "`body`"),
    ("remember", {"text": "\n", "type": "user"}, "body"),
    ("remember", {"text": 5, "type": "user"}, "body"),
    ("remember", KEPT | {"name": 5}, "name"),
    ("remember", KEPT | {"description": 5}, "description"),
    ("remember", KEPT | {"type": "x"}, "type"),
    ("remember", KEPT | {"scope": "agent"}, "agent"),
    ("remember", KEPT | {"supersedes": "none.md"}, "'none.md'"),
    ("forget", {}, "`path`"),
    ("forget", {"memory": "../../x"}, "'../../x'"),
    ("forget", {"memory": "MEMORY.md"}, "index"),
    ("list_memories", {"retired": "yes"}, "retired"),
    ("list_memories", {"type": 5}, "type"),
    ("history", {"memory": "none.md"}, "'none.md'"),
    ("history", {"memory": "none.md", "version": "x"}, "version"),
]


def test_the_daemon_names_the_wrong_argument_and_the_server_goes_on(daemon: Daemon) -> None:
    calls = [request("tools/call", name=name, arguments=given) for name, given, _ in WRONG]
    *answers, last = talk(daemon.env, *calls, request("ping"))
    assert [answer["result"]["isError"] for answer in answers] == [True] * len(WRONG)
    for answer, (name, given, named) in zip(answers, WRONG, strict=True):
        assert named in answer["result"]["content"][0]["text"], (name, given)
    assert last["result"] == {}


def test_a_question_of_blanks_and_an_unknown_argument_are_harmless(daemon: Daemon) -> None:
    blank = request("tools/call", name="recall", arguments={"query": " "})
    more = request("tools/call", name="recall", arguments={"query": "x", "colour": "blue"})
    for answer in talk(daemon.env, blank, more):
        assert answer["result"]["content"][0]["text"] == "No memory matches this."


def test_what_the_session_was_given_before_is_found_when_asked_for(daemon: Daemon) -> None:
    env = daemon.env | {"CLAUDE_CODE_SESSION_ID": "one", "CLAUDE_PROJECT_DIR": str(daemon.home)}
    save = {"text": "The staging server is called beech.", "type": "reference"}
    ask = request("tools/call", name="recall", arguments={"query": "what is staging called?"})
    _, *answers = talk(env, request("tools/call", name="remember", arguments=save), ask, ask)
    assert ["beech" in answer["result"]["content"][0]["text"] for answer in answers] == [True] * 2


def test_an_agent_that_goes_away_is_not_an_error(daemon: Daemon) -> None:
    with subprocess.Popen(
        [*COMMAND, "mcp"], stdin=-1, stdout=-1, stderr=-1, env=daemon.env
    ) as bridge:
        assert bridge.stdin is not None
        assert bridge.stdout is not None
        assert bridge.stderr is not None
        bridge.stdout.close()
        bridge.stdin.write(json.dumps(request("ping")).encode() + b"\n")
        bridge.stdin.close()
        assert bridge.stderr.read() == b""
    assert bridge.returncode == 0


def test_without_a_daemon_the_tools_say_what_to_type(daemon: Daemon, tmp_path: Path) -> None:
    env = daemon.env | {"MEMORYD_SOCKET": str(tmp_path / "none.sock")}
    call = request("tools/call", name="list_memories", arguments={})
    listed, answer = talk(env, request("tools/list"), call)
    assert len(listed["result"]["tools"]) == 5
    assert answer["result"]["isError"] is True
    assert "memoryd serve" in answer["result"]["content"][0]["text"]


def test_the_first_list_loads_nothing_that_takes_a_while(daemon: Daemon) -> None:
    program = (
        "import sys; sys.path.append(sys.argv[1]); from memoryd_client.mcp import server\n"
        "assert b'recall' in server.quick_json.dumps(server.result_of('tools/list', {}))\n"
        "slow = ('os', 'json', 're', 'typing', 'collections', 'enum', 'socket', 'pathlib')\n"
        "print([module for module in slow if module in sys.modules])"
    )
    command = [sys.executable, "-I", "-S", "-E", "-c", program, str(ROOT / "client")]
    done = subprocess.run(command, env=daemon.env, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
