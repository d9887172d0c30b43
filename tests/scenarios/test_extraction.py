"""From a growing transcript to memories: real files, a real daemon, the real SDK."""

import json
import os
import random
import signal
import sqlite3
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.extraction_fixtures import memory_text, writes_once
from tests.support.running import Daemon, give_way
from tests.support.scripted_model import Call, Hang, Reply, ScriptedModel, SeenRequest, asks, says
from tests.support.session_script import SessionScript
from tests.support.tail_fixtures import append, database, projects

TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
TABS = Call("Write", {"file_path": "feedback_tabs.md", "content": memory_text("Tabs")})
LOOK = Call("Bash", {"command": "ls -la"})


class Session(SessionScript):
    """A session whose lines reach its file as they are said."""

    def __init__(self, home: Path, name: str = "s", project: str = "app") -> None:
        super().__init__(name, str(home / project))
        folder = "".join(c if c.isascii() and c.isalnum() else "-" for c in self.cwd)
        self.path = projects(home) / folder / f"{name}.jsonl"
        self.memory = self.path.parent / "memory"

    def raw(self, line: bytes) -> None:
        super().raw(line)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        append(self.path, line + b"\n")

    def files(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.memory.glob("*_*.md")}


def with_model(daemon: Daemon, model: ScriptedModel) -> Daemon:
    """A daemon with this model, which does not wait for a pause unless `configure` says so."""
    daemon.env |= {"ANTHROPIC_BASE_URL": model.base_url, "ANTHROPIC_API_KEY": "sk-ant-scripted"}
    if not (daemon.home / ".config/memoryd/config.toml").exists():
        configure(daemon.home, "")
    return daemon


def configure(home: Path, text: str, quiet_seconds: int = 0) -> None:
    """Writes config.toml; `text` may begin with keys of [extraction]."""
    folder = home / ".config/memoryd"
    folder.mkdir(exist_ok=True)
    head = f"[extraction]\nquiet_seconds = {quiet_seconds}\n"
    (folder / "config.toml").write_text(head + text.removeprefix("[extraction]\n"))


def finished_run(daemon: Daemon, say: Any) -> dict[str, Any]:
    """What the daemon tells of the run that these words lead to."""
    with daemon.peer() as peer:
        peer.call("events/subscribe", kinds=["extraction/finished"])
        say()
        return peer.next_event()


def wait_until_idle(daemon: Daemon) -> dict[str, Any]:
    """Polls the status as anybody would; the test's own time limit ends a vain wait."""
    with daemon.peer() as peer:
        while True:
            status: dict[str, Any] = peer.call("status")
            queue = status["queue"]
            if not status["transcripts"]["behind"] + queue["waiting"] + queue["running"]:
                return status
            give_way()


def states(home: Path) -> dict[str, tuple[str, str]]:
    with sqlite3.connect(f"file:{database(home)}?mode=ro", uri=True) as connection:
        rows = connection.execute("select id, state, reason from turns").fetchall()
    connection.close()
    return {turn_id: (state, reason) for turn_id, state, reason in rows}


def test_without_a_model_a_statement_is_kept_as_soon_as_its_turn_ends(
    daemon: Daemon, home: Path
) -> None:
    daemon.start()
    session = Session(home)
    said = "From now on always use tabs in Makefiles, because make insists on them."
    with daemon.peer() as peer:
        peer.call("events/subscribe", kinds=["memory/saved", "extraction/finished"])
        session.turn(said, "Understood.")
        with daemon.peer() as other:
            other.call("turn/ended", session_id="s", transcript_path=str(session.path))
        saved, finished = peer.next_event(), peer.next_event()
    assert saved["kind"] == "memory/saved"
    assert (saved["type"], saved["cause"], saved["session_id"]) == ("feedback", "extraction", "s")
    assert "Makefiles" not in json.dumps(finished)
    assert finished["files"] == list(session.files())
    status = wait_until_idle(daemon)
    assert status["provider"] == "embedded"
    assert status["spending"]["today_usd"] == 0
    assert status["queue"] == {"waiting": 0, "running": 0, "held": 0, "parked": 0}
    assert finished["files"][0] in (session.memory / "MEMORY.md").read_text()


def say_as_ourselves(home: Path) -> None:
    """What a run of our own would leave behind if it ever ran inside the client."""
    Session(home, "own").turn("<memoryd-run> always use tabs", "Saved.")
    marked = Session(home, "marked")
    marked.prompt("always use tabs", entrypoint="memoryd")
    marked.answer("Saved.", entrypoint="memoryd")


