"""A real editor, run headless, that plays a script against a real daemon.

The script prints lines that begin with `@@` and are JSON: `{"result": NAME, "value": ...}` is
something for the test to look at; `{"wish": NAME, "number": N}` asks for a change of the world,
after which the file `done-N` in the folder MEMORYD_TEST_FOLDER says that it has been made.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.test_extraction import Session, finished_run
from tests.support.running import ROOT, Daemon, make_home

CLIENTS = ROOT / "client"
MARK = "@@"
RUN_SECONDS = 100
STRANGER = 54321  # a user who is not this one; only root can give a file away
WAITS_IN_INBOX = "We use pnpm for everything in the web client."


def program(name: str, variable: str, package: str) -> str:
    """The editor's command; skips the test where there is none. The variable names another one."""
    found = os.environ.get(variable) or shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not installed (Debian: apt-get install {package})")
    return found


class World:
    """The daemon of a home, and what an editor's script may wish for."""

    def __init__(self, folder: Path) -> None:
        self.home = make_home(folder)
        self.daemon = Daemon(self.home)
        self.session = Session(self.home)
        self.project = Path(self.session.cwd)
        self.project.mkdir()
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        self.impostors: list[Impostor] = []

    def grant(self, wish: str) -> None:
        match wish:
            case "start":
                self.daemon.start()
            case "stop":
                self.daemon.stop()
            case "restart":
                self.daemon.stop()
                self.daemon.start()
            case "freeze":
                self.signal(signal.SIGSTOP)
            case "thaw":
                self.signal(signal.SIGCONT)
            case "say":
                finished_run(self.daemon, lambda: self.session.turn(WAITS_IN_INBOX, "Understood."))
            case "stranger":
                self.impostors.append(Impostor(self.scratch / "stranger.sock"))
                if os.geteuid() == 0:
                    os.chown(self.scratch / "stranger.sock", STRANGER, -1)
            case "impostor":
                self.impostors.append(Impostor(self.scratch / "impostor.sock"))
            case _:
                raise AssertionError(wish)

    def signal(self, number: int) -> None:
        assert self.daemon.process is not None
        self.daemon.process.send_signal(number)

    def end(self) -> None:
        self.daemon.end()
        for impostor in self.impostors:
            impostor.close()

    @property
    def env(self) -> dict[str, str]:
        """What the editor is started with; nothing of it leads out of the home."""
        return self.daemon.env | {
            "MEMORYD_TEST_FOLDER": str(self.scratch),
            "LC_ALL": "C.UTF-8",
            "TERM": "xterm-256color",
        }


class Impostor:
    """A program that listens like the daemon and answers with garbage."""

    def __init__(self, path: Path) -> None:
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        try:
            while True:
                line, _ = self._listener.accept()
                with line:
                    line.recv(65536)
                    line.sendall(b"\xff\x00{not json\nContent-Length: -5\r\n\r\n\n")
        except OSError:  # closed
            return

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def play(world: World, command: Sequence[str]) -> dict[str, Any]:
    """The results of a script, by their names; fails with all it printed if it did not finish."""
    process = subprocess.Popen(
        command,
        cwd=world.project,
        env=world.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        restore_signals=False,  # SIGPIPE stays ignored, as in an editor with a screen
    )
    deadline = threading.Timer(RUN_SECONDS, process.kill)
    deadline.start()
    results: dict[str, Any] = {}
    printed: list[str] = []
    try:
        assert process.stdout is not None
        for line in process.stdout:
            printed.append(line)
            if line.startswith(MARK):
                follow(world, json.loads(line.removeprefix(MARK)), results)
        code = process.wait()
    finally:
        deadline.cancel()
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
        world.end()
    assert code == 0, f"{code}: {''.join(printed)[-4000:]}"
    assert results.get("finished"), "".join(printed)[-4000:]
    return results


def follow(world: World, said: dict[str, Any], results: dict[str, Any]) -> None:
    if "wish" in said:
        world.grant(said["wish"])
        (world.scratch / f"done-{said['number']}").touch()
    else:
        results[said["result"]] = said["value"]
