"""Plays a page: runs the commands in its console blocks and compares their output with the page.

- A `console` block has commands after `$ ` and what they print below them. All commands of a page
  run one after the other in one throwaway home; `cd` holds for what follows.
- An `agent` block is a conversation with a coding agent, `you:` and `agent:` by turns. It is played
  as a session of the agent: a transcript in the folder of the project that the page is in.
- Blocks in other languages are ignored.

`python -m tests.support.walkthrough PAGE...` writes what was really printed into the pages.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from memoryd_client.demo.session import Session
from tests.support.running import COMMAND, ROOT, Peer, environment, make_home

WAIT_SECONDS = 30.0
BLOCK = re.compile(r"^```(console|agent)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TURN = re.compile(r"^you: (.*?)^agent: (.*?)(?=^you: |\Z)", re.MULTILINE | re.DOTALL)
USER = "you"


class Player:
    """A home, a shell that remembers its folder, and an agent that can be talked to."""

    def __init__(self, folder: Path) -> None:
        self.home = make_home(folder)
        self.cwd = self.home
        self.env = environment(self.home) | {
            "PYTHONPATH": f"{ROOT}:{ROOT / 'client'}",
            "PATH": f"{self._command()}:{os.environ['PATH']}",
            "USER": USER,
        }
        self._socket = self.home / "run" / "memoryd.sock"
        self._background: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in self._background:
            process.terminate()
            process.wait(WAIT_SECONDS)

    def play(self, page: str) -> str:
        """The page with what its commands really print."""
        return BLOCK.sub(self._block, page)

    def _command(self) -> Path:
        """A `memoryd` that is the one under test, whatever else is installed."""
        folder = self.home / ".local" / "bin"
        folder.mkdir(parents=True)
        interpreter, option, program = COMMAND
        script = f"#!/bin/sh\nexec '{interpreter}' {option} '{program}' \"$@\"\n"
        (folder / "memoryd").write_text(script, encoding="utf-8")
        (folder / "memoryd").chmod(0o700)
        return folder

    def _block(self, found: re.Match[str]) -> str:
        language, content = found.groups()
        if language == "agent":
            self._converse(content)
            return found[0]
        shown = "".join(f"$ {command}\n{self._run(command)}" for command in commands_in(content))
        return f"```console\n{shown}```"

    def _run(self, command: str) -> str:
        if command.endswith("&"):
            self._begin(command.removesuffix("&"))
            return ""
        done = subprocess.run(
            ["bash", "-c", f"{command}\nprintf '\\0%s' \"$PWD\""],
            env=self.env,
            cwd=self.cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=WAIT_SECONDS,
            check=False,
        )
        said, _, folder = done.stdout.partition("\0")
        self.cwd = Path(folder)
        return as_shown(said, self.home)

    def _begin(self, command: str) -> None:
        self._background.append(
            subprocess.Popen(
                ["bash", "-c", f"exec {command}"],
                env=self.env,
                cwd=self.cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
        self._until(self._socket.exists, "the daemon's socket")
        with Peer(str(self._socket)) as peer:  # what is written before its first answer is old
            peer.call("status")

    def _converse(self, content: str) -> None:
        """One session for each block; returns when its turns are read and extracted."""
        session = Session(self.home / ".claude", self.cwd)
        for said, answer in TURN.findall(content):
            session.say(" ".join(said.split()), " ".join(answer.split()), context_tokens=12_000)
        if not self._socket.exists():  # a session from before memoryd
            return
        with Peer(str(self._socket)) as peer:
            self._until(lambda: is_worked_off(peer, session), "the end of the extraction")

    def _until(self, is_so: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while not is_so():
            assert time.monotonic() < deadline, f"gave up waiting for {what}"
            time.sleep(0.05)


def is_worked_off(peer: Peer, session: Session) -> bool:
    """Whether every line was read and every turn was extracted."""
    status = peer.call("status")
    waiting = status["queue"]["waiting"] + status["queue"]["running"]
    listed = peer.call("session/list", cwd=str(session.project))["sessions"]
    is_known = any(one["session_id"] == session.session_id for one in listed)
    return is_known and not waiting and not status["transcripts"]["behind"]


def commands_in(block: str) -> list[str]:
    """The commands of a console block; one that ends in a backslash goes on in the next line."""
    joined = block.replace("\\\n", "\\\0")
    found = re.findall(r"^\$ (.*)$", joined, re.MULTILINE)
    return [command.replace("\\\0", "\\\n") for command in found]


def as_shown(text: str, home: Path) -> str:
    """The text with the paths of an ordinary home."""
    slug = re.sub(r"[^A-Za-z0-9]", "-", str(home))
    runtime = text.replace(f"{home}/run/", "/run/user/1000/")
    return runtime.replace(str(home), "~").replace(slug, f"-home-{USER}")


# What differs from run to run and from machine to machine, and stands for any of its kind.
VARYING = (
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?", "TIME"),
    (r"\b\d\d:\d\d\b", "TIME"),
    (r"\d{4}-\d\d-\d\d", "DATE"),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "ID"),
    (r"\b[0-9a-f]{8}\b", "ID"),
    (r"\bprocess \d+", "process N"),
    (r"\bup (less than a second|\d+ \w+)", "up N"),
    (r"\b(just now|\d+ seconds ago)", "AGO"),
    (r"\b(seconds|ms)=[\d.]+", r"\1=N"),
    (r"\b[\d.]+ (ms|s|bytes|characters)\b", r"N \1"),
    (r"\b[\d.]+k tokens\b", "N tokens"),
    (r"\b\d\.\d\d\b", "N"),
    (r"\bmemoryd \d+\.\d+\.\d+", "memoryd VERSION"),
)


def normalised(text: str) -> list[str]:
    for pattern, kind in VARYING:
        text = re.sub(pattern, kind, text)
    return [re.sub(r" +", " ", line).rstrip() for line in text.splitlines()]


def played(page: Path) -> str:
    with (
        tempfile.TemporaryDirectory(prefix="memoryd-page-") as folder,
        Player(Path(folder)) as player,
    ):
        return player.play(page.read_text(encoding="utf-8"))


def rewritten(names: list[str]) -> Iterator[Path]:
    for page in map(Path, names):
        page.write_text(played(page), encoding="utf-8")
        yield page


if __name__ == "__main__":
    for written in rewritten(sys.argv[1:]):
        print(f"wrote {written}")
