"""An agent's tools on a small project, called as the agent loop calls them."""

import ctypes
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memoryd.agent.loop import arguments_of
from memoryd.agent.rules.limits import Meter, RunLimits
from memoryd.agent.toolbox import AgentTools
from memoryd.agent.view import View
from memoryd.agent.writer import MemoryWriter
from memoryd.base.errors import ToolError
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system.database import Database
from tests.support.times import NOW

CANARY = "the-canary-sings"


def memory_text(body: str, name: str = "Use tabs", **fields: str) -> str:
    header = {"name": name, "description": "how to indent", "type": "feedback"} | fields
    lines = [f"{key}: {value}" for key, value in header.items() if value]
    return "\n".join(["---", *lines, "---", "", body, ""])


class Sandbox:
    """A project, its memory directory, its transcripts, and a canary outside of all of them."""

    def __init__(
        self, base: Path, limits: RunLimits | None = None, *, dreams: bool = False
    ) -> None:
        self.project, self.outside = base / "project", base / "outside"
        self.transcripts = base / "claude/projects/-project"
        self.memory = self.transcripts / "memory"
        for folder in (self.project, self.outside, self.memory):
            folder.mkdir(parents=True)
        (self.outside / "canary.md").write_text(CANARY)
        self.limits = limits or RunLimits(tool_calls=10_000)
        self.dreams = dreams
        self.state = Database.open(str(base / "state/state.db"))
        self.store = Store(VersionTable(self.state), now=lambda: NOW)
        self.directory = MemoryDirectory(str(self.memory), "project")
        self.new_run()

    def new_run(self) -> None:
        """Tools that have seen nothing yet."""
        view = View(
            str(self.project),
            self.directory,
            transcripts=(str(self.transcripts),) if self.dreams else (),
        )
        self.meter = Meter(self.limits)
        self.tools = self.tools_for(view)

    def tools_for(self, view: View) -> AgentTools:
        folder = str(Path(self.state.path).parent)
        writer = MemoryWriter(
            view, self.store, cause="extraction", session_id="s-1", state_folder=folder
        )
        return AgentTools(view, writer)

    async def call(self, name: str, **given: Any) -> str:
        """What the tool answers; ToolError if it refuses."""
        (tool,) = (one for one in self.tools.definitions if one.name == name)
        arguments = arguments_of(tool, msgspec.json.encode(given))
        return await self.tools.call(name, arguments, self.meter)

    async def said(self, name: str, **given: Any) -> str:
        """What the model would read: the answer or the refusal."""
        try:
            return await self.call(name, **given)
        except ToolError as no:
            return str(no)

    def put(self, path: str, text: str | bytes) -> Path:
        """A file in the project that another program made."""
        place = self.project / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)
        return place

    def remember(self, name: str, body: str) -> Path:
        """A memory that was there before the run."""
        place = self.memory / name
        place.write_text(memory_text(body))
        return place

    def everything_outside(self) -> dict[str, bytes]:
        """All files except the memory directory's and the daemon's own state."""
        return {
            str(path): path.read_bytes()
            for base in (self.project, self.outside, self.transcripts)
            for path in base.rglob("*")
            if not path.is_relative_to(self.memory) and path.is_file() and not path.is_symlink()
        }

    @property
    def last_reason(self) -> str:
        return self.tools.outcomes[-1].reason


@contextmanager
def sandbox(
    base: Path, limits: RunLimits | None = None, *, dreams: bool = False
) -> Iterator[Sandbox]:
    made = Sandbox(base, limits, dreams=dreams)
    try:
        yield made
    finally:
        made.state.close()


HOSTILE_PATHS = [
    "", " ", ".", "..", "/", "//", "../canary.md", "../../outside/canary.md", "./../x.md",
    "a/../../x.md", "a/../../../x.md", "../memory/../x.md", "../memory2/x.md", "/etc/passwd",
    "/etc/x.md", "//etc/x.md", "///etc/x.md", "/tmp/x.md", "/root/.ssh/authorized_keys",
    "~/x.md", "~", "~root/x.md", "$HOME/x.md", "%2e%2e/x.md", "..%2fx.md", "..\\x.md",
    "C:\\x.md", "\\\\server\\x.md", "file:///etc/passwd", "a\0b.md", "\0", "x.md\0.txt",
    "a\nb.md", "a\rb.md", "a\tb.md", "\x1b[2Jx.md", "a" * 300 + ".md", "x/" * 2500 + "x.md",
    ".git/hooks/x.md", ".git/config", ".hidden.md", ".a/x.md", "a/.b/x.md", "a/./../.x.md",
    "..．/x.md", "．．/x.md", "‥/x.md", "x.md/", "x.md/.", "x.md/..", "x.md.", "x.md ", " x.md",
    "x.MD", "MEMORY.md", "memory.md", "Memory.MD", "ＭＥＭＯＲＹ.md", "team/x.md", "TEAM/x.md",
    "logs/x.md", "logs/../team/x.md", "/dev/null", "/dev/stdout", "/proc/self/mem",
    "/proc/self/cwd/x.md", "/proc/self/environ", "-rf.md", "--help.md", "*.md", "a;b.md",
    "a|b.md", "a b.md", "Ünïcode.md", "e\u0301.md", "a\u200bb.md", "\u202egnp.md", "x.txt",
    "x", "x.md.sh", "x.py", "a/b/c/d/e/f.md", "a//b.md", os.devnull,
]  # fmt: skip

