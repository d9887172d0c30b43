"""What a crowd does to a whole daemon: 39 searches in one answer, a thousand deaf subscribers.

Nothing is timed. Hooks have to be answered while the searches still run, and a ping before the
deadline of its connection.
"""

import resource
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from memoryd.base import paths
from tests.security.tally import Tally
from tests.support.running import Daemon, Peer, make_home
from tests.support.scripted_model import Call, Message, ScriptedModel, SeenRequest, asks, says
from tests.support.session_script import SessionScript

GREPS, HOOKS = 39, 10
SUBSCRIBERS, PINGS = 1000, 20
PING_SECONDS = 5.0


class _Searching:
    """A model that asks for many searches at once, and knows whether their answers are in."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.has_asked = self.has_answers = False

    def __call__(self, request: SeenRequest) -> Message:
        tools = {one.get("name") for one in request.body.get("tools", ())}
        if "Grep" not in tools:
            return says('{"selected_memories": []}')
        if self.has_asked:
            self.has_answers = True
            return says("Nothing to save.")
        self.has_asked = True
        return asks(*(Call("Grep", {"pattern": f"word{at}$"}) for at in range(self._count)))


@contextmanager
def _running(home: Path, **env: str) -> Iterator[Daemon]:
    daemon = Daemon(home, **env).start()
    try:
        yield daemon
    finally:
        daemon.end()


def searches_and_hooks(folder: Path, scale: float) -> Tally:
    home = make_home(folder / "crowd")
    project = home / "app"
    project.mkdir()
    for at in range(8 if scale >= 1 else 2):
        (project / f"data-{at}.txt").write_text("some words of a long log file\n" * 20_000)
    settings = home / ".config/memoryd/config.toml"
    settings.parent.mkdir()
    settings.write_text("[extraction]\nquiet_seconds = 0\n")
    model = _Searching(GREPS)
    silent: list[str] = []
    with ScriptedModel(model) as server:
        key = {"ANTHROPIC_API_KEY": "made-up", "ANTHROPIC_BASE_URL": server.base_url}
        with _running(home, **key) as daemon, daemon.peer() as peer:
            _finish_a_turn(home, project, peer)
            while not model.has_asked:
                peer.call("ping")
            for at in range(HOOKS):
                peer.call(
                    "hook",
                    hook_event_name="UserPromptSubmit",
                    session_id="other",
                    cwd=str(project),
                    prompt=f"which log has word {at}?",
                )
                silent += [f"hook {at} had to wait"] * model.has_answers
    return Tally("hooks while 39 searches of one answer run", HOOKS, silent)


def _finish_a_turn(home: Path, project: Path, peer: Peer) -> None:
    script = SessionScript("s", str(project))
    script.turn("From now on always run the linter before a commit.", "Understood.")
    transcript = home / ".claude/projects" / paths.slug(str(project)) / "s.jsonl"
    transcript.parent.mkdir(parents=True)
    transcript.write_bytes(script.data)
    peer.call("turn/ended", session_id="s", transcript_path=str(transcript))


def deaf_subscribers(folder: Path, scale: float) -> Tally:
    """They subscribe to everything and never read; memories are saved meanwhile."""
    home = make_home(folder / "crowd")
    project = home / "app"
    project.mkdir()
    count = SUBSCRIBERS if scale >= 1 else 100
    late: list[str] = []
    with _room_for(count), _running(home) as daemon, ExitStack() as crowd:
        for _ in range(count):
            deaf = crowd.enter_context(daemon.peer())
            deaf.send({"jsonrpc": "2.0", "id": 1, "method": "events/subscribe", "params": {}})
        with daemon.peer() as saver, daemon.peer() as peer:
            peer.socket.settimeout(PING_SECONDS)
            for at in range(PINGS):
                fact = {"name": f"Host {at}", "description": "where it runs", "type": "reference"}
                saver.call("memory/save", cwd=str(project), **fact, body=f"It runs on zebra-{at}.")
                try:
                    peer.call("ping")
                except (TimeoutError, AssertionError):
                    late.append(f"ping {at}")
                    break
    return Tally("pings among a thousand deaf subscribers", PINGS, late)


@contextmanager
def _room_for(sockets: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(4 * sockets + 200, before[1]) if before[1] > 0 else 4 * sockets + 200
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], wanted), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


CHECKS = (searches_and_hooks, deaf_subscribers)