def test_with_a_model_the_turn_is_sent_once_and_what_it_writes_is_kept(
    daemon: Daemon, home: Path
) -> None:
    with ScriptedModel(writes_once(TABS)) as model:
        with_model(daemon, model).start()
        say_as_ourselves(home)
        session = Session(home)
        event = finished_run(daemon, lambda: session.turn(f"Use tabs, {TOKEN}", "Fine."))
        assert event["files"] == ["feedback_tabs.md"]
        assert event["usd"] > 0
        assert "source: s" in session.files()["feedback_tabs.md"]
        status = wait_until_idle(daemon)
        assert (status["provider"], status["model_host"]) == ("anthropic", "127.0.0.1")
        assert status["spending"]["today_usd"] > 0
        assert not status["spending"]["paused"]
        bill = json.loads(daemon.run("cost", "--json").stdout)
        daemon.stop()
    sent = json.dumps([request.body for request in model.requests])
    assert len(model.requests) == 1, "our own runs are never learned from"
    assert TOKEN not in sent
    assert [total["name"] for total in bill["jobs"]] == ["extraction"]
    assert [total["name"] for total in bill["projects"]] == [session.cwd]
    assert (bill["jobs"][0]["calls"], bill["jobs"][0]["open_calls"]) == (1, 0)
    assert bill["spending"] == status["spending"]
    left = [path for path in home.rglob("*") if path.is_file() and path.suffix != ".jsonl"]
    assert len(left) > 4
    assert not [path for path in left if TOKEN.encode() in path.read_bytes()]
    assert not [path for path in left if b"sk-ant-scripted" in path.read_bytes()]


def test_every_attempt_of_a_model_is_in_the_log_and_so_is_what_the_cache_saved(
    daemon: Daemon, home: Path
) -> None:
    refused = [
        Call("Write", {"file_path": str(home / "x.md"), "content": "x"}),
        Call("Bash", {"command": f"cat {TOKEN}; rm -rf ."}),
        Call("WebFetch", {"url": "http://127.0.0.1/"}),
        Call("Edit", {"file_path": 3}),
    ]
    with ScriptedModel(writes_once(TABS, Call("Glob", {"pattern": "*"}), *refused)) as model:
        with_model(daemon, model).start()
        for name in ("one", "two"):
            session = Session(home, name, project=name)
            finished_run(daemon, lambda session=session: session.turn("Use tabs", "Fine."))
        daemon.stop()
    lines = daemon.lines()
    for project in (str(home / "one"), str(home / "two")):
        told = [line for line in lines if line.get("project") == project and "tool" in line]
        assert {line["job"] for line in told} == {"extraction"}
        used = [line["tool"] for line in told if line["event"] == "tool-used"]
        no = [(line["tool"], line["reason"]) for line in told if "refused" in line["event"]]
        assert sorted(used) == ["Glob", "Write"]
        assert sorted(tool for tool, _ in no) == ["Bash", "Edit", "WebFetch", "Write"]
        assert all(reason for _, reason in no)
    runs = [line for line in lines if line["event"] == "extraction-finished"]
    for run, least in zip(runs, (30, 80), strict=True):
        assert run["files"] == ["feedback_tabs.md"]
        assert (run["turns"], run["messages"], run["model_turns"]) == (1, 2, 2)
        assert run["input_tokens"] > run["cached_tokens"] > 0 < run["output_tokens"]
        share = 100 * run["cached_tokens"] / run["input_tokens"]
        assert run["cache_hit_percent"] == pytest.approx(share, abs=0.1)
        assert run["cache_hit_percent"] > least
        assert run["usd"] > 0 <= run["ms"]
        assert (run["verdict"], run["reason"]) == ("done", "done")
    assert TOKEN not in daemon.log.read_text()


def test_a_kill_in_the_middle_of_a_run_loses_nothing_and_doubles_nothing(
    daemon: Daemon, home: Path
) -> None:
    is_second_life = False
    is_thinking = threading.Event()

    def script(request: SeenRequest) -> Reply:
        """The first daemon writes, and dies while the model thinks about its last words."""
        if len(request.body["messages"]) == 1:
            return asks(TABS, LOOK)
        if is_second_life:
            return says("Done.")
        is_thinking.set()
        return Hang()

    with ScriptedModel(script) as model:
        with_model(daemon, model).start()
        session = Session(home)
        with daemon.peer() as peer:
            peer.call("events/subscribe", kinds=["memory/saved"])
            turn = session.turn("Use tabs", "Fine.")
            assert peer.next_event()["path"].endswith("feedback_tabs.md")
        assert is_thinking.wait(60)
        daemon.stop(signal.SIGKILL)
        assert states(home)[turn][0] == "pending"
        is_second_life = True
        daemon.start()
        wait_until_idle(daemon)
        assert states(home)[turn] == ("done", "done")
        assert list(session.files()) == ["feedback_tabs.md"]
        again = model.requests[2].body["messages"][0]["content"]
        assert "broke off after it had saved feedback_tabs.md" in again[-1]["text"]
        wait_until_idle(daemon)
        assert len(model.requests) == 4


def test_a_stop_does_not_wait_for_the_model(daemon: Daemon, home: Path) -> None:
    (home / "key").write_text("sk-from-file\n")
    with ScriptedModel(lambda _: Hang()) as model:
        configure(home, f"[model]\nkey_file = '~/key'\nbase_url = '{model.base_url}'\n")
        daemon.start()
        turn = Session(home).turn("Use tabs", "Fine.")
        assert model.asked.wait(60)
        assert daemon.stop() == 0
        assert states(home)[turn][0] == "pending"
        assert daemon.lines()[-1]["in_time"]
        assert model.requests[0].headers["x-api-key"] == "sk-from-file"


