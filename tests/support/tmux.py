"""A real terminal for programs that draw on one: keys in, the screen as a person sees it out."""

import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Self

WAIT_SECONDS = 60
_numbers = count()


class Tmux:
    """One window of so many columns and rows, with a server of its own."""

    def __init__(
        self,
        folder: Path,
        command: Sequence[str],
        env: Mapping[str, str],
        *,
        columns: int = 80,
        rows: int = 24,
    ) -> None:
        self._socket = str(folder / f"tmux{next(_numbers)}")  # a server that ends may linger
        settings = folder / "tmux.conf"
        settings.write_text("set -g status off\nset -g escape-time 0\n")
        size = ("-x", str(columns), "-y", str(rows))
        wanted = [f"{name}={value}" for name, value in env.items() if name not in {"TERM", "TMUX"}]
        line = shlex.join(["env", "-i", *wanted, "TERM=screen-256color", *command])
        done = self._tmux("-f", str(settings), "-u", "new-session", "-d", *size, line)
        assert done.returncode == 0, done.stderr

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._tmux("kill-server")

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-l", "--", text)

    def press(self, *keys: str) -> None:
        """Keys by the names that tmux has for them: Enter, Escape, M-m, C-e, Down."""
        self._tmux("send-keys", *keys)

    def resize(self, columns: int, rows: int) -> None:
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def process(self) -> int:
        """The program in the window."""
        return int(self._tmux("display-message", "-p", "#{pane_pid}").stdout)

    def screen(self, *, with_styles: bool = False) -> str:
        return self._tmux("capture-pane", "-p", *(["-e"] if with_styles else [])).stdout

    def wait_for(self, words: str) -> str:
        """The screen, once these words are on it."""
        return self._wait(lambda shown: words in shown, words)

    def wait_until_gone(self, words: str) -> str:
        return self._wait(lambda shown: words not in shown, f"no {words}")

    def _wait(self, is_there: Callable[[str], bool], wanted: str) -> str:
        deadline = monotonic() + WAIT_SECONDS
        while not is_there(shown := self.screen()):
            assert monotonic() < deadline, f"{wanted!r} is not what is shown:\n{shown}"
        return shown

    def _tmux(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["tmux", "-S", self._socket, *words],
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS,
            check=False,
        )
