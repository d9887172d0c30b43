"""What the commands `team` and `device` say, and what they refuse before they ask anybody."""

import io
import sys
from pathlib import Path

import pytest

from memoryd_client.cli import main
from memoryd_client.version import __version__
from tests.support.scripted_daemon import Result, ScriptedDaemon

PING = Result({"version": __version__, "pid": 4242, "uptime_seconds": 7300.5})
SYNCED: dict[str, object] = {"pulled": [], "pushed": ["a.md"], "removed": [], "conflicts": []}


def serving(home: Path, method: str, answer: object) -> ScriptedDaemon:
    return ScriptedDaemon(home / "run/memoryd.sock", {"ping": PING, method: Result(answer)})


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("device init", "needs --member ROLE"),
        ("device init shop --member alice", "takes no name"),
        ("device add --member alice", "--member goes with init"),
        ("device sync shop", "takes no name"),
        ("device revoke", "needs a name"),
        ("device list --database postgresql://x@y/z", "goes with add and init"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    home: Path, words: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(home, "device/list", {}) as daemon:
        assert main.main(words.split()) == 2
    assert says in capsys.readouterr().err
    assert [one.method for one in daemon.requests] == ["ping"]


@pytest.mark.usefixtures("project")
def test_a_sync_names_what_stays_where_and_why(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = SYNCED | {
        "refused": [{"name": "b.md", "reason": "its seal is broken"}],
        "skipped": [{"name": "c.md", "reason": "its name is not one of a memory"}],
        "waiting": {"acme/shop": 1},
    }
    with serving(home, "device/sync", answer):
        assert main.main(["device", "sync"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "pushed 1",
        "  not taken: b.md: its seal is broken",
        "  not sent: c.md: its name is not one of a memory",
        "  waiting on the server: 1 file (project acme/shop is not on this machine yet)",
    ]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(("count", "said"), [(1, "1 memory"), (2, "2 memories")])
def test_what_waits_for_a_review_is_counted(
    home: Path, capsys: pytest.CaptureFixture[str], count: int, said: str
) -> None:
    held = [{"name": f"{number}.md", "reason": "alice"} for number in range(count)]
    with serving(home, "team/sync", SYNCED | {"held": held}):
        assert main.main(["team", "sync"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"  waiting for your review: {said} by alice (memoryd inbox)"


@pytest.mark.usefixtures("project")
def test_a_code_is_read_from_input_for_a_lone_dash(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("7KQ2M-0XJ4T\n"))
    with serving(home, "device/add", {"name": "lap", "server": "x"}) as daemon:
        assert main.main(["device", "add", "-"]) == 0
    (asked,) = daemon.asked("device/add")
    assert isinstance(asked, dict)
    assert asked["code"] == "7KQ2M-0XJ4T"