def children_of(process: int) -> set[int]:
    found: set[int] = set()
    for task in Path(f"/proc/{process}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended meanwhile
            found |= {int(child) for child in (task / "children").read_text().split()}
    return found


@pytest.mark.skipif(
    not Path(f"/proc/self/task/{os.getpid()}/children").exists(), reason="they cannot be seen here"
)
def test_a_stop_in_the_midst_of_a_search_leaves_no_child(daemon: Daemon, home: Path) -> None:
    (home / "app").mkdir()
    (home / "app/letters.txt").write_text("a" * 60 + "b")
    endless = Call("Grep", {"pattern": "(a+)+$", "path": str(home / "app")})
    with ScriptedModel(lambda _: asks(endless)) as model:
        with_model(daemon, model).start()
        assert daemon.process is not None
        turn = Session(home).turn("Use tabs", "Fine.")
        while not (children := children_of(daemon.process.pid)):
            give_way()
        assert daemon.stop() == 0
    assert not [child for child in children if Path(f"/proc/{child}").exists()]
    assert states(home)[turn][0] == "pending"


def test_random_kills_lose_no_statement_and_save_none_twice(daemon: Daemon, home: Path) -> None:
    chance = random.Random(11)
    animals = ["badger", "otter", "heron", "lynx", "newt"]
    sessions = [Session(home, animal, project=f"p{n % 3}") for n, animal in enumerate(animals)]
    daemon.start()
    for session in sessions:
        name = session.session_id
        session.turn(f"From now on always lint {name} modules, because {name} CI is slow.", "Ok.")
        # Long enough to be in the middle of something, whatever that is.
        with daemon.peer() as peer:
            for _ in range(chance.randrange(100)):
                peer.call("status")
        daemon.stop(signal.SIGKILL)
        daemon.start()
    wait_until_idle(daemon)
    assert {state for state, _ in states(home).values()} == {"done"}
    saved = [text for number in range(3) for text in sessions[number].files().values()]
    assert len(saved) == len(animals)
    assert all(sum(f"lint {animal}" in text for text in saved) == 1 for animal in animals)


def test_with_memory_off_a_turn_is_skipped_without_a_model_call(daemon: Daemon, home: Path) -> None:
    with ScriptedModel(lambda _: says("Nothing.")) as model:
        with_model(daemon, model).start()
        with daemon.peer() as peer:
            peer.call("switch", cwd=str(home / "app"), enabled=False)
        turn = Session(home).turn("Use tabs", "Fine.")
        while states(home).get(turn, ("pending",))[0] == "pending":
            wait_until_idle(daemon)
        state, reason = states(home)[turn]
        assert (state, reason.partition(":")[0]) == ("skipped", "memory off")
        assert model.requests == []


def test_at_the_cap_the_status_says_why_and_until_when(daemon: Daemon, home: Path) -> None:
    configure(home, "[budget]\nusd_per_day = 0.001\n")
    with ScriptedModel(lambda _: says("Nothing.")) as model:
        with_model(daemon, model).start()
        event = finished_run(daemon, lambda: Session(home).turn("Use tabs", "Fine."))
        assert (event["verdict"], event["reason"]) == ("paused", "budget")
        with daemon.peer() as peer:
            status = peer.call("status")
        assert status["spending"]["paused"]
        assert status["spending"]["reason"] == "day-cap"
        assert status["spending"]["until"] > "2026"
        assert status["queue"]["waiting"] == 1, (
            str(status["queue"]) + str(status["transcripts"]) + str(status["errors"])
        )
        assert any("usd_per_day" in error for error in status["errors"])
        assert model.requests == []


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("provider = 'anthropic'", "there is no key"),
        ("key_file = '/nowhere/key'", "/nowhere/key"),
    ],
)
def test_with_a_provider_that_cannot_be_used_turns_wait(
    daemon: Daemon, home: Path, settings: str, words: str
) -> None:
    configure(home, f"[model]\n{settings}\n")
    daemon.env.pop("ANTHROPIC_API_KEY", None)
    daemon.start()
    script = SessionScript("waits", str(home))
    script.prompt("Remember that we deploy on Tuesdays only.")
    script.answer("Noted.")
    transcript = home / ".claude/projects/-app/waits.jsonl"
    transcript.parent.mkdir(parents=True)
    transcript.write_bytes(script.data)
    with daemon.peer() as peer:
        assert words in str(peer.call("ping")["problems"])
        peer.call("turn/ended", session_id="waits", transcript_path=str(transcript))
        while (status := peer.call("status"))["transcripts"]["behind"]:
            give_way()
    assert status["queue"]["waiting"] == 1
    assert status["provider"] == "embedded"
    assert any(words in error for error in status["errors"])
