"""Makes the pictures of the editors in docs/: `make editor-pictures`.

Each editor really runs, in tmux, against a real daemon. NVIM and EMACS name other editors than
those on PATH. The same versions make the same pictures.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support.editors import CLIENTS, World, program
from tests.support.running import ROOT
from tests.support.terminal_picture import rows_of, svg_of

COLUMNS, LINES = 100, 24
WAIT_SECONDS = 60
POLL_SECONDS = 0.1
MEMORIES = (
    ("project", "We deploy on Thursdays, after the review, with make ship."),
    ("feedback", "Use tabs in Makefiles, never spaces: make reads nothing else."),
    ("reference", "Incidents are tracked on the board called Ship Log."),
    ("user", "I know Go well and am new to Rust."),
)
BODY = (
    "\n\n**Why:** the on-call person is in the office on Fridays, and a bad release can be"
    " rolled back before the weekend."
    "\n\n**How:** `make ship` tags, builds and rolls out; it refuses a dirty tree."
)
CODE = """\
.PHONY: test ship

test:
	go vet ./...
	go test ./...

ship: test
	./tools/tag-and-roll-out.sh
"""


class Scene(NamedTuple):
    """What an editor is started with, what is typed in it, and what shows after each."""

    name: str
    title: str
    description: str
    command: Sequence[str]
    steps: Sequence[tuple[str, str]]


def neovim() -> Scene:
    return Scene(
        "neovim",
        "memoryd in Neovim",
        "A Makefile; over it a floating window with a memory; the statusline counts the inbox.",
        (
            program("nvim", "NVIM", "neovim"),
            *("--clean", "-n", "--cmd", f"set runtimepath^={CLIENTS / 'nvim'}"),
            *("-c", "set termguicolors laststatus=2 noshowcmd noruler number"),
            *("-c", r"let &statusline = ' %f %= %{v:lua.require''memoryd''.statusline()} '"),
            "Makefile",
        ),
        (
            ("", "inbox 1"),
            (":Memory recall when do we deploy?\n", "Recalled:"),
            ("1\n", "rolled back"),
        ),
    )


def emacs() -> Scene:
    settings = (
        "(progn (require 'memoryd) (setq inhibit-startup-screen t) (menu-bar-mode -1)"
        ' (setq-default mode-line-format \'(" %b  " mode-name global-mode-string))'
        " (setq split-height-threshold 10 suggest-key-bindings nil)"
        " (setq extended-command-suggest-shorter nil) (memoryd-mode 1))"
    )
    return Scene(
        "emacs",
        "memoryd in Emacs",
        "A list of memories; below it what was recalled; the mode line counts the inbox.",
        (
            *(program("emacs", "EMACS", "emacs-nox"), "-Q", "-nw", "-L", str(CLIENTS / "emacs")),
            *("Makefile", "--eval", settings),
        ),
        (
            ("", "inbox 1"),
            ("\x1bxmemoryd-list\n", "feedback_use_tabs"),
            ("\x181", "board"),
            ("\x1bxmemoryd-recall\nwhen do we deploy?\n", "weekend"),
        ),
    )


class Screen:
    """A terminal of a fixed size in a tmux server of its own."""

    def __init__(self, world: World, command: Sequence[str]) -> None:
        self._tmux = ("tmux", "-f", os.devnull, "-S", str(world.scratch / "tmux"))
        size = ("-x", str(COLUMNS), "-y", str(LINES))
        self._env = world.env | {"TERM": "xterm-256color"}
        self._cwd = world.project
        self._run("new-session", "-d", *size, ";", "set", "-g", "status", "off")
        self._run("set", "-s", "escape-time", "0")
        self._run("set", "-g", "remain-on-exit", "on")  # why it ended is on its screen
        words = " ".join("'" + word.replace("'", "'\\''") + "'" for word in command)
        self._run("respawn-pane", "-k", words)

    def _run(self, *words: str) -> str:
        return subprocess.run(
            [*self._tmux, *words],
            env=self._env,
            cwd=self._cwd,
            check=True,
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS,
        ).stdout

    def type(self, text: str) -> None:
        if text:
            self._run("send-keys", "-l", text)

    def wait_for(self, words: str) -> str:
        """The screen once it shows these words and has not changed for a moment."""
        deadline, before = time.monotonic() + WAIT_SECONDS, ""
        while time.monotonic() < deadline:
            shown = self._run("capture-pane", "-e", "-N", "-p")
            text = "\n".join("".join(span.text for span in row) for row in rows_of(shown))
            if words in text and shown == before:
                return shown
            before = shown
            time.sleep(POLL_SECONDS)
        shown = self._run("capture-pane", "-p")
        raise SystemExit(f"{words!r} does not show:\n{shown}")

    def close(self) -> None:
        self._run("kill-server")


def prepare(world: World) -> None:
    """A project with a file, four memories and a statement in the inbox."""
    (world.project / "Makefile").write_text(CODE)
    world.grant("start")
    world.grant("say")
    with world.daemon.peer() as peer:
        for kind, text in MEMORIES:
            whole = text + BODY * (kind == "project")
            name = text.partition(",")[0].rstrip(".")
            peer.call(
                "memory/save",
                cwd=str(world.project),
                name=name,
                description=text,
                type=kind,
                body=whole,
            )


def picture_of(scene: Scene, world: World) -> str:
    screen = Screen(world, scene.command)
    try:
        shown = ""
        for typed, words in scene.steps:
            screen.type(typed)
            shown = screen.wait_for(words)
    finally:
        screen.close()
    return svg_of(shown, COLUMNS, scene.title, scene.description)


def main(makers: Sequence[Callable[[], Scene]] = (neovim, emacs)) -> None:
    for make in makers:
        with tempfile.TemporaryDirectory(prefix="memoryd-", dir="/tmp") as folder:
            world = World(Path(folder))
            try:
                scene = make()
                prepare(world)
                target = ROOT / "docs" / f"{scene.name}.svg"
                target.write_text(picture_of(scene, world), encoding="utf-8")
            finally:
                world.end()
            print(f"{target.relative_to(ROOT)}: {target.stat().st_size} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
