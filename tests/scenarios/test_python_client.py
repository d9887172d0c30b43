"""The Python client against a real daemon: restarted, absent, slow, and shared."""

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd_client.async_memory import AsyncMemory
from memoryd_client.memory import DaemonError, Memory, NotRunning, ProtocolError, TimedOut
from tests.support.running import ROOT, Daemon

DEPLOY = "We deploy on Tuesdays, from the release branch."


@pytest.fixture
def running(daemon: Daemon, project: Path) -> Daemon:
    return daemon.start()


@pytest.fixture
def shared(shared_daemon: Daemon, project: Path, monkeypatch: pytest.MonkeyPatch) -> Daemon:
    monkeypatch.setenv("MEMORYD_SOCKET", shared_daemon.socket)
    return shared_daemon


@pytest.fixture
def listener(home: Path) -> Iterator[socket.socket]:
    """Listens where the daemon would, and answers as a test tells it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as made:
        made.bind(str(home / "run/memoryd.sock"))
        made.listen()
        made.settimeout(60)
        yield made


def restart(daemon: Daemon) -> None:
    daemon.stop()
    daemon.start()


def test_a_restart_between_two_questions_is_not_noticed(running: Daemon) -> None:
    with Memory() as memory:
        path = memory.remember(DEPLOY)["path"]
        before = memory.ping()["pid"]
        restart(running)
        assert memory.recall("when do we deploy?")["memories"][0]["path"] == path
        assert memory.ping()["pid"] != before


def test_events_go_on_after_a_restart_and_say_that_some_may_be_missing(running: Daemon) -> None:
    with Memory() as memory, memory.events("memory/saved", "daemon/stopping") as events:
        restart(running)
        assert next(events)["kind"] == "daemon/stopping"
        assert next(events)["kind"] == "client/reconnected"
        memory.remember(DEPLOY)
        assert next(events)["kind"] == "memory/saved"
    assert list(events) == []


def test_the_same_holds_for_asyncio(running: Daemon) -> None:
    async def talk() -> list[str]:
        kinds: list[str] = []
        async with (
            AsyncMemory() as memory,
            memory.events("memory/saved", "daemon/stopping") as events,
        ):
            first = await memory.ping()
            await asyncio.to_thread(restart, running)
            assert (await memory.ping())["pid"] != first["pid"]
            kinds += [(await anext(events))["kind"], (await anext(events))["kind"]]
            await memory.remember(DEPLOY)
            async for event in events:
                kinds.append(event["kind"])
                events.close()
        return kinds

    assert asyncio.run(talk()) == ["daemon/stopping", "client/reconnected", "memory/saved"]


def test_tasks_and_threads_share_one(shared: Daemon) -> None:
    async def many() -> set[int]:
        async with AsyncMemory() as memory:
            answers = await asyncio.gather(*(memory.ping() for _ in range(8)))
            return {one["pid"] for one in answers}

    assert shared.process is not None
    assert asyncio.run(many()) == {shared.process.pid}
    found: set[int] = set()
    with Memory() as memory:
        threads = [
            threading.Thread(target=lambda: found.add(memory.ping()["pid"])) for _ in range(8)
        ]
        for one in threads:
            one.start()
        for one in threads:
            one.join(60)
    assert found == {shared.process.pid}


def test_an_absent_daemon_is_one_line_that_says_what_to_type(home: Path) -> None:
    with pytest.raises(NotRunning) as caught:
        Memory(home).recall("anything")
    line = f"the daemon is not running: nothing listens on {home}/run/memoryd.sock; start it with "
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)
    assert caught.value.kind == "not-running"
    with pytest.raises(NotRunning):
        Memory(home).events()
    with pytest.raises(NotRunning):
        asyncio.run(AsyncMemory(home).ping())


def test_a_refusal_has_its_kind_its_code_and_a_hint(shared: Daemon) -> None:
    with Memory() as memory:
        with pytest.raises(DaemonError) as caught:
            memory.get("nothing_like_this.md")
        assert (caught.value.kind, caught.value.code) == ("not-found", -32001)
        assert caught.value.hint
        assert memory.ping()["version"]


def test_an_answer_that_comes_too_late_is_not_taken_for_the_next_one(
    listener: socket.socket,
) -> None:
    def serve() -> None:
        slow, _ = listener.accept()
        slow.recv(4096)
        quick, _ = listener.accept()
        quick.recv(4096)
        slow.close()
        quick.sendall(b'{"jsonrpc":"2.0","id":1,"result":{"pid":2}}\n')
        quick.close()

    server = threading.Thread(target=serve)
    server.start()
    memory = Memory("/", timeout_seconds=0.2)
    with pytest.raises(TimedOut):
        memory.ping()
    memory.timeout_seconds = 60
    assert memory.ping()["pid"] == 2
    memory.close()
    server.join(60)


@pytest.mark.parametrize("answer", [b"", b"not JSON\n", b"[]\n", b'{"jsonrpc":"2.0","id":1'])
def test_garbage_is_a_failure_and_not_asked_twice(listener: socket.socket, answer: bytes) -> None:
    asked: list[bytes] = []

    def serve() -> None:
        for _ in range(2):
            peer, _ = listener.accept()
            with peer:
                asked.append(peer.recv(4096))
                peer.sendall(answer)

    server = threading.Thread(target=serve)
    server.start()
    with pytest.raises(ProtocolError):
        Memory("/").forget("a.md")
    with pytest.raises(ProtocolError):
        asyncio.run(AsyncMemory("/").forget("a.md"))
    server.join(60)
    assert [one.count(b"memory/forget") for one in asked] == [1, 1]


def test_a_cancelled_question_does_not_spoil_the_next(listener: socket.socket) -> None:
    def serve() -> None:
        first, _ = listener.accept()
        first.recv(4096)
        second, _ = listener.accept()
        with first, second:
            second.recv(4096)
            second.sendall(b'{"jsonrpc":"2.0","id":1,"result":{"pid":2}}\n')

    async def talk() -> int:
        async with AsyncMemory("/") as memory:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await memory.ping()
            return (await memory.ping())["pid"]

    server = threading.Thread(target=serve)
    server.start()
    assert asyncio.run(talk()) == 2
    server.join(60)


def test_neither_the_command_nor_a_hook_loads_the_library() -> None:
    look = (
        "import sys; import memoryd_client.entry, memoryd_client.cli.main, memoryd_client.hook;"
        "print([one for one in sys.modules if 'library' in one or 'asyncio' in one])"
    )
    done = subprocess.run(
        [sys.executable, "-c", look],
        env={"PYTHONPATH": str(ROOT / "client")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"
