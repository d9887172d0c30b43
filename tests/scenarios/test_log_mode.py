"""Log mode through the socket: today's log is recalled, and switching modes loses nothing."""

from pathlib import Path

from tests.scenarios.test_extraction import Session, configure, finished_run
from tests.support.running import Daemon


def test_what_was_noted_today_is_recalled_before_and_after_the_mode_is_switched(
    daemon: Daemon, home: Path
) -> None:
    session = Session(home)
    in_log_mode = f'[projects."{session.cwd}"]\nmode = "log"\n'
    configure(home, in_log_mode)
    daemon.start()
    said = "Remember that we ship the catalogue from Lisbon."
    finished_run(daemon, lambda: session.turn(said, "Fine."))
    query = {"query": "where do we ship the catalogue from", "cwd": session.cwd}
    with daemon.peer() as peer:
        found = peer.call("recall", **query)["memories"]
        (log,) = (one for one in found if one["name"].startswith("Log of "))
        assert "from Lisbon" in log["content"]
    finished_run(daemon, lambda: session.turn("Remember that the tea is from Porto.", "Fine."))
    with daemon.peer() as peer:
        found = peer.call("recall", query="tea from Porto", cwd=session.cwd)["memories"]
        assert any("the tea is from Porto" in one["content"] for one in found)
    daemon.stop()
    configure(home, "")
    daemon.start()
    finished_run(daemon, lambda: session.turn("Remember that cats rule the office.", "Fine."))
    with daemon.peer() as peer:
        assert "from Lisbon" in peer.call("recall", **query)["text"]
        peer.call("events/subscribe", kinds=["dream/finished"])
        peer.call("dream/start", cwd=session.cwd, force=True)
        peer.next_event()
        assert len(session.files()) == 3
        assert "from Lisbon" in peer.call("recall", **query)["text"]
