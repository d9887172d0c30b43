"""The contract of the socket: every peer gets its answer, and a hostile one harms only itself."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
import tracemalloc
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest

from memoryd.api.rules.envelope import RequestError
from memoryd.api.rules.framing import MESSAGE_LIMIT_BYTES
from memoryd.api.rules.protocol import Params
from memoryd.api.rules.requests import BATCH_ANSWER_BYTES, calls_in, decoded
from memoryd.api.server import Server
from memoryd.api.subscriptions import Subscriptions
from memoryd.daemon.listener import DaemonListener
from tests.support.running import WAIT_SECONDS, Daemon, Peer


@pytest.mark.parametrize("framing", ["lines", "headers"])
def test_both_framings_are_answered(
    shared_daemon: Daemon, framing: Literal["lines", "headers"]
) -> None:
    with shared_daemon.peer(framing) as peer:
        pong = peer.call("ping")
        assert shared_daemon.process is not None
        assert pong["pid"] == shared_daemon.process.pid
        assert set(pong) >= {"version", "pid", "uptime_seconds"}


@pytest.mark.parametrize("id_", [0, -7, 1.5, "", "abc", "é", None, 2**53], ids=repr)
def test_every_legal_id_comes_back(shared_daemon: Daemon, id_: Any) -> None:
    with shared_daemon.peer() as peer:
        peer.send({"jsonrpc": "2.0", "id": id_, "method": "ping"})
        answer = peer.receive()
        assert answer["id"] == id_
        assert "result" in answer


def test_params_null_and_absent_and_unknown_keys_are_fine(shared_daemon: Daemon) -> None:
    with shared_daemon.peer() as peer:
        for extra in ({"params": None}, {}, {"params": {"new": 1}, "extra": 2}):
            peer.send({"jsonrpc": "2.0", "id": 1, "method": "ping", **extra})
            assert "result" in peer.receive()


@pytest.mark.parametrize(
    ("text", "code", "id_"),
    [
        (b"{nonsense", -32700, None),
        (b'{"jsonrpc":"2.0","id":3,"method":"\xff"}', -32700, 3),
        (b"[" * 100_000, -32700, None),
        (b'{"params": ' + b"[" * 100_000, -32700, None),
        (b"{}", -32600, None),
        (b"[]", -32600, None),
        (b'{"jsonrpc":"1.0","id":4,"method":"ping"}', -32600, 4),
        (b'{"jsonrpc":"2.0","id":5,"method":7}', -32600, 5),
        (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":6,"method":"no/such"}', -32601, 6),
        (b'{"jsonrpc":"2.0","id":7,"method":"memory/get","params":{"cwd":1}}', -32602, 7),
        (b'{"jsonrpc":"2.0","id":8,"method":"memory/get","params":[1]}', -32602, 8),
        (b'{"jsonrpc":"2.0","id":9,"method":"memory/list","params":{"cwd":"rel"}}', -32602, 9),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_bad_requests_get_the_standards_codes_and_keep_their_id(
    shared_daemon: Daemon, text: bytes, code: int, id_: Any
) -> None:
    with shared_daemon.peer() as peer:
        peer.send(text)
        answer = peer.receive()
        assert (answer["error"]["code"], answer["id"]) == (code, id_)
        assert answer["error"]["data"]["kind"]
        assert "result" in peer.ask("ping")


def test_our_own_errors_carry_kind_and_hint(shared_daemon: Daemon, home: Path) -> None:
    with shared_daemon.peer() as peer:
        error = peer.ask("memory/get", cwd=str(home), path="none.md")["error"]
        assert error["code"] == -32001
        assert error["data"] == {"kind": "not-found", "hint": "memoryd list shows them"}


def test_a_lone_surrogate_in_a_request_costs_that_character_alone(
    shared_daemon: Daemon, home: Path
) -> None:
    with shared_daemon.peer() as peer:
        text = json.dumps({"cwd": str(home), "path": "x"})[:-2] + '\\ud800"}'
        peer.send(b'{"jsonrpc":"2.0","id":1,"method":"memory/get","params":' + text.encode() + b"}")
        assert peer.receive()["error"]["data"]["kind"] == "not-found"


def test_a_batch_is_answered_whole_and_its_notifications_are_silent(shared_daemon: Daemon) -> None:
    ping = {"jsonrpc": "2.0", "method": "ping"}
    with shared_daemon.peer() as peer:
        peer.send([ping | {"id": 1}, ping, 5, ping | {"id": 2}])
        answers = peer.receive()
        assert [answer["id"] for answer in answers] == [1, None, 2]
        peer.send([ping, ping])
        peer.send(ping)
        assert peer.call("ping")["pid"]


def test_a_batch_of_ten_thousand_is_answered(shared_daemon: Daemon) -> None:
    with shared_daemon.peer() as peer:
        peer.send([{"jsonrpc": "2.0", "id": n, "method": "ping"} for n in range(10_000)])
        assert len(peer.receive()) == 10_000


async def test_the_answers_of_a_batch_are_limited_and_the_rest_of_its_calls_refused(
    home: Path,
) -> None:
    path = str(home / "run/memoryd.sock")
    asked = 0

    async def root_of(cwd: str) -> str:
        return cwd

    async def much(_: Params) -> object:
        nonlocal asked
        asked += 1
        return "x" * (BATCH_ANSWER_BYTES // 8)

    with DaemonListener(path, []) as door:
        async with anyio.create_task_group() as tasks:
            await door.open(Server(much, Subscriptions(), root_of), tasks)
            async with await anyio.connect_unix(path) as peer:
                calls = [{"jsonrpc": "2.0", "id": n, "method": "ping"} for n in range(100)]
                await peer.send(json.dumps(calls).encode() + b"\n")
                received = bytearray()
                with anyio.fail_after(WAIT_SECONDS):
                    while not received.endswith(b"\n"):
                        received += await peer.receive(1 << 20)
                tasks.cancel_scope.cancel()
    answers = json.loads(received)
    assert [answer["id"] for answer in answers] == list(range(100))
    assert asked == 8
    assert "send it in parts" in answers[8]["error"]["message"]


def test_there_is_room_for_a_hundred_subscribers_and_a_place_is_free_again(daemon: Daemon) -> None:
    daemon.start()
    with ExitStack() as stack:
        peers = [stack.enter_context(daemon.peer()) for _ in range(101)]
        for peer in peers[:100]:
            peer.call("events/subscribe")
        refused = peers[100].ask("events/subscribe")["error"]
        assert refused["message"] == "there are 100 subscribers already"
        assert peers[100].call("ping")["pid"]


def test_a_longer_batch_is_refused_whole(shared_daemon: Daemon) -> None:
    with shared_daemon.peer() as peer:
        peer.send([{"jsonrpc": "2.0", "id": n, "method": "ping"} for n in range(20_000)])
        error = peer.receive()["error"]
        assert error["code"] == -32600
        assert error["message"] == "a batch may have at most 10000 calls"
        assert peer.call("ping")


@pytest.mark.parametrize(
    ("item", "words"), [(b"1", "got `int` - at `$[0]`"), (b"{}", "at most 10000 calls")]
)
def test_a_long_batch_is_refused_before_it_is_built(item: bytes, words: str) -> None:
    text = b"[" + b",".join([item] * (MESSAGE_LIMIT_BYTES // 4)) + b"]"
    tracemalloc.start()
    with pytest.raises(RequestError, match=re.escape(words)):
        calls_in(text)
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most_bytes < len(text)


def test_a_lone_surrogate_is_replaced_only_in_short_texts() -> None:
    start, end = b'{"jsonrpc":"2.0","method":"ping","params":{"x":"', b'\\ud800"}}'
    assert b'"?"' in bytes(decoded(start + end).params)
    with pytest.raises(RequestError, match="this is not JSON"):
        decoded(start + b"x" * MESSAGE_LIMIT_BYTES + end)


PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
NOTICE = json.dumps({"jsonrpc": "2.0", "method": "ping"}).encode()


@pytest.mark.parametrize(
    ("calls", "text"),
    [
        (10_000, b"[" + b",".join([PING] * 10_000) + b"]\n"),
        (100, (PING + b"\n") * 100),
        (100, (NOTICE + b"\n") * 100),
    ],
    ids=["batch", "lines", "notifications"],
)
async def test_a_ping_is_answered_while_another_peers_calls_are(
    home: Path, calls: int, text: bytes
) -> None:
    path = str(home / "run/memoryd.sock")
    began, answered = anyio.Event(), 0

    async def root_of(cwd: str) -> str:
        return cwd

    async def pong(_: Params) -> object:
        nonlocal answered
        answered += 1
        began.set()
        return answered

    with DaemonListener(path, []) as door:
        async with anyio.create_task_group() as tasks:
            await door.open(Server(pong, Subscriptions(), root_of), tasks)
            async with (
                await anyio.connect_unix(path) as busy,
                await anyio.connect_unix(path) as one,
            ):
                tasks.start_soon(busy.send, text)
                with anyio.fail_after(WAIT_SECONDS):
                    await began.wait()
                    await one.send(PING + b"\n")
                    assert json.loads(await one.receive())["result"] < calls
                tasks.cancel_scope.cancel()


def test_memories_can_be_saved_listed_read_and_forgotten(shared_daemon: Daemon, home: Path) -> None:
    cwd = str(home / "src/app")
    Path(cwd).mkdir(parents=True)
    subprocess.run(["git", "init", "-q", cwd], check=True)
    with shared_daemon.peer() as peer:
        new = {"name": "Use tabs", "description": "d", "type": "feedback", "body": "Tabs.\n"}
        saved = peer.call("memory/save", cwd=cwd, **new)
        slug = cwd.replace("/", "-").replace(".", "-").replace("_", "-")
        memory = shared_daemon.home / f".claude/projects/{slug}/memory"
        assert saved["path"] == str(memory / "feedback_use_tabs.md")
        (listed,) = peer.call("memory/list", cwd=cwd)["memories"]
        assert (listed["name"], listed["type"], listed["scope"]) == (
            "Use tabs",
            "feedback",
            "project",
        )
        sub = str(Path(cwd) / "deeper")
        Path(sub).mkdir()
        for named in ("feedback_use_tabs.md", "feedback_use_tabs", "use tabs", saved["path"]):
            got = peer.call("memory/get", cwd=sub, path=named)
            assert "Tabs." in got["content"]
            assert got["version"] == saved["version"]
        own = peer.call("memory/save", cwd=cwd, **(new | {"scope": "user", "type": "user"}))
        everywhere = [one["path"] for one in peer.call("memory/list", cwd=str(home))["memories"]]
        assert own["path"] in everywhere
        assert saved["path"] not in everywhere
        listed_here = [one["path"] for one in peer.call("memory/list", cwd=cwd)["memories"]]
        assert {own["path"], saved["path"]} <= set(listed_here)
        peer.call("memory/forget", cwd=cwd, path=own["path"])
        assert peer.call("memory/forget", cwd=cwd, path="feedback_use_tabs.md")["version"]
        assert peer.ask("memory/get", cwd=cwd, path="feedback_use_tabs.md")["error"]


def test_status_says_what_the_contract_promises(shared_daemon: Daemon, home: Path) -> None:
    with shared_daemon.peer() as peer:
        status = peer.call("status", cwd=str(home))
        assert status["memory"]["enabled"] is True
        assert set(status["transcripts"]) >= {"watched", "behind"}
        assert set(status["queue"]) >= {"waiting", "running"}
        assert set(status["spending"]) >= {"today_usd", "month_usd", "paused"}
        assert status["errors"] == []
        peer.call("switch", cwd=str(home), enabled=False)
        assert peer.call("status", cwd=str(home))["memory"]["enabled"] is False
        peer.call("switch", cwd=str(home), enabled=True)
        assert peer.call("status")["memory"]["enabled"] is True


def test_events_reach_those_who_asked_for_their_kind(shared_daemon: Daemon, home: Path) -> None:
    new = {"name": "N", "description": "d", "type": "user", "body": "b"}
    with (
        shared_daemon.peer() as saver,
        shared_daemon.peer("headers") as one,
        shared_daemon.peer() as other,
    ):
        one.call("events/subscribe", kinds=["memory/saved"], cwd=str(home))
        other.call("events/subscribe", kinds=["memory/forgotten"])
        saved = saver.call("memory/save", cwd=str(home), **new)
        saver.call("memory/forget", cwd=str(home), path=saved["path"])
        event = one.next_event()
        assert (event["kind"], event["path"]) == ("memory/saved", saved["path"])
        assert "b" not in event.values()
        assert other.next_event()["kind"] == "memory/forgotten"


@pytest.mark.parametrize(
    ("kind", "nearest"),
    [("dream/finish", "dream/finished"), ("memory.saved", "memory/saved"), ("", "")],
)
def test_an_unknown_event_kind_is_refused_with_the_nearest_one(
    shared_daemon: Daemon, kind: str, nearest: str
) -> None:
    with shared_daemon.peer() as peer:
        error = peer.ask("events/subscribe", kinds=["memory/saved", kind])["error"]
    assert (error["code"], error["data"]["kind"]) == (-32602, "invalid-params")
    assert f"{kind!r}; did you mean {nearest}" in error["message"]


def test_a_subscriber_that_never_reads_is_cut_off_and_delays_no_one(
    shared_daemon: Daemon, home: Path
) -> None:
    with shared_daemon.peer() as deaf, shared_daemon.peer() as busy:
        deaf.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        deaf.call("events/subscribe")
        for number in range(1500):
            saved = busy.call("switch", cwd=str(home / f"{number}"), enabled=True)
            assert saved == {"enabled": True}
        new = {"description": "d" * 2000, "type": "user", "body": "b" * 2000}
        for number in range(40):
            busy.call("memory/save", cwd=str(home), name=f"n{number}", **new)


def test_garbage_gets_an_error_and_the_connection_is_closed(shared_daemon: Daemon) -> None:
    with shared_daemon.peer("headers") as peer:
        peer.socket.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = peer.receive()
        assert answer["error"]["code"] == -32600
        assert peer.receive() is None


def test_a_message_without_end_is_refused_at_its_limit(shared_daemon: Daemon) -> None:
    with shared_daemon.peer() as peer:
        sent = 0
        chunk = b"{" + b" " * 65535
        try:
            for _ in range(1024):
                peer.socket.sendall(chunk)
                sent += len(chunk)
        except OSError:
            pass
        assert sent < 64 * 1024 * 1024
    with shared_daemon.peer() as honest:
        assert honest.call("ping")


def test_a_thousand_clients_at_once_are_all_answered(shared_daemon: Daemon) -> None:
    peers = [shared_daemon.peer() for _ in range(1000)]
    try:
        for peer in peers:
            peer.send({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        assert all("result" in peer.receive() for peer in peers)
    finally:
        for peer in peers:
            peer.__exit__(None, None, None)


def test_half_requests_of_many_do_not_hold_up_an_honest_one(shared_daemon: Daemon) -> None:
    slow = [shared_daemon.peer() for _ in range(200)]
    try:
        for peer in slow:
            peer.socket.sendall(b'{"jsonrpc"')
        with shared_daemon.peer() as honest:
            for _ in range(50):
                assert honest.call("ping")
    finally:
        for peer in slow:
            peer.__exit__(None, None, None)


def test_a_peer_that_vanishes_in_mid_request_leaves_no_trace(shared_daemon: Daemon) -> None:
    for _ in range(50):
        with shared_daemon.peer() as peer:
            peer.send({"jsonrpc": "2.0", "id": 1, "method": "status"})
    with shared_daemon.peer() as honest:
        assert honest.call("ping")
    assert [line for line in shared_daemon.lines() if line["level"] == "error"] == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_is_closed_before_a_byte_is_read(daemon: Daemon) -> None:
    daemon.start()
    path = Path(daemon.socket)
    for folder in [path, *path.parents]:
        if folder != Path("/") and folder.stat().st_uid == os.getuid():
            folder.chmod(0o777 if folder != path else 0o666)
    program = (
        "import os, socket, sys; os.setuid(65534)\n"
        "s = socket.socket(socket.AF_UNIX); s.settimeout(10); s.connect(sys.argv[1])\n"
        'try:\n    s.sendall(b\'{"jsonrpc":"2.0","id":1,"method":"ping"}\\n\')\n'
        "    data = s.recv(100)\nexcept (BrokenPipeError, ConnectionResetError):\n    data = b''\n"
        "sys.exit(3 if data else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program, daemon.socket], check=False, timeout=60)
    assert done.returncode == 0
    assert any(line["event"] == "peer-refused" for line in daemon.lines())


def test_it_listens_on_no_tcp_port(shared_daemon: Daemon) -> None:
    listening = Path("/proc/net/tcp")
    if not listening.exists():
        pytest.skip("no /proc to look at")
    assert shared_daemon.process is not None
    own = set()
    for handle in Path(f"/proc/{shared_daemon.process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # it may be closed while we look
            own.add(str(handle.readlink()))
    for table in ("tcp", "tcp6"):
        for row in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            assert f"socket:[{row.split()[9]}]" not in own


def test_pipelined_requests_are_answered_in_order(shared_daemon: Daemon) -> None:
    with shared_daemon.peer() as peer:
        peer.socket.sendall(
            b"".join(
                json.dumps({"jsonrpc": "2.0", "id": n, "method": "ping"}).encode() + b"\n"
                for n in range(500)
            )
        )
        assert [peer.receive()["id"] for _ in range(500)] == list(range(500))


def test_many_at_once_saving_lose_nothing(shared_daemon: Daemon, home: Path) -> None:
    new = {"description": "d", "type": "project", "body": "b", "name": "same"}

    def save() -> None:
        with Peer(shared_daemon.socket) as peer:
            for _ in range(5):
                peer.call("memory/save", cwd=str(home), **new)

    threads = [threading.Thread(target=save) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with shared_daemon.peer() as peer:
        saved = peer.call("memory/list", cwd=str(home), scope="project")["memories"]
        assert len(saved) == 40
        one = peer.call("memory/list", cwd=str(home), scope="project")["memories"][0]
    index = (Path(one["path"]).parent / "MEMORY.md").read_text()
    assert len(index.splitlines()) == 40
