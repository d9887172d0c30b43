"""memoryd sessions and memoryd import, as people and scripts use them."""

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from memoryd_client.cli import wording
from memoryd_client.cli.main import main
from memoryd_client.version import __version__
from tests.support.scripted_daemon import Answer, Fault, Raw, Result, ScriptedDaemon, Stream

PING = Result({"version": __version__, "pid": 1, "uptime_seconds": 1.0})
SESSION = {
    "session_id": "2e368284-5228-463e-8eca-20110ab31a9d",
    "cwd": "/home/dev/app",
    "git_branch": "main",
    "first_prompt": "Fix the\nadd function",
    "turns": 3,
    "context_tokens": 12_345,
    "started": "2026-03-30T10:00:00Z",
    "last_activity": "2026-03-30T12:00:00Z",
}
ESTIMATE = {
    "sessions": 2,
    "turns": 14,
    "tokens": 36_000,
    "usd": 0.0432,
    "model": "claude-haiku-5-5",
    "since": "2026-03-01T00:00:00Z",
    "resumes": False,
}
NOTHING = ESTIMATE | {"sessions": 0, "turns": 0, "tokens": 0, "usd": 0.0}
PROGRESS = {"kind": "import/progress", "files_done": 1, "files_total": 2, "turns": 5}
FINISHED = {
    "kind": "import/finished",
    "files_done": 2,
    "files_total": 2,
    "turns": 14,
    "complete": True,
}


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def path(home: Path) -> Path:
    return home / "run/memoryd.sock"


def serving(path: Path, answers: Mapping[str, Answer]) -> ScriptedDaemon:
    return ScriptedDaemon(path, {"ping": PING, **answers})


