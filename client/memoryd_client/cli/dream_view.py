"""A running dream on the screen: drawn in place on a terminal, plain lines in a pipe.

A terminal shows phases, what the model says, files, cost and time, in ASCII, and the time keeps
ticking. A pipe gets one line for each event.
"""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from memoryd_client.cli.render import columns, one_line, wants_colour
from memoryd_client.cli.wording import counted
from memoryd_client.connection.answers import Json, number_at, text_at

GOOD_ENDS = frozenset({"done", "previewed"})
PHASES = ("orient", "gather", "consolidate", "prune and index")
FILES_SHOWN = 5
TICK_SECONDS = 1.0
BAR_WIDTH = 24


class View:
    """Shows nothing, for a caller that only wants the outcome."""

    def update(self, event: Json) -> None:
        """Shows one event of the dream."""

    def close(self) -> None:
        """Stops drawing; the last picture stays."""


class Lines(View):
    """One line for each event."""

    def update(self, event: Json) -> None:
        counts = counts_of(event)
        words = {
            "dream/started": f"dream {number_at(event, 'dream'):.0f} starts with"
            f" {number_at(event, 'memories'):.0f} memories ({text_at(event, 'how')})",
            "dream/phase": f"phase: {text_at(event, 'phase')}{f', {counts}' * bool(counts)}"
            f"{cost_of(event)}",
            "dream/said": f"says: {text_at(event, 'text')}{cost_of(event)}",
            "dream/file": f"changing {text_at(event, 'file')}{cost_of(event)}",
        }
        if text := words.get(text_at(event, "kind")):
            print(one_line(text), flush=True)


class Picture(View):
    """A few lines that are redrawn in place."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._phase = ""
        self._is_done = False
        self._files: list[str] = []
        self._usd = 0.0
        self._tokens = 0.0
        self._counts = ""
        self._said = ""
        self._started = time.monotonic()
        self._height = 0
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)
        self._ticker.start()

    def update(self, event: Json) -> None:
        with self._lock:
            self._phase = text_at(event, "phase") or self._phase
            self._usd = number_at(event, "usd") or self._usd
            self._tokens = number_at(event, "tokens") or self._tokens
            self._said = one_line(text_at(event, "text")) or self._said
            if "read" in event:  # another event knows only some of the counts
                self._counts = counts_of(event) or self._counts
            self._started = min(self._started, time.monotonic() - number_at(event, "seconds"))
            self._is_done = text_at(event, "state") in GOOD_ENDS
            file = one_line(text_at(event, "file"))
            if file and file not in self._files:
                self._files.append(file)
            self._draw()

    def close(self) -> None:
        self._over.set()
        self._ticker.join()

    def _tick(self) -> None:
        while not self._over.wait(TICK_SECONDS):
            with self._lock:
                self._draw()

    def _draw(self) -> None:
        width = (columns() or 80) - 1
        lines = [line[:width] for line in self._lines()]
        up = f"\x1b[{self._height}A" if self._height else ""
        sys.stdout.write(up + "".join(f"\r\x1b[2K{line}\n" for line in lines))
        sys.stdout.flush()
        self._height = len(lines)

    def _lines(self) -> list[str]:
        """Never fewer than were drawn before."""
        seconds = time.monotonic() - self._started
        elapsed = f"{int(seconds // 60)}:{int(seconds % 60):02}"
        done = PHASES.index(self._phase) if self._phase in PHASES else -1
        done = len(PHASES) if self._is_done else done
        marks = [
            f"[{'x' if at < done else '>' if at == done else ' '}] {phase}"
            for at, phase in enumerate(PHASES)
        ]
        files = counted(len(self._files), "file")
        tokens = f"   {self._tokens:,.0f} tokens" * bool(self._tokens)
        return [
            f"dream {self._number}   {elapsed}   {files}{tokens}   ${self._usd:.4f}",
            f"  {bar_of(max(0, done), len(PHASES))}   {self._counts}".rstrip(),
            "  " + "  ".join(marks),
            *([f"  > {self._said}"] if self._said else []),
            *(f"    {file}" for file in self._files[-FILES_SHOWN:]),
        ]


def bar_of(done: int, total: int) -> str:
    """How far it is, in plain letters."""
    filled = BAR_WIDTH * done // total
    return f"[{'#' * filled}{'-' * (BAR_WIDTH - filled)}]"


def counts_of(event: Json) -> str:
    """What became of the memories so far, as far as there is something to say."""
    names = ("read", "merged", "retired", "left")
    counts = [(name, number_at(event, name)) for name in names]
    words = [f"{count:.0f} {name}" for name, count in counts if count]
    calls, sessions = number_at(event, "tool_calls"), number_at(event, "sessions")
    words += [counted(sessions, "session")] if sessions else []
    words += [counted(calls, "tool call")] if calls else []
    return ", ".join(words)


def cost_of(event: Json) -> str:
    usd = number_at(event, "usd")
    return f" (${usd:.4f} so far)" if usd else ""


@contextmanager
def view_for(number: int, *, is_shown: bool) -> Iterator[View]:
    """The view that suits the output."""
    view = View()
    if is_shown:
        view = Picture(number) if is_drawable() else Lines()
    try:
        yield view
    finally:
        view.close()


def is_drawable() -> bool:
    """Whether the terminal can move its cursor; no colour means plain lines too."""
    return wants_colour(sys.stdout)