ATTACKS = [
    "ls; touch pwned", "ls && touch pwned", "ls & touch pwned", "ls | tee pwned", "ls > pwned",
    "ls >> pwned", "cat < /etc/passwd", "cat << x", "ls $(touch pwned)", "ls `touch pwned`",
    'ls "$(touch pwned)"', 'ls "`touch pwned`"', "ls ${HOME}", "ls $HOME", 'ls "$HOME"', "(ls)",
    "{ ls; }", "ls\ntouch pwned", "ls\r\ntouch pwned", "ls \\\ntouch pwned", "ls #x", "ls ~",
    "ls ~root", "ls *", "ls ?", "ls [a-z]*", "cat /etc/passwd", "cat ../outside/canary.md",
    "cat ../../../../../../etc/passwd", "cat -- /etc/passwd", "cat src/../../outside/canary.md",
    "head -c 100 /etc/passwd", "tail -f a.txt", "tail -F a.txt", "tail --follow a.txt",
    "tail --pid=1 a.txt", "tail -n 1 -f a.txt", "tail -qf a.txt", "wc --files0-from=/etc/passwd",
    "wc /etc/passwd", "stat /etc/passwd", "stat -L a.txt", "stat -f /", "ls /", "ls -L /etc",
    "ls ..", "ls -la /root", "find / -name passwd", "find .. -name '*.md'", "find -L . -name x",
    "find . -exec touch pwned ;", "find . -exec touch pwned \\;", "find . -execdir touch pwned +",
    "find . -ok touch pwned", "find . -delete", "find . -name a.txt -delete",
    "find . -fprint pwned", "find . -fprintf pwned %p", "find . -fls pwned",
    "find . -fprint0 pwned", "find . -printf %p",
    "find . -newer /etc/passwd", "find . -files0-from /etc/passwd", "find . -type f,d -exec x",
    "grep -r canary /", "grep -r canary ..", "grep -R canary .", "grep --include=* -r x .",
    "grep -f /etc/passwd a.txt", "grep --file=/etc/passwd a.txt", "grep root /etc/passwd",
    "grep -P x a.txt", "grep -d recurse x .", "grep --devices=read x /dev/zero", "grep x /dev/zero",
    "rm a.txt", "touch pwned", "tee pwned", "sh -c 'touch pwned'", "bash", "env ls", "xargs ls",
    "command ls", "exec ls", "eval ls", "sudo ls", "/bin/ls", "./ls", "../../bin/ls", "LS", "ｌｓ",
    "PATH=. ls", "LD_PRELOAD=./x.so ls", "cat", "grep x", "cat -", "", " ", "'", '"ls', "ls '",
    "cat .env", "cat ./.env", "cat src/../.env", "head .env", "grep x .env", "wc -c .env",
    "cat a.txt\0", "cat \u202ea.txt", "ls；touch pwned", "ls ｜ tee pwned", "ls\u2028touch pwned",
    "ls -la --color=always", "ls --hyperlink", "cat " + "a.txt " * 21, "cat " + "x" * 3000,
    "python3 -c 'open(1)'", "git log", "curl http://127.0.0.1", "find . -name", "find . -size x;y",
]  # fmt: skip


def make_kinds(box: Sandbox, folder: Path) -> list[str]:
    """One of each kind of file that is not a regular text file with a single name."""
    target = box.outside / "canary.md"
    (folder / "link.md").symlink_to(target)
    (folder / "dangling.md").symlink_to(box.outside / "none.md")
    (folder / "loop.md").symlink_to("loop.md")
    (folder / "linked").symlink_to(box.outside)
    os.link(target, folder / "hard.md")
    os.mkfifo(folder / "fifo.md")
    (folder / "folder.md").mkdir()
    (folder / "device.md").symlink_to("/dev/zero")
    (folder / "stdin.md").symlink_to("/proc/self/fd/0")
    (folder / "environ.md").symlink_to("/proc/self/environ")
    here = Path.cwd()
    os.chdir(folder)  # the path of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("socket.md")
    finally:
        os.chdir(here)
    return [
        "link.md", "dangling.md", "loop.md", "linked/canary.md", "linked/new.md", "hard.md",
        "fifo.md", "folder.md", "device.md", "stdin.md", "environ.md", "socket.md",
    ]  # fmt: skip


@contextmanager
def swapping(one: Path, other: Path) -> Iterator[None]:
    """Keeps exchanging the two names until the context ends."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "renameat2"):
        pytest.skip("no call that exchanges two names at once")
    done = threading.Event()

    def swap() -> None:
        while not done.wait(0.0002):
            libc.renameat2(-100, bytes(one), -100, bytes(other), 2)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        yield
    finally:
        done.set()
        swapper.join()