def test_sessions_are_a_line_each(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(path, {"session/list": Result({"sessions": [SESSION]})}) as daemon:
        assert main(["sessions", "--project", "/p", "--limit", "3"]) == 0
    assert capsys.readouterr().out == (
        "2e368284  2026-03-30 12:00  3 turns  12.3k tokens  main  Fix the add function\n"
    )
    assert daemon.asked("session/list") == [{"cwd": "/p", "limit": 3}]


def test_without_sessions_it_says_so(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(path, {"session/list": Result({"sessions": []})}):
        assert main(["sessions"]) == 0
    assert "No sessions" in capsys.readouterr().out


def test_sessions_as_json_are_the_daemons_answer(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = {"sessions": [SESSION], "of a newer daemon": 1}
    with serving(path, {"session/list": Result(answer)}):
        assert main(["sessions", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == answer


def test_a_session_is_printed_as_a_conversation(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = [
        {"kind": "prompt", "text": "Fix it\n\nplease", "at": "2026-03-30T10:00:00Z"},
        {"kind": "tools", "text": "Read calc.py\nBash make (failed)"},
        {"kind": "assistant", "text": "Done.\n", "at": "2026-03-30T10:01:00Z"},
        {"kind": "compaction", "text": "auto"},
        {"kind": "of a newer daemon", "text": "\x1b[31mred"},
    ]
    answer = SESSION | {"parts": parts, "parts_left_out": 4}
    with serving(path, {"session/show": Result(answer)}) as daemon:
        assert main(["sessions", "show", "2e36"]) == 0
    assert daemon.asked("session/show") == [{"session_id": "2e36"}]
    assert capsys.readouterr().out.splitlines() == [
        "session 2e368284-5228-463e-8eca-20110ab31a9d",
        "2026-03-30 10:00 in /home/dev/app, branch main",
        "(the 4 oldest parts are left out)",
        "",
        "you 2026-03-30 10:00",
        "  Fix it",
        "",
        "  please",
        "  * Read calc.py",
        "  * Bash make (failed)",
        "",
        "assistant 2026-03-30 10:01",
        "  Done.",
        "",
        "--- compacted (auto) ---",
        "",
        "of a newer daemon ",
        "  \N{REPLACEMENT CHARACTER}[31mred",
    ]


@pytest.mark.parametrize("words", [["show"], ["list"], ["shwo", "abc"]])
def test_wrong_usage_names_the_action(
    path: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(path, {}):
        assert main(["sessions", *words]) == 2
    assert "show" in capsys.readouterr().err


def test_a_dry_run_only_prints_the_cost(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(path, {"import/start": Result(ESTIMATE)}) as daemon:
        assert main(["import", "--since", "30d", "--project", "/p", "--dry-run"]) == 0
    assert capsys.readouterr().out == (
        "14 turns in 2 sessions since 2026-03-01 00:00: about 36.0k tokens, at most $0.04 with"
        " claude-haiku-5-5 (free without a key).\n"
    )
    assert daemon.asked("import/start") == [{"since": "30d", "cwd": "/p", "dry_run": True}]


def test_without_a_project_all_projects_are_imported(path: Path) -> None:
    with serving(path, {"import/start": Result(ESTIMATE)}) as daemon:
        assert main(["import", "--dry-run"]) == 0
    assert daemon.asked("import/start") == [{"since": "30d", "dry_run": True}]


def test_with_nothing_to_import_no_question_is_asked(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(path, {"import/start": Result(NOTHING)}) as daemon:
        assert main(["import", "--since", "30d"]) == 0
    assert "nothing to import" in capsys.readouterr().out
    assert len(daemon.asked("import/start")) == 1


def test_without_a_terminal_the_import_needs_yes(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(path, {"import/start": Result(ESTIMATE)}) as daemon:
        assert main(["import"]) == 2
    assert "--yes" in capsys.readouterr().err
    assert len(daemon.asked("import/start")) == 1


def test_an_import_is_followed_to_its_end_in_plain_lines(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers: dict[str, Answer] = {
        "import/start": Result(ESTIMATE),
        "events/subscribe": Stream((PROGRESS, PROGRESS, FINISHED)),
    }
    with serving(path, answers) as daemon:
        assert main(["import", "--yes"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == [
        "1 of 2 sessions, 5 turns",
        "14 turns queued; memoryd status shows the progress",
    ]
    assert daemon.asked("import/start")[1] == {"since": "30d"}


def test_an_import_that_was_stopped_elsewhere_says_how_to_continue(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers: dict[str, Answer] = {
        "import/start": Result(ESTIMATE | {"resumes": True}),
        "events/subscribe": Stream((FINISHED | {"complete": False, "turns": 3},)),
    }
    with serving(path, answers):
        assert main(["import", "--yes", "--project", "."]) == 1
    out = capsys.readouterr().out
    assert out.startswith("Continues an earlier import. ")
    assert "To continue: memoryd import --since 30d --project ." in out


def test_a_daemon_that_stops_meanwhile_is_a_failure_with_a_hint(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers: dict[str, Answer] = {"import/start": Result(ESTIMATE), "events/subscribe": Stream(())}
    with serving(path, answers):
        assert main(["import", "--yes"]) == 1
    assert "memoryd import --since 30d" in capsys.readouterr().err


def test_an_import_as_json_prints_json_alone(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers: dict[str, Answer] = {
        "import/start": Result(ESTIMATE),
        "events/subscribe": Stream((PROGRESS, FINISHED)),
    }
    with serving(path, answers):
        assert main(["import", "--yes", "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == FINISHED
        assert main(["import", "--dry-run", "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == ESTIMATE


def test_a_refusal_of_the_daemon_is_shown(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fault = Fault(-32602, "'soon' is neither a length of time nor a date", "invalid-input", "30d")
    with serving(path, {"import/start": fault}):
        assert main(["import", "--since", "soon"]) == 1
    assert "30d" in capsys.readouterr().err


def test_parked_turns_can_be_tried_again(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(path, {"queue/retry": Result({"retried": 3})}):
        assert main(["import", "--retry-parked"]) == 0
    assert capsys.readouterr().out == "trying 3 parked turns again\n"


def test_an_answer_of_a_strange_daemon_breaks_nothing(path: Path) -> None:
    strange = Result({"sessions": [{"turns": "many"}, 7], "parts": [{"text": 1}]})
    with serving(path, {"session/list": strange, "session/show": strange}):
        assert main(["sessions"]) == 0
        assert main(["sessions", "show", "x"]) == 0
    with serving(path, {"session/list": Raw(b"nonsense\n")}):
        assert main(["sessions"]) == 1


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0"), (999, "999"), (1000, "1.0k"), (2_500_000, "2.5M")]
)
def test_large_numbers_are_short(number: int, words: str) -> None:
    assert wording.abbreviated(number) == words
