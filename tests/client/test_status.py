"""The output of `memoryd` alone: the status, and what to type next."""

import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from memoryd_client.cli import status as cli_status
from memoryd_client.cli import times, wording
from memoryd_client.cli.main import main
from memoryd_client.version import __version__
from tests.support.scripted_daemon import Result, ScriptedDaemon

PING = {"version": __version__, "pid": 4242, "uptime_seconds": 7300.5}
STATUS: dict[str, object] = {
    "version": __version__,
    "provider": "embedded",
    "transcripts": {"watched": 12, "behind": 300},
    "queue": {"waiting": 1, "running": 2, "parked": 0},
    "spending": {
        "today_usd": 0.257,
        "month_usd": 3.0,
        "usd_per_day": 1.0,
        "usd_per_month": 15.0,
        "paused": False,
    },
    "memory": {"enabled": True, "reason": ""},
    "recent": [
        {"name": "Tabs", "cause": "user"},
        {"name": "Deploys", "cause": "of another version"},
    ],
    "errors": ["the disk is full", {"message": "and slow"}],
}


@pytest.fixture(autouse=True)
def project(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = home / "src" / "app"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def shown(
    status: dict[str, object], home: Path, capsys: pytest.CaptureFixture[str], *words: str
) -> list[str]:
    path = home / "run" / "memoryd.sock"
    with ScriptedDaemon(path, {"ping": Result(PING), "status": Result(status)}):
        assert main(words) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("words", [(), ("status",)])
def test_the_status_is_a_few_lines(
    home: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert shown(STATUS, home, capsys, *words) == [
        f"memoryd      {__version__}, running as process 4242, up 2 hours",
        "project      ~/src/app",
        "memory       on",
        "provider     embedded (built-in rules, no model)",
        "spending     $0.26 of $1.00 today, $3.00 of $15.00 this month",
        "transcripts  12 watched, 300 bytes left to read",
        "queue        1 waiting, 2 running",
        "last saved   Tabs (by you)",
        "             Deploys (of another version)",
        "warnings     the disk is full",
        "             and slow",
        "hooks        Claude Code has none, so sessions get no memories -> memoryd install",
    ]
    main(["install", "--hooks", "claude-code"])
    capsys.readouterr()
    assert not any("hooks" in line for line in shown(STATUS, home, capsys, *words))
    settings = home / ".claude/settings.json"
    launcher = f"/bin/sh {home}/.local/share/memoryd/bin/memoryd-launch hook 2>/dev/null; exit 0"
    settings.write_text(settings.read_text().replace(launcher, "/old/bin/memoryd hook"))
    assert "an earlier version" in shown(STATUS, home, capsys, *words)[-1]


@pytest.mark.parametrize("status", [{}, {"memory": 3, "queue": [], "dreams": [1], "recent": "x"}])
def test_a_terse_daemon_leaves_lines_out(
    status: dict[str, object], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown({"version": __version__, **status}, home, capsys)
    assert [line.split()[0] for line in lines] == ["memoryd", "project", "hooks"]


def test_memory_that_is_off_says_why_and_how_to_turn_it_on(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = {"enabled": False, "reason": "switched off here"}
    lines = shown({"memory": memory}, home, capsys)
    assert "memory       off: switched off here -> memoryd on" in lines


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({}, "paused: the budget is used up"),
        ({"reason": "day-cap"}, "paused: the daily budget is used up"),
        ({"reason": "breaker-open"}, "paused: the provider failed, or asked for a pause"),
    ],
)
def test_a_pause_in_spending_says_why(extra: dict[str, object], words: str) -> None:
    spending = {"today_usd": 1.0, "month_usd": 3.0, "paused": True}
    assert cli_status.spending_words(spending | extra) == f"$1.00 today, $3.00 this month; {words}"


def test_a_pause_says_until_when() -> None:
    tomorrow = datetime.now().astimezone() + timedelta(days=1)
    words = cli_status.spending_words({"paused": True, "until": tomorrow.timestamp()})
    assert f"paused until {tomorrow:%Y-%m-%d %H:%M}: " in words


def test_a_model_is_named_with_the_place_it_is_asked_at() -> None:
    answer = {"provider": "anthropic", "model": "claude-x", "model_host": "api.example.com"}
    assert cli_status.provider_words(answer) == "anthropic, claude-x at api.example.com"
    assert cli_status.provider_words({"provider": "anthropic"}) == "anthropic"


@pytest.mark.parametrize(
    ("dream", "words"),
    [
        ({"is_open": True}, "~/src/app: can start at any time"),
        ({"is_open": False, "reason": "2 of 5 sessions"}, "~/src/app: not yet (2 of 5 sessions)"),
        ({"running": {"phase": "gather"}}, "~/src/app: dreaming (gather)"),
    ],
)
def test_dreams_say_what_they_wait_for(project: Path, dream: dict[str, object], words: str) -> None:
    assert cli_status.dream_words({"project": str(project)} | dream) == words


def test_a_dream_says_when_it_may_begin(project: Path) -> None:
    tomorrow = datetime.now().astimezone() + timedelta(days=1)
    gate = {"project": str(project), "opens_at": tomorrow.isoformat(), "reason": "too soon"}
    when = tomorrow.strftime("%Y-%m-%d %H:%M")
    assert cli_status.dream_words(gate) == f"~/src/app: not before {when} (too soon)"


def test_nothing_to_do_is_an_empty_queue_and_all_read() -> None:
    assert cli_status.queue_words({"waiting": 0, "running": 0}) == "empty"
    assert cli_status.transcript_words({"watched": 3, "behind": 0}) == "3 watched, all read"


def test_what_was_saved_says_when() -> None:
    memory = {"name": "Tabs", "cause": "extraction", "at": time.time() - 3 * 86400}
    assert cli_status.recent_words(memory) == "Tabs (3 days ago, learned from a session)"
    assert cli_status.recent_words({"name": "Tabs", "at": time.time() + 5}) == "Tabs (just now)"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "less than a second"),
        (1.2, "1 second"),
        (59, "59 seconds"),
        (119, "119 seconds"),
        (120, "2 minutes"),
        (7300.5, "2 hours"),
        (3 * 86400, "3 days"),
    ],
)
def test_a_duration_is_in_words(seconds: float, words: str) -> None:
    assert times.duration(seconds) == words


@pytest.mark.parametrize("value", [None, True, "soon", [], "99999-01-01"])
def test_a_value_that_is_not_a_time_is_left_out(value: object) -> None:
    assert times.parsed_time(value) is None
    assert cli_status.recent_words({"name": "Tabs", "at": value}) == "Tabs"


def test_only_what_is_at_home_gets_a_tilde(home: Path) -> None:
    assert wording.tilde(str(home)) == "~"
    assert wording.tilde(f"{home}/src") == "~/src"
    assert wording.tilde(f"{home}-not") == f"{home}-not"


def test_without_a_daemon_a_newcomer_learns_what_to_type(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([]) == 69
    captured = capsys.readouterr()
    assert captured.out == ""
    for command in ("memoryd demo", "memoryd serve", "memoryd install"):
        assert command in captured.err


def test_a_service_that_is_down_is_a_case_for_the_doctor(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unit = home / ".config/systemd/user/memoryd.service"
    unit.parent.mkdir(parents=True)
    unit.touch()
    assert main([]) == 69
    errors = capsys.readouterr().err
    assert "memoryd doctor" in errors
    assert "memoryd demo" not in errors
