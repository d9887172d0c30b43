"""The commands about dreams and earlier versions: arguments in, output and an exit code out."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from memoryd_client.cli.main import main
from memoryd_client.version import __version__
from tests.client.test_cli import on_terminal
from tests.support.dream_fixtures import memory_text, tree_hash
from tests.support.running import Daemon
from tests.support.scripted_daemon import Answer, Fault, Result, ScriptedDaemon, Stream
from tests.support.scripted_model import Call, ScriptedModel, asks, says

PING = Result({"version": __version__, "pid": 4242, "uptime_seconds": 7300.5})
BASE: dict[str, Any] = {"project": "/p", "dream": 7}
EVENTS: tuple[dict[str, Any], ...] = (
    BASE | {"kind": "dream/started", "how": "model", "cause": "asked", "memories": 12},
    {"project": "/p", "dream": 6, "kind": "dream/finished", "state": "done"},
    BASE | {"kind": "dream/phase", "phase": "orient", "usd": 0.0, "seconds": 0.1},
    BASE | {"kind": "dream/phase", "phase": "consolidate", "usd": 0.01, "seconds": 3.0},
    BASE | {"kind": "dream/file", "file": "a\x1b[2J.md", "usd": 0.02, "seconds": 4.0},
    BASE | {"kind": "dream/finished", "state": "done", "reason": "", "usd": 0.02, "seconds": 5.0},
)
SUMMARY: dict[str, Any] = {
    "how": "model",
    "files": [
        {"file": "a.md", "deed": "changed", "added": 2, "removed": 1, "diff": "--- a\n+++ a\n+x"},
        {"file": "b.md", "deed": "retired", "added": 0, "removed": 0, "diff": ""},
        {"file": "MEMORY.md", "deed": "index", "added": 0, "removed": 1, "diff": ""},
    ],
    "flags": [{"file": "c.md", "concern": "too long for recall"}],
    "left_alone": ["d.md"],
    "lost": [],
    "input_tokens": 12000,
    "output_tokens": 500,
    "usd": 0.0234,
    "seconds": 5.04,
    "said": "Merged two notes on pnpm.",
}


def dream(state: str = "done", **more: Any) -> dict[str, Any]:
    fields = {"dream": 7, "project": "/p", "cause": "asked", "state": state, "reason": ""}
    times = {"started": "2026-03-30T12:00:00Z", "finished": "2026-03-30T12:00:05Z"}
    return fields | times | {"summary": SUMMARY} | more


@pytest.fixture
def path(home: Path) -> Path:
    return home / "run" / "memoryd.sock"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def serving(path: Path, **answers: Answer) -> ScriptedDaemon:
    named: Mapping[str, Answer] = {
        "ping": PING,
        "dream/start": Result({"dream": 7}),
        "events/subscribe": Stream(EVENTS),
        "dream/log": Result({"dreams": [dream()]}),
    }
    given = {key.replace("_", "/", 1): answer for key, answer in answers.items()}
    return ScriptedDaemon(path, {**named, **given})


# --- dream --------------------------------------------------------------------------------------


def test_alone_it_says_when_the_next_one_starts(
    path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = {"message": "/p: not now: the last dream was 5 hours ago", "last": ""}
    with serving(path, dream_status=Result(status)) as daemon:
        assert main(["dream"]) == 0
    assert capsys.readouterr().out == "/p: not now: the last dream was 5 hours ago\n"
    assert daemon.asked("dream/status") == [{"cwd": str(project)}]


def test_now_starts_one_and_says_how_to_watch(
    path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(path) as daemon:
        assert main(["dream", "--now"]) == 0
    assert "memoryd dream --follow" in capsys.readouterr().out
    assert daemon.asked("dream/start") == [{"cwd": str(project), "force": True, "dry_run": False}]


def test_a_closed_gate_is_a_refusal_with_a_hint(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    closed = Fault(-32003, "no dream now: another dream is running", "refused", "wait a while")
    with serving(path, dream_start=closed):
        assert main(["dream", "--now"]) == 1
    assert "wait a while" in capsys.readouterr().err


def test_followed_in_a_pipe_it_is_plain_lines_and_a_summary(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(path) as daemon:
        assert main(["dream", "--now", "--follow"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "dream 7 starts with 12 memories (model)",
        "phase: orient",
        "phase: consolidate ($0.0100 so far)",
        "changing a\N{REPLACEMENT CHARACTER}[2J.md ($0.0200 so far)",
        "dream 7 is done: 1 changed, 1 retired (5.0 s, 12.5k tokens, $0.0234)",
        "  a.md       changed  +2 -1",
        "  b.md       retired",
        "  MEMORY.md  index    +0 -1",
        "  d.md: skipped (changed meanwhile)",
        "  c.md: too long for recall",
        "Merged two notes on pnpm.",
        "Undo: memoryd dream undo",
    ]
    order = [request.method for request in daemon.requests]
    assert order.index("events/subscribe") < order.index("dream/start")


def test_on_a_terminal_it_is_drawn_in_place_in_plain_letters(path: Path) -> None:
    with serving(path):
        shown = on_terminal(["dream", "--now", "--follow"], 70, {"TERM": "xterm"})
    picture = shown.partition("is done")[0]
    assert picture.isascii() or "\N{REPLACEMENT CHARACTER}" in picture
    assert re.search(r"\x1b\[\dA", picture)
    assert "[x] orient  [x] gather  [>] consolidate  [ ] prune and index" in picture
    assert "1 file   $0.0200" in picture
    assert "[x] prune and index" in picture.rpartition("\x1b[2K  [")[2]  # the last one drawn
    assert "\x1b[2J" not in shown
    assert all(len(line) < 70 for line in re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", shown).split("\n"))


def test_a_dumb_terminal_gets_plain_lines(path: Path) -> None:
    with serving(path):
        shown = on_terminal(["dream", "--now", "--follow"], 70, {"TERM": "dumb"})
    assert "\x1b" not in shown
    assert "phase: orient" in shown


def test_with_json_every_event_is_a_line_and_the_dream_the_last(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(path):
        assert main(["dream", "--now", "--follow", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line.get("kind") for line in lines] == [
        *(event["kind"] for event in EVENTS if event["dream"] == 7),
        None,
    ]
    assert lines[-1]["summary"]["said"] == "Merged two notes on pnpm."


def test_a_dry_run_prints_the_diff(
    path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = Result({"dreams": [dream("previewed")]})
    with serving(path, dream_log=shown) as daemon:
        assert main(["dream", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "--- a\n+++ a\n+x\n" in out
    assert "Nothing was changed." in out
    assert daemon.asked("dream/log") == [{"cwd": str(project), "dream": 7}]


@pytest.mark.parametrize("state", ["refused", "failed", "stopped"])
def test_a_dream_without_a_result_is_exit_code_1(
    path: Path, capsys: pytest.CaptureFixture[str], state: str
) -> None:
    one = dream(state, reason="it would lose 5 of 6 memories")
    with serving(path, dream_log=Result({"dreams": [one]})):
        assert main(["dream", "--now", "--follow"]) == 1
    assert "it would lose 5 of 6 memories" in capsys.readouterr().out


def test_following_without_a_dream_shows_the_status(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(path, dream_status=Result({"message": "/p: will dream soon"})) as daemon:
        assert main(["dream", "--follow"]) == 0
    assert capsys.readouterr().out == "/p: will dream soon\n"
    assert daemon.asked("dream/start") == []


def test_a_running_dream_can_be_joined(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(path, dream_status=Result({"running": {"dream": 7}})) as daemon:
        assert main(["dream", "--follow"]) == 0
    assert "dream 7 is done" in capsys.readouterr().out
    assert daemon.asked("dream/start") == []


def test_a_daemon_that_dies_meanwhile_is_a_failure(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(path, events_subscribe=Stream(EVENTS[:3])):
        assert main(["dream", "--now", "--follow"]) == 1
    assert "stopped during the dream" in capsys.readouterr().err


def test_the_log_has_a_row_for_each_dream(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused = dream("refused", reason="it would lose too much", dream=6)
    with serving(path, dream_log=Result({"dreams": [dream(), refused]})):
        assert main(["dream", "log"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[0].endswith("done     model  $0.02  1 changed, 1 retired")
    assert rows[1].endswith("refused  model  $0.02  it would lose too much")


def test_a_review_shows_the_last_refused_dream(
    path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dreams = [dream(dream=9), dream("refused", dream=8), dream("refused", dream=7)]
    with serving(path, dream_log=Result({"dreams": dreams})) as daemon:
        assert main(["dream", "review"]) == 0
        cwd = {"cwd": str(project)}
        assert daemon.asked("dream/log") == [cwd | {"limit": 500}, cwd | {"dream": 8}]
    out = capsys.readouterr().out
    assert "+x" in out
    assert "Apply it anyway: memoryd dream accept 8" in out


def test_without_one_a_review_says_so(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(path) as daemon:
        assert main(["dream", "review"]) == 0
        assert len(daemon.asked("dream/log")) == 1
    assert capsys.readouterr().out == "No dream is waiting for review.\n"


@pytest.mark.parametrize(("state", "code"), [("done", 0), ("failed", 1)])
def test_an_accepted_dream_is_shown_like_any_other(
    path: Path, project: Path, capsys: pytest.CaptureFixture[str], state: str, code: int
) -> None:
    with serving(path, dream_accept=Result(dream(state))) as daemon:
        assert main(["dream", "accept", "6", "--scope", "user"]) == code
        params = {"cwd": str(project), "scope": "user", "dream": 6}
        assert daemon.asked("dream/accept") == [params]
    assert state in capsys.readouterr().out


def test_undo_names_what_it_left(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = {"dream": 7, "restored": ["a.md"], "left": ["b.md"]}
    with serving(path, dream_undo=Result(answer)):
        assert main(["dream", "undo"]) == 1
    assert "b.md: skipped (changed since the dream)" in capsys.readouterr().out


def test_an_unknown_action_is_wrong_usage(path: Path) -> None:
    with serving(path):
        assert main(["dream", "udno"]) == 2


# --- history ------------------------------------------------------------------------------------


def test_history_shows_who_changed_what(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    versions = [
        {"version": 3, "at": "2026-03-30T12:00:00Z", "cause": "dream", "sha256": "c"},
        {"version": 2, "at": "2026-03-29T12:00:00Z", "cause": "refused", "sha256": "b"},
        {"version": 1, "at": "2026-03-28T12:00:00Z", "cause": "user", "sha256": "a"},
    ]
    answer = {"versions": versions, "content": "same for all\n"}
    with serving(path, memory_history=Result(answer)) as daemon:
        assert main(["history", "a.md"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"version 3, .*, by a dream\n", out)
    assert "not written: the file changed meanwhile" in out
    assert out.count("+same for all") == 1
    assert len(daemon.asked("memory/history")) == 4


# --- end to end ---------------------------------------------------------------------------------


@pytest.fixture
def daemon(home: Path) -> Iterator[Daemon]:
    made = Daemon(home)
    yield made
    made.end()


def test_from_the_first_memory_to_the_undo(daemon: Daemon, home: Path, project: Path) -> None:
    daemon.start()
    for body in ("Use pnpm for installs.\n\n**Why:** one lock file.", "Use pnpm for all installs!"):
        daemon.run("remember", body, "--name", "Package manager", "--project", str(project))
    (memory,) = (home / ".claude/projects").glob("*/memory")
    before = tree_hash(memory)
    where = ("--project", str(project))
    preview = daemon.run("dream", "--dry-run", *where)
    assert preview.returncode == 0, preview.stderr
    assert "+supersedes:" in preview.stdout
    assert tree_hash(memory) == before
    done = daemon.run("dream", "--now", "--follow", *where)
    assert done.returncode == 0, done.stderr
    assert "phase: consolidate" in done.stdout
    assert "1 changed, 1 retired" in done.stdout
    assert tree_hash(memory) != before
    refused = daemon.run("dream", "--follow", *where)
    assert "the last dream was less than an hour ago" in refused.stdout
    status = json.loads(daemon.run("status", "--json", *where).stdout)
    assert status["dreams"][0]["gate"] == "hours"
    assert daemon.run("dream", "undo", *where).returncode == 0
    assert tree_hash(memory) == before
    log = json.loads(daemon.run("dream", "log", "--json", *where).stdout)["dreams"]
    assert [one["state"] for one in log] == ["undone", "previewed"]
    file = next(path.name for path in memory.glob("*.md") if path.name != "MEMORY.md")
    history = daemon.run("history", file, *where).stdout
    assert "by you" in history
    versions = json.loads(daemon.run("history", file, "--json", *where).stdout)["versions"]
    restored = daemon.run("restore", file, str(versions[-1]["version"]), *where)
    assert restored.returncode == 0, restored.stderr
    assert file in restored.stdout
    events = [line["event"] for line in daemon.lines()]
    assert events.count("dream-finished") == 2


def test_the_user_scope_has_dreams_of_its_own(daemon: Daemon, home: Path, project: Path) -> None:
    daemon.start()
    for body in ("Explain in short sentences.", "Explain in short sentences!"):
        daemon.run("remember", body, "--name", "Style", "--scope", "user", "--type", "user")
    memory = home / ".claude/memory"
    before = tree_hash(memory)
    own = ("--scope", "user")
    done = daemon.run("dream", "--now", "--follow", *own)
    assert done.returncode == 0, done.stderr
    assert "phase: consolidate" in done.stdout
    assert "Undo: memoryd dream undo --scope user" in done.stdout
    assert tree_hash(memory) != before
    status = daemon.run("status").stdout
    assert re.search(r"~/\.claude/memory: not before .* \(the last dream was less than", status)
    assert "No dreams here yet" in daemon.run("dream", "log").stdout
    assert "1 changed, 1 retired" in daemon.run("dream", "log", *own).stdout
    assert daemon.run("dream", "undo").returncode == 1
    assert daemon.run("dream", "undo", *own).returncode == 0
    assert tree_hash(memory) == before


def test_a_refused_dream_is_reviewed_accepted_and_undone(home: Path, project: Path) -> None:
    facts = {"alpha": "lives in Kyoto", "beta": "lives in Oslo", "gamma": "lives in Lima"}
    files = [f"feedback_{name}.md" for name in facts]
    gone = memory_text("See the wiki.", name="Roster", supersedes=", ".join(files))
    script = [
        asks(Call("Write", {"file_path": "roster.md", "content": gone})),
        says("One roster will do."),
    ]
    with ScriptedModel(script) as model:
        key = {"ANTHROPIC_API_KEY": "made-up", "ANTHROPIC_BASE_URL": model.base_url}
        daemon = Daemon(home, **key).start()
        try:
            for name, fact in facts.items():
                daemon.run("remember", f"The {name} service {fact}.", "--name", name)
            (memory,) = (home / ".claude/projects").glob("*/memory")
            before = tree_hash(memory)
            refused = daemon.run("dream", "--now", "--follow")
            assert (refused.returncode, tree_hash(memory)) == (1, before)
            assert "it would lose 3 of 3 memories" in refused.stdout
            assert "See what it would change: memoryd dream review 1" in refused.stdout
            shown = daemon.run("dream", "review").stdout
            assert "+supersedes: " + ", ".join(files) in shown
            accepted = daemon.run("dream", "accept")
            assert accepted.returncode == 0, accepted.stderr
            assert "dream 2 is done: 1 new, 3 retired" in accepted.stdout
            assert "See the wiki." in (memory / "roster.md").read_text()
            assert daemon.run("dream", "review").stdout == "No dream is waiting for review.\n"
            again = daemon.run("dream", "accept", "1")
            assert (again.returncode, "dream 1 is accepted" in again.stderr) == (1, True)
            assert daemon.run("dream", "undo").returncode == 0
            assert tree_hash(memory) == before
        finally:
            daemon.end()


def test_a_killed_daemon_undoes_the_dream_when_it_starts_again(
    daemon: Daemon, home: Path, project: Path
) -> None:
    from memoryd.dreams.dream_table import DreamTable, Undoable
    from memoryd.dreams.lock import NOTHING
    from memoryd.memories.records import MemoryDirectory
    from memoryd.system.database import Database
    from memoryd.system.folder import version_of

    daemon.start()
    daemon.run("remember", "Use pnpm.", "--project", str(project))
    (memory,) = (home / ".claude/projects").glob("*/memory")
    (file,) = (path for path in memory.glob("*.md") if path.name != "MEMORY.md")
    daemon.stop(9)
    before, half = file.read_bytes(), memory_text("half a dream").encode()
    state = Database.open(str(home / ".local/state/memoryd/state.db"))
    book = DreamTable(state)
    directory = MemoryDirectory(str(memory), "project")
    number = book.begin(directory, str(project), cause="schedule", at=0.0, lock=NOTHING)
    book.begin_applying(number, [Undoable(file.name, before, 1000.0, version_of(half))])
    state.close()
    file.write_bytes(half)
    daemon.start()
    assert file.read_bytes() == before
    log = json.loads(daemon.run("dream", "log", "--json", "--project", str(project)).stdout)
    assert [one["state"] for one in log["dreams"]] == ["failed"]
