"""`memoryd serve` under the detector: each blocking call on its event loop is a line in a file.

usage: python -m tests.support.blocking_daemon REPORT
"""

import os
import sys
from pathlib import Path

import msgspec

from memoryd.daemon.main import main
from memoryd_client.version import __version__
from tests.support.blocking import BlockingCall, BlockingDetector
from tests.support.running import Daemon

_write = os.write


class DetectingDaemon(Daemon):
    """A daemon whose event loop is watched."""

    def __init__(self, home: Path, **env: str) -> None:
        super().__init__(home, **env)
        self._report = home / "blocking-calls.jsonl"
        self.serve_command = (sys.executable, "-m", __name__, str(self._report))

    def blocking_calls(self) -> list[BlockingCall]:
        """Everything that blocked the loop so far, from the start of the process on."""
        lines = self._report.read_bytes().splitlines()
        return [msgspec.json.decode(line, type=BlockingCall) for line in lines]


def serve(report: str) -> int:
    handle = os.open(report, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with BlockingDetector(lambda call: _write(handle, msgspec.json.encode(call) + b"\n")):
        return main(__version__)


if __name__ == "__main__":
    sys.exit(serve(sys.argv[1]))
