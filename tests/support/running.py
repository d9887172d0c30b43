"""The real daemon as a real process, and a plain client for its socket."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

ROOT = Path(__file__).resolve().parents[2]
WAIT_SECONDS = 60
COMMAND = (
    sys.executable,
    "-c",
    "import sys; from memoryd_client.entry import main; sys.exit(main())",
)


def give_way() -> None:
    """Between two looks of a wait: the processor is the daemon's, not of who asks it again."""
    time.sleep(0.01)


def make_home(folder: Path) -> Path:
    """An empty home as the daemon expects one. Each test has one, so it is made without detours."""
    root = folder / "home"
    root.mkdir(parents=True)
    for part in (".claude", ".local"):
        os.mkdir(f"{root}/{part}")  # noqa: PTH102 - a path object for each would double the time
    for part in (".claude/projects", ".config", ".local/state", "run"):
        os.mkdir(f"{root}/{part}", 0o700)  # noqa: PTH102
    return root


def environment(home: Path) -> dict[str, str]:
    """This process's variables without those that lead out of the home or to a real model.

    PYTHONUNBUFFERED goes as well: people do not have it, and it hides lines out of order.
    """
    prefixes = (
        "AI_AGENT",
        "ANTHROPIC_",
        "CLAUDE",
        "CODEX_",
        "CURSOR_",
        "GEMINI_",
        "MEMORYD_",
        "OPENCODE",
        "PYTHONUNBUFFERED",
        "XDG_",
    )
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(prefixes) and not name.lower().endswith("_proxy")
    }
    return kept | {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_STATE_HOME": str(home / ".local/state"),
        "XDG_RUNTIME_DIR": str(home / "run"),
        "MEMORYD_FORBID_NETWORK": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }


class Peer:
    """One connection, in either framing."""

    def __init__(self, path: str, framing: Literal["lines", "headers"] = "lines") -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(WAIT_SECONDS)
        self.path = path
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")
        self.framing = framing
        self.number = 0
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.file.close()
        self.socket.close()

    def send(self, message: object) -> None:
        text = message if isinstance(message, bytes) else json.dumps(message).encode()
        if self.framing == "lines":
            self.socket.sendall(text + b"\n")
        else:
            self.socket.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(text), text))

    def receive(self) -> Any:
        """The next message, or None at the end of the connection."""
        if self.framing == "lines":
            line = self.file.readline()
            return json.loads(line) if line else None
        length = 0
        while header := self.file.readline().strip():
            name, _, value = header.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        body = self.file.read(length)
        return json.loads(body) if body else None

    def ask(self, method: str, **params: Any) -> Any:
        """The whole answer to one request."""
        self.number += 1
        request = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.send(request)
        while True:
            answer = self.receive()
            if answer is None or "method" not in answer:
                return answer
            self.events.append(answer["params"])

    def call(self, method: str, **params: Any) -> Any:
        answer = self.ask(method, **params)
        assert answer is not None, f"{method}: the daemon closed the connection"
        assert "result" in answer, answer
        return answer["result"]

    def next_event(self) -> dict[str, Any]:
        if self.events:
            return self.events.pop(0)
        message = self.receive()
        assert message is not None, "the daemon closed the connection"
        assert message["method"] == "event"
        return dict(message["params"])


class Daemon:
    """`memoryd serve` in the test's own home."""

    serve_command: tuple[str, ...] = (*COMMAND, "serve")

    def __init__(self, home: Path, **env: str) -> None:
        self.home = home
        self.socket = str(home / "run/memoryd.sock")
        self.env = environment(home) | {"PYTHONPATH": f"{ROOT}:{ROOT / 'client'}"} | env
        self.process: subprocess.Popen[bytes] | None = None
        self.log = home / ".local/state/memoryd/memoryd.log"

    def start(self) -> Self:
        """Returns once the daemon reports that it is ready."""
        with notifications(self.home) as notify:
            env = self.env | {"NOTIFY_SOCKET": str(notify.getsockname())}
            self.process = subprocess.Popen(
                self.serve_command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            assert b"READY=1" in notify.recv(4096)
        return self

    def fails_to_start(self, code: int = 1) -> str:
        """What a daemon that cannot start prints to stderr."""
        done = subprocess.run(
            self.serve_command,
            env=self.env,
            capture_output=True,
            timeout=WAIT_SECONDS,
            check=False,
        )
        assert done.returncode == code, done
        return done.stderr.decode()

    def peer(self, framing: Literal["lines", "headers"] = "lines") -> Peer:
        return Peer(self.socket, framing)

    def run(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *arguments],
            env=self.env,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS,
            check=False,
        )

    def stop(self, number: int = signal.SIGTERM) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        try:
            return self.process.wait(WAIT_SECONDS)
        finally:
            self.end()

    def end(self) -> None:
        """Kills the process if it still runs, and closes its pipes."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdout, self.process.stderr):
                if pipe is not None:
                    pipe.close()

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@contextmanager
def notifications(home: Path) -> Iterator[socket.socket]:
    """A datagram socket like systemd's, on which the daemon reports that it is ready."""
    path = home / "run/notify"
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.bind(str(path))
        line.settimeout(WAIT_SECONDS)
        yield line
    path.unlink(missing_ok=True)
