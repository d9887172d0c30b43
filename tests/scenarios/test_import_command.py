"""memoryd import with a person in front of it."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd_client.cli import times
from tests.client.test_sessions import ESTIMATE, PING, PROGRESS
from tests.support.running import Daemon
from tests.support.scripted_daemon import Answer, Result, ScriptedDaemon, Stream
from tests.support.session_script import SessionScript
from tests.support.tail_fixtures import write
from tests.support.terminal import Terminal

pytestmark = pytest.mark.usefixtures("turns_are_held")


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


def old_session(name: str, home: Path) -> SessionScript:
    script = SessionScript(name, str(home))
    script.turn("question", "answer")
    return script


def test_a_person_is_asked_and_sees_it_happen(daemon: Daemon, home: Path) -> None:
    for number in range(5):
        write(home, old_session(f"s{number}", home))
    daemon.start()
    refusing = Terminal(daemon, "import", "--since", "2026-01-01")
    refusing.read_until("[y/N] ")
    refusing.type("n\n")
    assert refusing.end() == 1
    assert "nothing was imported" in refusing.seen
    agreeing = Terminal(daemon, "import", "--since", "2026-01-01")
    assert "5 turns in 5 sessions" in agreeing.read_until("[y/N] ")
    agreeing.type("y\n")
    assert agreeing.end() == 0
    assert "5 turns queued" in agreeing.seen
    listed = daemon.run("sessions", "--project", str(home))
    assert len(listed.stdout.splitlines()) == 5
    shown = daemon.run("sessions", "show", "s0")
    assert shown.stdout.splitlines()[3:] == [
        f"you {times.date_and_time('2026-11-16T01:00:01Z')}",
        "  question",
        "",
        f"assistant {times.date_and_time('2026-11-16T01:00:02Z')}",
        "  answer",
    ]


def test_an_interrupt_stops_the_import_and_says_how_to_continue(path: Path, home: Path) -> None:
    class NeverEnding(ScriptedDaemon):
        """Keeps the subscription open after its events."""

        def _reply(self, connection: object, message: dict[str, object]) -> bool:
            super()._reply(connection, message)  # type: ignore[arg-type]  # passed on as it came
            return True

    answers: dict[str, Answer] = {
        "ping": PING,
        "import/start": Result(ESTIMATE),
        "import/stop": Result({"stopping": True}),
        "events/subscribe": Stream((PROGRESS,)),
    }
    with NeverEnding(path, answers) as daemon:
        client = Terminal(Daemon(home), "import", "--yes")
        client.read_until("] 1 of 2 sessions, 5 turns")
        client.process.send_signal(signal.SIGINT)
        assert client.end() == 130
        assert daemon.asked("import/stop") == [{}]
    assert "To continue: memoryd import --since 30d" in client.seen
    assert "Traceback" not in client.seen
