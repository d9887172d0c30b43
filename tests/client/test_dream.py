"""The commands about dreams and earlier versions: arguments in, output and an exit code out."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from memoryd_client.cli.main import main
from memoryd_client.version import __version__
from tests.support.scripted_daemon import Answer, Fault, Result, ScriptedDaemon, Stream

PING = Result({"version": __version__, "pid": 4242, "uptime_seconds": 7300.5})
BASE: dict[str, Any] = {"project": "/p", "dream": 7}
EVENTS: tuple[dict[str, Any], ...] = (
    BASE | {"kind": "dream/started", "how": "model", "cause": "asked", "memories": 12},
    {"project": "/p", "dream": 6, "kind": "dream/finished", "state": "done"},
    BASE | {"kind": "dream/phase", "phase": "orient", "usd": 0.0, "seconds": 0.1},
    BASE | {"kind": "dream/phase", "phase": "consolidate", "usd": 0.01, "seconds": 3.0},
    BASE | {"kind": "dream/said", "text": "Two notes\x1b[2J agree.", "usd": 0.01, "tokens": 900},
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
        "says: Two notes\N{REPLACEMENT CHARACTER}[2J agree. ($0.0100 so far)",
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
