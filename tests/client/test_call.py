"""A call ends in a result or in a kind of failure that says what to type next."""

import os
import socket
from pathlib import Path

import pytest

from memoryd_client.connection.call import ANSWER_BYTES, call, subscription
from memoryd_client.connection.failures import (
    DaemonError,
    Denied,
    NotRunning,
    ProtocolError,
    TimedOut,
)
from tests.support.scripted_daemon import (
    Answer,
    Fault,
    Raw,
    Result,
    ScriptedDaemon,
    Silence,
    Stream,
)


@pytest.fixture
def path(home: Path) -> Path:
    return home / "run" / "memoryd.sock"


def test_a_result_comes_back_whole(path: Path) -> None:
    result = {"text": "ü" * 300_000, "count": 3, "nested": {"list": [1, None, True]}}
    with ScriptedDaemon(path, {"context": Result(result)}) as daemon:
        assert call("context", {"cwd": "/x", "deep": [{"a": "é\n"}]}) == result
    assert daemon.asked("context") == [{"cwd": "/x", "deep": [{"a": "é\n"}]}]


def test_what_is_not_the_answer_is_passed_over(path: Path) -> None:
    said = b'{"jsonrpc":"2.0","method":"event","params":{}}\n{"jsonrpc":"2.0","id":7,"result":{}}\n'
    answer = Raw(said + b'{"jsonrpc":"2.0","id":1,"result":{"pid":5}}\n')
    with ScriptedDaemon(path, {"ping": answer}):
        assert call("ping") == {"pid": 5}


def test_without_a_listener_it_is_not_running(path: Path) -> None:
    with pytest.raises(NotRunning) as caught:
        call("ping")
    assert str(path) in caught.value.message
    assert "memoryd serve" in caught.value.hint
    assert caught.value.exit_code == 69


def test_a_dead_socket_is_not_running(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with pytest.raises(NotRunning):
        call("ping")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a socket to another user")
def test_another_users_socket_is_not_used(path: Path) -> None:
    with ScriptedDaemon(path, {"ping": Result({})}) as daemon:
        os.chown(path, 12345, 12345)
        with pytest.raises(Denied) as caught:
            call("ping")
    assert "MEMORYD_SOCKET" in caught.value.hint
    assert daemon.requests == []


def test_a_silent_daemon_times_out(path: Path) -> None:
    with ScriptedDaemon(path, {"ping": Silence()}), pytest.raises(TimedOut) as caught:
        call("ping", timeout_seconds=0.05)
    assert "memoryd doctor" in caught.value.hint


def test_a_full_backlog_times_out_instead_of_failing_oddly(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as first:
        listener.bind(str(path))
        listener.listen(0)
        first.connect(str(path))
        with pytest.raises(TimedOut):
            call("ping", timeout_seconds=0.05)


def test_a_daemon_that_refuses_is_quoted(path: Path) -> None:
    fault = Fault(-32001, "there is no memory x.md", "not-found", "memoryd list shows them")
    with ScriptedDaemon(path, {"memory/get": fault}), pytest.raises(DaemonError) as caught:
        call("memory/get", {"cwd": "/", "path": "x.md"})
    error = caught.value
    assert (error.code, error.kind) == (-32001, "not-found")
    assert (error.message, error.hint) == ("there is no memory x.md", "memoryd list shows them")


NO_ANSWERS: list[Answer] = [
    Raw(b""),
    Raw(b"garbage\n"),
    Raw(b"\xff\xfe\n"),
    Raw(b"[1, 2]\n"),
    Raw(b'{"jsonrpc":"2.0","id":1,"result":'),
    Raw(b"[" * 100_000 + b"\n"),
    Raw(b'{"jsonrpc":"2.0","id":2,"result":{}}\n'),
]


@pytest.mark.parametrize("answer", NO_ANSWERS, ids=lambda answer: repr(answer)[:50])
def test_an_answer_that_makes_no_sense_is_a_protocol_error(path: Path, answer: Answer) -> None:
    with ScriptedDaemon(path, {"ping": answer}), pytest.raises(ProtocolError) as caught:
        call("ping")
    assert "memoryd doctor" in caught.value.hint


def test_an_answer_without_an_end_is_cut_off(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ANSWER_BYTES >= 8 * 1024 * 1024
    monkeypatch.setattr("memoryd_client.connection.call.ANSWER_BYTES", 100_000)
    with ScriptedDaemon(path, {"ping": Raw(b"x" * 300_000)}), pytest.raises(ProtocolError):
        call("ping")


ODD_ERRORS = [
    b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"bad"}}\n',
    b'{"jsonrpc":"2.0","id":1,"error":null}\n',
    b'{"jsonrpc":"2.0","id":1,"error":{"code":"x","message":3,"data":[]}}\n',
]


@pytest.mark.parametrize("sent", ODD_ERRORS)
def test_an_error_of_any_shape_is_the_daemons(path: Path, sent: bytes) -> None:
    with ScriptedDaemon(path, {"ping": Raw(sent)}), pytest.raises(DaemonError) as caught:
        call("ping")
    assert caught.value.message


def test_a_subscription_yields_events_until_the_daemon_ends_it(path: Path) -> None:
    events = ({"kind": "dream.phase", "phase": "orient"}, {"kind": "memory.saved", "path": "a.md"})
    with (
        ScriptedDaemon(path, {"events/subscribe": Stream(events)}) as daemon,
        subscription(["dream.phase"], "/project") as happening,
    ):
        found = list(happening)
    assert found == list(events)
    assert daemon.asked("events/subscribe") == [{"kinds": ["dream.phase"], "cwd": "/project"}]


def test_a_subscription_that_is_refused_says_so(path: Path) -> None:
    with ScriptedDaemon(path, {}), pytest.raises(DaemonError), subscription(["dream.phase"]):
        pass
