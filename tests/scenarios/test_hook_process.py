"""The hook prints what the daemon answers, or nothing, within its deadline."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from memoryd_client import hook
from tests.support.scripted_daemon import Answer, Fault, Raw, Result, ScriptedDaemon, Silence

# Generous: the promise is 300 ms, and a busy machine may need seconds to start an interpreter.
PATIENCE_SECONDS = 10
PLAIN_FILE = (sys.executable, "-I", "-S", "-E", hook.__file__)
AS_COMMAND = (sys.executable, "-c", "from memoryd_client.entry import main; main()", "hook")
PAYLOAD: Mapping[str, object] = {"hook_event_name": "UserPromptSubmit", "prompt": "hé\n"}


@pytest.fixture
def path(home: Path) -> Path:
    return home / "run" / "memoryd.sock"


def run_hook(
    payload: bytes, command: Sequence[str] = PLAIN_FILE
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command, input=payload, capture_output=True, timeout=PATIENCE_SECONDS, check=False
    )


def assert_silent(done: subprocess.CompletedProcess[bytes]) -> None:
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("command", [PLAIN_FILE, AS_COMMAND])
def test_a_hook_prints_exactly_what_the_daemon_says(path: Path, command: Sequence[str]) -> None:
    text = 'two\nlines, "quotes", \\ and ünïcödé \U0001f9e0\n'
    with ScriptedDaemon(path, {"hook": Result({"stdout": text})}) as daemon:
        done = run_hook(json.dumps(PAYLOAD, indent=2).encode(), command)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == text
    assert daemon.asked("hook") == [PAYLOAD]


@pytest.mark.parametrize("command", [PLAIN_FILE, AS_COMMAND])
def test_a_hook_inside_a_client_of_memoryd_asks_nothing(
    path: Path, command: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A policy of the machine can force hooks on the client that does our own requests."""
    monkeypatch.setenv("MEMORYD_CHILD", "1")
    with ScriptedDaemon(path, {"hook": Result({"stdout": "again"})}) as daemon:
        assert_silent(run_hook(json.dumps(PAYLOAD).encode(), command))
        assert daemon.asked("hook") == []


SAYING_NOTHING: list[Answer] = [
    Result({"stdout": ""}),
    Result({}),
    Result(None),
    Result({"stdout": None}),
    Fault(-32603, 'internal "stdout":"error"'),
    Raw(b""),
    Raw(b"\n"),
    Raw(b"\x00\xff garbage\n"),
    Raw(b'{"jsonrpc":"2.0","id":1,"result":{"stdout":"half of an ans'),
    Raw(b'{"jsonrpc":"2.0","id":1,"result":{"stdout":"no end of line"}}'),
    Raw(b'{"jsonrpc":"2.0","id":1,"result":{"stdout":"bad \\q escape"}}\n'),
    Raw(b'{"jsonrpc":"2.0","id":1,"result":{"stdout":"bad \xff byte"}}\n'),
    Raw(b"x" * (hook.ANSWER_BYTES + 10)),
    Silence(),
]


@pytest.mark.parametrize("answer", SAYING_NOTHING, ids=lambda answer: repr(answer)[:60])
def test_a_hook_is_silent_without_a_whole_answer(path: Path, answer: Answer) -> None:
    with ScriptedDaemon(path, {"hook": answer}):
        assert_silent(run_hook(b"{}"))


@pytest.mark.parametrize("command", [PLAIN_FILE, AS_COMMAND])
def test_a_hook_is_silent_without_a_daemon(path: Path, command: Sequence[str]) -> None:
    assert_silent(run_hook(b"{}", command))


def test_a_hook_is_silent_when_the_socket_is_dead(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    assert_silent(run_hook(b"{}"))


@contextmanager
def stopped_server(path: Path) -> Iterator[None]:
    """A process that listens and was frozen, as a debugger or a full disk may freeze it."""
    code = (
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]);"
        "s.listen(100); print('listening', flush=True); s.accept()[0].recv(1)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"listening\n"
        process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            process.kill()


TYPED = b'{"prompt":"/memoryd:remember that we deploy on Tuesdays"}'


@pytest.mark.parametrize("payload", [b"{}", TYPED, b'{"prompt":"' + b"x" * 4_000_000 + b'"}'])
def test_a_hook_gives_up_on_a_frozen_daemon(path: Path, payload: bytes) -> None:
    with stopped_server(path):
        assert_silent(run_hook(payload))


def test_a_hook_gives_up_when_the_backlog_is_full(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(0)
        waiting = []
        try:
            while True:
                caller = socket.socket(socket.AF_UNIX)
                waiting.append(caller)
                caller.setblocking(False)
                caller.connect(str(path))
        except BlockingIOError:
            assert_silent(run_hook(b"{}"))
        finally:
            for caller in waiting:
                caller.close()


def test_a_hook_gives_up_when_its_input_never_ends(path: Path) -> None:
    with (
        ScriptedDaemon(path, {"hook": Result({"stdout": "too early"})}),
        subprocess.Popen(PLAIN_FILE, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"prompt": "still ')
        process.stdin.flush()
        assert process.wait(PATIENCE_SECONDS) == 0
        assert process.stdout.read() == b""


NO_REQUESTS = [
    b"",
    b"not json",
    b"[1]",
    b'"text"',
    b'{"a":"' + b"x" * hook.REQUEST_BYTES + b'"}',
]


@pytest.mark.parametrize("payload", NO_REQUESTS, ids=lambda payload: repr(payload[:10]))
def test_input_that_is_not_an_object_is_not_sent(path: Path, payload: bytes) -> None:
    with ScriptedDaemon(path, {"hook": Result({"stdout": "x"})}) as daemon:
        assert_silent(run_hook(payload))
    assert daemon.requests == []


def test_a_hook_is_silent_when_its_output_is_closed(path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with ScriptedDaemon(path, {"hook": Result({"stdout": "into the void"})}):
        done = subprocess.run(
            PLAIN_FILE,
            input=b"{}",
            stdout=writer,
            stderr=subprocess.PIPE,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a socket to another user")
def test_a_prompt_never_goes_to_another_users_socket(path: Path) -> None:
    with ScriptedDaemon(path, {"hook": Result({"stdout": "trust me"})}) as daemon:
        os.chown(path, 12345, 12345)
        assert_silent(run_hook(b"{}"))
        os.chown(path, 0, 0)
        os.chown(path.parent, 12345, 12345)
        assert_silent(run_hook(b"{}"))
    assert daemon.requests == []


def test_a_wrong_argument_does_not_fail(path: Path) -> None:
    """Exit code 2 of a hook would block the prompt."""
    assert_silent(run_hook(b"{}", (*AS_COMMAND, "--no-such-flag", "extra")))


@pytest.mark.parametrize("command", [PLAIN_FILE, AS_COMMAND])
def test_a_hook_loads_next_to_nothing(path: Path, command: Sequence[str]) -> None:
    python, *rest = command
    with ScriptedDaemon(path, {"hook": Result({"stdout": "line\n"})}):
        done = run_hook(b"{}", (python, "-X", "importtime", *rest))
    assert done.stdout == b"line\n"
    loaded = {line.rpartition(b"|")[2].strip() for line in done.stderr.splitlines()}
    assert b"_socket" in loaded
    heavy = {b"argparse", b"json", b"pathlib", b"re", b"socket", b"typing", b"enum", b"hashlib"}
    assert heavy.isdisjoint(loaded)
