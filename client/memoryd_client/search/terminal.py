"""The person's terminal, whatever standard input and output are: keys from it, a screen on it.

It is left as it was found, also after a failure. Only this module writes escape sequences.
"""

import os
import select
import signal
import termios
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, NoReturn, Self

from memoryd_client.search.picker import Line, Style

ENTER: Final = b"\x1b[?1049h"
LEAVE: Final = b"\x1b[?1049l"
STYLES: Final[dict[Style, str]] = {"": "", "bold": "1", "dim": "2", "reverse": "7"}
READ_BYTES: Final = 4096


def _end(number: int, _: object) -> NoReturn:
    """Ends like any failure: the terminal is left as it was found."""
    raise SystemExit(128 + number)


class Terminal:
    def __init__(self) -> None:
        """Raises OSError if this process has no terminal."""
        self._file = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        self._was: list[Any] = []
        self._resized, self._wake = os.pipe()
        os.set_blocking(self._resized, False)
        os.set_blocking(self._wake, False)
        self._styled = not os.environ.get("NO_COLOR")

    def __enter__(self) -> Self:
        self._was = termios.tcgetattr(self._file)
        self._old_wakeup = signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        self._handlers = {
            signal.SIGWINCH: signal.signal(signal.SIGWINCH, lambda *_: None),
            **{one: signal.signal(one, _end) for one in (signal.SIGTERM, signal.SIGHUP)},
        }
        self._raw()
        return self

    def __exit__(self, *_: object) -> None:
        self._cooked()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._old_wakeup)
        for one in (self._file, self._resized, self._wake):
            os.close(one)

    @contextmanager
    def lent(self) -> Iterator[int]:
        """The terminal for another program, as it was before; gives its file."""
        self._cooked()
        try:
            yield self._file
        finally:
            self._raw()

    def wait(self, others: Sequence[int], seconds: float | None) -> tuple[bytes, set[int]]:
        """Bytes that were typed, and which of these files have something to read.

        Returns also when the window got another size, and after so many seconds.
        """
        ready, _, _ = select.select([self._file, self._resized, *others], [], [], seconds)
        if self._resized in ready:
            with suppress(BlockingIOError):
                os.read(self._resized, READ_BYTES)
        typed = os.read(self._file, READ_BYTES) if self._file in ready else b""
        if self._file in ready and not typed:
            raise EOFError
        return typed, set(ready) & set(others)

    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        found = os.get_terminal_size(self._file)
        return (found.columns or 80), (found.lines or 24)

    def draw(self, lines: Sequence[Line], cursor_column: int) -> None:
        """Shows these lines, and the cursor in the first of them."""
        drawn = "\r\n".join(self._painted(line) + "\x1b[K" for line in lines)
        self._write(f"\x1b[?25l\x1b[H{drawn}\x1b[J\x1b[1;{cursor_column}H\x1b[?25h".encode())

    def _painted(self, line: Line) -> str:
        code = STYLES[line.style] if self._styled else ""
        text = f"\x1b[{code}m{line.text}\x1b[0m" if code else line.text
        return text + line.beside

    def _raw(self) -> None:
        tty.setraw(self._file, termios.TCSANOW)
        self._write(ENTER)

    def _cooked(self) -> None:
        self._write(LEAVE)
        termios.tcsetattr(self._file, termios.TCSANOW, self._was)

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._file, data) :]
