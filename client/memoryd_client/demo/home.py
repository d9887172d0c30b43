"""A throwaway home with the real daemon in it; both are removed when the context ends.

That holds for a failure, Ctrl-C and a closed terminal too. The daemon has its own session, so
Ctrl-C reaches only this process, which then stops the daemon first.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

from memoryd_client.connection.call import call
from memoryd_client.connection.failures import LocalFailure, NotRunning, ProtocolError

START_SECONDS = 30.0
STOP_SECONDS = 10.0
LONGEST_FOLDER_BYTES = 65
SERVE = "import sys; from memoryd_client.entry import main; sys.exit(main())"
# What a program needs to run in the person's language; nothing that could hold a key.
KEPT = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")

Handler = Callable[[int, FrameType | None], object] | signal.Handlers


class ThrowawayHome:
    """The paths of a throwaway home."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.claude = root / ".claude"
        self.project = root / "src" / "shop"
        self.state = root / "state"
        self.output = root / "daemon-output"
        self.socket = root / "memoryd.sock"
        for folder in (self.claude / "projects", self.project, self.state, root / "config"):
            folder.mkdir(mode=0o700, parents=True)

    def environment(self) -> dict[str, str]:
        """The whole environment of the daemon: no key, no network, no path outside."""
        return {name: os.environ[name] for name in KEPT if name in os.environ} | {
            "HOME": str(self.root),
            "CLAUDE_CONFIG_DIR": str(self.claude),
            "XDG_CONFIG_HOME": str(self.root / "config"),
            "XDG_STATE_HOME": str(self.state),
            "XDG_RUNTIME_DIR": str(self.root),
            "MEMORYD_SOCKET": str(self.socket),
            "MEMORYD_FORBID_NETWORK": "1",
        }

    def files_written(self) -> list[Path]:
        """All files but the transcripts, which the agent writes."""
        found = (path for path in sorted(self.root.rglob("*")) if path.is_file())
        return [path for path in found if path.suffix != ".jsonl"]


@contextmanager
def throwaway_home(*, keep: bool) -> Iterator[ThrowawayHome]:
    """A home with a running daemon; `call` reaches this daemon while the context lasts."""
    with signals_as_exits():
        root = Path(tempfile.mkdtemp(prefix="memoryd-demo-", dir=short_folder())).resolve()
        process: subprocess.Popen[bytes] | None = None
        try:
            home = ThrowawayHome(root)
            process = start_daemon(home)
            with our_socket(home.socket):
                wait_until_it_answers(home, process)
                yield home
        finally:
            with no_signals():
                if process is not None:
                    stop_daemon(process)
                if not keep:
                    shutil.rmtree(root)


def short_folder() -> str:
    """A folder for temporary files whose path is short enough for a socket."""
    usual = tempfile.gettempdir()
    return usual if len(os.fsencode(usual)) <= LONGEST_FOLDER_BYTES else "/tmp"  # noqa: S108 - mkdtemp creates a private folder in it


@contextmanager
def signals_as_exits() -> Iterator[None]:
    """Turns signals that would kill the process into exits that clean up."""

    def leave(number: int, _frame: FrameType | None) -> NoReturn:
        sys.exit(128 + number)

    with handling(leave, signal.SIGTERM, signal.SIGHUP):
        yield


@contextmanager
def no_signals() -> Iterator[None]:
    """Ignores signals, so that a second Ctrl-C does not interrupt the clean-up."""
    with handling(signal.SIG_IGN, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        yield


@contextmanager
def handling(handler: Handler, *numbers: signal.Signals) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler_before in before.items():
            signal.signal(number, handler_before)


def start_daemon(home: ThrowawayHome) -> subprocess.Popen[bytes]:
    with home.output.open("wb") as output:
        return subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
            [sys.executable, "-c", SERVE, "serve"],
            env=home.environment(),
            cwd=home.root,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def stop_daemon(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def our_socket(path: Path) -> Iterator[None]:
    before = os.environ.get("MEMORYD_SOCKET")
    os.environ["MEMORYD_SOCKET"] = str(path)
    try:
        yield
    finally:
        if before is None:
            del os.environ["MEMORYD_SOCKET"]
        else:
            os.environ["MEMORYD_SOCKET"] = before


def wait_until_it_answers(home: ThrowawayHome, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            call("ping", timeout_seconds=5)
        except (NotRunning, ProtocolError):
            if process.poll() is not None or time.monotonic() > deadline:
                lines = home.output.read_text("utf-8", "replace").strip().splitlines()
                last = lines[-1] if lines else "it printed nothing"
                raise LocalFailure(f"the daemon did not start: {last}") from None
            time.sleep(0.05)
        else:
            return
