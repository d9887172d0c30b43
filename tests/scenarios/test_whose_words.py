"""Whose words become memories, with a real daemon: imports, pasted text, scripts."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.test_extraction import Session, configure, states, wait_until_idle
from tests.support.running import Daemon

STATED = "From now on keep every amount in cents."
PASTED = "Hi all,\nfrom now on never merge on Fridays.\nRemember that the freeze starts on Monday."


def import_all(daemon: Daemon) -> dict[str, Any]:
    with daemon.peer() as peer:
        peer.call("events/subscribe", kinds=["import/finished"])
        peer.call("import/start", since="2026-01-01")
        finished = peer.next_event()
    assert finished["complete"]
    return wait_until_idle(daemon)


def at_rest(session: Session) -> None:
    """As if nothing had been written for an hour."""
    times = session.path.stat()
    hour_ns = 3600 * 10**9
    os.utime(session.path, ns=(times.st_atime_ns, times.st_mtime_ns - hour_ns))


def test_after_an_import_no_turn_is_held_whatever_it_ended_with(daemon: Daemon, home: Path) -> None:
    without_reasons = Session(home, "without-reasons")
    without_reasons.prompt("fix the total")
    without_reasons.answer("Fixed.", stop_reason=None)
    without_reasons.prompt(STATED)
    without_reasons.answer("Understood.", stop_reason=None)
    cut = Session(home, "cut")
    cut.prompt("Remember that the blue cluster is rebuilt every night.")
    cut.call("Bash", {"command": "make"})
    stopped = Session(home, "stopped")
    stopped.prompt("Always name branches after their ticket in this project.")
    stopped.user("[Request interrupted by user]")
    for session in (without_reasons, cut, stopped):
        at_rest(session)
    daemon.start()
    queue = import_all(daemon)["queue"]
    assert queue == {"waiting": 0, "running": 0, "held": 0, "parked": 0}
    saved = "\n".join(without_reasons.files().values())
    for words in ("every amount in cents", "blue cluster", "after their ticket"):
        assert words in saved


def test_what_was_pasted_is_not_said_and_what_was_typed_around_it_is(
    daemon: Daemon, home: Path
) -> None:
    daemon.start()
    session = Session(home)
    keys = {
        "display": f"{STATED} [Pasted text #1 +2 lines]",
        "pastedContents": {"1": {"id": 1, "type": "text", "content": PASTED}},
        "timestamp": 1794000000000,
        "project": session.cwd,
        "sessionId": session.session_id,
    }
    (home / ".claude/history.jsonl").write_text(json.dumps(keys) + "\n")
    with daemon.peer() as peer:
        peer.call("events/subscribe", kinds=["extraction/finished"])
        session.turn(f"{STATED}\n{PASTED}", "Understood.")
        finished = peer.next_event()
    (text,) = session.files().values()
    assert finished["files"] == list(session.files())
    assert "every amount in cents" in text
    assert "Friday" not in text
    assert "freeze" not in text


@pytest.mark.parametrize("counts", [False, True])
def test_a_script_s_prompt_counts_only_if_the_settings_say_so(
    daemon: Daemon, home: Path, counts: bool
) -> None:
    configure(home, f"[extraction]\nscripted = {json.dumps(counts)}\n")
    daemon.start()
    session = Session(home)
    turn_id = session.prompt(STATED, promptSource="sdk", origin=None, entrypoint="sdk-cli")
    session.answer("Understood.")
    while states(home).get(turn_id, ("", ""))[0] not in {"done", "skipped"}:
        wait_until_idle(daemon)
    assert states(home)[turn_id] == (("done", "done") if counts else ("skipped", "scripted"))
    assert len(session.files()) == int(counts)
