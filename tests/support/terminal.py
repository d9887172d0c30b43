"""Commands on a terminal of their own."""

import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Sequence

from tests.support.running import COMMAND, Daemon


def on_terminal(words: Sequence[str], columns: int, environ: dict[str, str]) -> str:
    """What a command shows on a terminal of so many columns."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [*COMMAND, *words], stdin=slave, stdout=slave, stderr=slave, env=dict(os.environ) | environ
    )
    os.close(slave)
    shown = b""
    try:
        while chunk := os.read(master, 65536):
            shown += chunk
    except OSError:  # how Linux says that the last writer of a terminal has gone
        assert process.wait(60) == 0
    os.close(master)
    return shown.decode().replace("\r\n", "\n")


class Terminal:
    """The command with a person in front of it."""

    def __init__(self, daemon: Daemon, *words: str) -> None:
        self.ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [*COMMAND, *words],
            env=daemon.env | {"TERM": "xterm", "NO_COLOR": "1"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.seen = ""

    def read_until(self, words: str) -> str:
        while words not in self.seen:
            self.seen += os.read(self.ours, 4096).decode()
        return self.seen

    def type(self, text: str) -> None:
        os.write(self.ours, text.encode())

    def end(self) -> int:
        try:
            while more := os.read(self.ours, 4096).decode():
                self.seen += more
        except OSError:  # how Linux says that nobody is at the other end any more
            pass
        os.close(self.ours)
        return self.process.wait(60)
