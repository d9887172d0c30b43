"""A daemon with few file handles refuses clients and goes on."""

import shlex
import socket
from contextlib import ExitStack
from pathlib import Path

from tests.support.running import WAIT_SECONDS, Daemon


class PoorDaemon(Daemon):
    """`memoryd serve` that may open 64 files."""

    serve_command = ("sh", "-c", f"ulimit -n 64; exec {shlex.join(Daemon.serve_command)}")


def test_a_hundred_clients_do_not_stop_a_daemon_with_64_handles(home: Path) -> None:
    cwd = str(home / "app")
    daemon = PoorDaemon(home).start()
    try:
        with daemon.peer() as peer, ExitStack() as stack:
            assert peer.call("ping")
            for _ in range(100):
                one = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
                one.settimeout(WAIT_SECONDS)
                one.connect(daemon.socket)
            new = {"name": "Use tabs", "description": "d", "type": "user", "body": "Tabs.\n"}
            assert peer.call("memory/save", cwd=cwd, **new)["version"] == 1
            assert b"too many clients" in one.recv(1000)
        with daemon.peer() as peer:
            assert [found["name"] for found in peer.call("memory/list", cwd=cwd)["memories"]] == [
                "Use tabs"
            ]
    finally:
        daemon.end()
