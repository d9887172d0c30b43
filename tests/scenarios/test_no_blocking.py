"""The hot paths of the daemon never block its event loop, cold or warm.

A daemon runs under the detector (tests/support/blocking.py) and is asked everything that an agent
waits for. What still blocks stands in STILL_BLOCKS, with the reason why it may; an entry that no
longer blocks fails the test, so that the list only says what is true.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memoryd.base import paths
from tests.support.blocking import BlockingCall
from tests.support.blocking_daemon import DetectingDaemon
from tests.support.running import Peer, make_home
from tests.support.scripted_model import ScriptedModel, says
from tests.support.session_script import SessionScript
from tests.support.thinning import hardest

STILL_BLOCKS = {
    "os.lstat in memoryd/recall/shelf.py is_as_on_disk": (
        "one lstat for each of at most five memories, a microsecond each, so that a change that no"
        " watch has reported yet is seen; a thread would cost a hundred times as much"
    ),
    "os.lstat in memoryd/recall/unread_logs.py unread_logs": (
        "one lstat for a project without daily logs, a microsecond; a few more where there are some"
    ),
    "os.read in memoryd/system/inotify.py Inotify.read": (
        "a handle that never waits, read when the kernel said that there is something"
    ),
    "import in memoryd/llm/anthropic_client.py AnthropicProvider.complete": (
        "asyncio loads its thread pool for the first request of the SDK: one small module, once"
    ),
}

FACT = {"name": "Staging", "description": "where staging runs", "type": "reference"}


class HotPaths:
    """What an agent waits for, in the order of a session; each can be gone again."""

    def __init__(self, home: Path, peer: Peer, name: str) -> None:
        self.cwd = home / name
        self.cwd.mkdir()
        (self.cwd / ".git").mkdir()
        (self.cwd / "CLAUDE.md").write_text("Use tabs.\n")
        self.peer = peer
        self.session = f"session-{name}"
        folder = home / ".claude/projects" / paths.slug(str(self.cwd))
        folder.mkdir(parents=True)
        self.transcript = folder / f"{self.session}.jsonl"
        self.script = SessionScript(self.session, str(self.cwd))

    def call(self, method: str, **params: Any) -> Any:
        return self.peer.call(method, cwd=str(self.cwd), **params)

    def hook(self, event: str, **more: Any) -> None:
        self.call(
            "hook",
            hook_event_name=event,
            session_id=self.session,
            transcript_path=str(self.transcript),
            **more,
        )

    def start_session(self) -> None:
        self.hook("SessionStart", source="startup")
        self.hook("SessionStart", source="compact")

    def prompt(self) -> None:
        self.hook("UserPromptSubmit", prompt="which host does staging run on?")

    def save(self) -> None:
        self.call("memory/save", **FACT, body="Staging runs on host zebra-7.")

    def recall(self) -> None:
        self.call("recall", query="which host does staging run on?", session_id=self.session)

    def change_behind_our_back(self) -> None:
        """A file that another program changed is read again by the next question."""
        for one in self.call("memory/list")["memories"]:
            path = Path(one["path"])
            path.write_text(path.read_text().replace("zebra", "quagga"))
        self.call("recall", query="staging host")

    def list_and_read(self) -> None:
        for one in self.call("memory/list")["memories"]:
            self.call("memory/get", path=one["path"])
            self.call("memory/history", path=one["path"])

    def status(self) -> None:
        self.call("status")
        self.peer.call("status")

    def context(self) -> None:
        self.call("context", session_id=self.session, source="startup")

    def finish_turn(self) -> None:
        """A turn is written, stored and extracted."""
        with Peer(self.peer.path) as listener:
            listener.call("events/subscribe", kinds=["extraction/finished"], cwd=str(self.cwd))
            self.script.turn("From now on always run the linter before a commit.", "Understood.")
            self.transcript.write_bytes(self.script.data)
            self.hook("Stop")
            listener.next_event()

    def end_session(self) -> None:
        self.hook("PreCompact", trigger="manual")
        self.hook("SessionEnd", reason="exit")


STEPS: list[Callable[[HotPaths], None]] = [
    HotPaths.start_session,
    HotPaths.prompt,
    HotPaths.save,
    HotPaths.recall,
    HotPaths.prompt,
    HotPaths.change_behind_our_back,
    HotPaths.list_and_read,
    HotPaths.status,
    HotPaths.context,
    HotPaths.finish_turn,
    HotPaths.end_session,
]


def calls_while(daemon: DetectingDaemon) -> list[BlockingCall]:
    """Goes all ways twice in a project that the daemon has not seen, right after its start."""
    daemon.start()
    before = len(daemon.blocking_calls())
    with daemon.peer() as peer:
        for name in hardest(("another", "cold")):
            ways = HotPaths(daemon.home, peer, name)
            for step in (*STEPS, *STEPS):
                step(ways)
    return daemon.blocking_calls()[before:]


@pytest.fixture(scope="module")
def blocked(tmp_path_factory: pytest.TempPathFactory) -> list[BlockingCall]:
    """By a daemon without a model, and by one with it."""
    found: list[BlockingCall] = []
    with ScriptedModel(lambda _: says('{"selected_memories": []}')) as model:
        key = {"ANTHROPIC_API_KEY": "made-up", "ANTHROPIC_BASE_URL": model.base_url}
        for env in ({}, key):
            home = make_home(tmp_path_factory.mktemp("b"))
            (home / ".config/memoryd").mkdir()
            (home / ".config/memoryd/config.toml").write_text("[extraction]\nquiet_seconds = 0\n")
            daemon = DetectingDaemon(home, **env)
            try:
                found += calls_while(daemon)
            finally:
                daemon.end()
    return found


def test_nothing_else_blocks_the_event_loop(blocked: list[BlockingCall]) -> None:
    news = {one.place: one for one in blocked if one.place not in STILL_BLOCKS}
    shown = ["\n    ".join((f"{one.place}: {one.about}", *one.frames)) for one in news.values()]
    assert not news, "\n".join(shown)


def test_what_is_said_to_block_still_does(blocked: list[BlockingCall]) -> None:
    assert set(STILL_BLOCKS) <= {one.place for one in blocked}
