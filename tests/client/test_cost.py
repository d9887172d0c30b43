"""`memoryd cost`: the bill as a table with bars, and what is still allowed."""

from pathlib import Path

import pytest

from memoryd_client.cli import cost as cli_cost
from memoryd_client.cli.main import main
from memoryd_client.version import __version__
from tests.support.scripted_daemon import Result, ScriptedDaemon

PING = Result({"version": __version__, "pid": 1, "uptime_seconds": 1.0})
TOTAL = {
    "usd": 0.5,
    "calls": 12,
    "open_calls": 0,
    "input_tokens": 1000,
    "output_tokens": 2500,
    "cache_read_tokens": 9000,
    "cache_write_tokens": 0,
}
ANSWER = {
    "since": "2026-11-01",
    "spending": {
        "today_usd": 0.25,
        "month_usd": 0.75,
        "paused": True,
        "reason": "day-cap",
        "until": "2100-01-01T00:00:00Z",
        "usd_per_day": 0.25,
        "usd_per_month": 15.0,
    },
    "day_resets": "2100-01-01T00:00:00Z",
    "month_resets": "2100-02-01T00:00:00Z",
    "days": [{"name": "2026-11-14", **TOTAL}, {"name": "2026-11-16", **TOTAL, "usd": 0.25}],
    "jobs": [{"name": "extraction", **TOTAL}, {"name": "dream", **TOTAL, "open_calls": 2}],
    "projects": [{"name": "/src/app\x1b[31m", **TOTAL}],
    "models": [{"name": "claude-haiku-5-5", **TOTAL}],
}


@pytest.fixture
def path(home: Path) -> Path:
    return home / "run" / "memoryd.sock"


def shown(path: Path, capsys: pytest.CaptureFixture[str], answer: object, *words: str) -> str:
    with ScriptedDaemon(path, {"ping": PING, "cost": Result(answer)}) as daemon:
        assert main(["cost", *words]) == 0
        assert daemon.asked("cost") == [{"days": int(words[1]) if len(words) > 1 else 30}]
    return capsys.readouterr().out


def test_the_bill_has_a_bar_for_each_day_and_a_row_for_each_payer(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown(path, capsys, ANSWER, "--days", "7").splitlines()
    assert lines[0].startswith("$0.25 of $0.25 today, $0.75 of $15.00 this month; paused until")
    assert "daily budget resets at 2100-01-01" in lines[0]
    start = lines.index("by day") + 1
    bars = {line.split()[0]: line.count("█") + line.count("#") for line in lines[start : start + 3]}
    assert bars == {"2026-11-14": 30, "2026-11-15": 0, "2026-11-16": 15}
    assert (
        "extraction  $0.5000  12 calls                      "
        "10.0k tokens in (90% from the cache), 2.5k out"
    ) in lines
    assert any("12 calls (2 of unknown cost)" in line for line in lines)
    assert not any("\x1b" in line for line in lines)


def test_no_spending_is_said(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = {"spending": {"today_usd": 0.0, "month_usd": 0.0}, "days": []}
    assert "Nothing was spent in the last 30 days." in shown(path, capsys, empty)


def test_a_daemon_of_another_version_is_shown_as_far_as_it_can_be_read(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    strange = {"days": [{"name": "someday", "usd": "much"}], "jobs": 3}
    assert "someday" in shown(path, capsys, strange)


def test_bars_are_plain_where_blocks_cannot_be_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Plain:
        encoding = "ANSI_X3.4-1968"

    monkeypatch.setattr("sys.stdout", Plain())
    assert cli_cost.bar_sign() == "#"
