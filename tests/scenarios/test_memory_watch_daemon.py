"""Memories that others write are seen by a running daemon, however many."""

from pathlib import Path

from memoryd.base import paths
from tests.scenarios.test_memory_watch import write
from tests.support.running import Daemon


def test_a_memory_in_a_new_folder_is_announced_recorded_and_recalled(home: Path) -> None:
    cwd = home / "app"
    cwd.mkdir()
    daemon = Daemon(home).start()
    try:
        with daemon.peer() as peer, daemon.peer() as listener:
            listener.call("events/subscribe", kinds=["memory/saved"])
            assert peer.call("recall", query="zirconium boiler", cwd=str(cwd))["memories"] == []
            memory = Path(paths.project_folder(paths.places({}, "linux", 0, str(home)), str(cwd)))
            for place in ("memory/sub/a.md", "memory/team/sub/t.md"):
                path = write(memory / place, "The zirconium boiler is in the cellar.")
                while listener.next_event()["path"] != str(path):
                    continue
                found = peer.call("recall", query="zirconium boiler", cwd=str(cwd))
                assert str(path) in [one["path"] for one in found["memories"]]
                (version,) = peer.call("memory/history", cwd=str(cwd), path=str(path))["versions"]
                assert version["cause"] == "outside"
    finally:
        daemon.end()


def test_a_subscriber_that_listens_hears_of_every_change_however_many_there_are(
    home: Path,
) -> None:
    count = 700
    for number in range(count):
        write(home / f"checkout/m{number}.md")
    daemon = Daemon(home).start()
    try:
        with daemon.peer() as listener:
            listener.call("events/subscribe", kinds=["memory/saved"])
            (home / "checkout").rename(home / ".claude/memory")
            heard = {listener.next_event()["path"] for _ in range(count)}
        assert len(heard) == count
    finally:
        daemon.end()


def test_a_folder_that_another_one_replaces_is_read_again(home: Path) -> None:
    cwd = str(home / "app")
    memory = Path(paths.project_folder(paths.places({}, "linux", 0, str(home)), cwd), "memory")
    write(memory / "a.md", "The zirconium boiler is in the cellar.")
    write(home / "other/a.md", "The tungsten boiler is in the attic.")
    added = write(home / "other/b.md", "The cobalt pump is in the yard.")
    daemon = Daemon(home).start()
    try:
        with daemon.peer() as peer, daemon.peer() as listener:
            assert peer.call("recall", query="zirconium", cwd=cwd)["memories"]
            listener.call("events/subscribe", kinds=["memory/saved"])
            memory.rename(home / "gone")
            added.parent.rename(memory)
            while listener.next_event()["path"] != str(memory / "b.md"):
                continue
            for query, file in (("tungsten", "a.md"), ("cobalt", "b.md")):
                (found,) = peer.call("recall", query=query, cwd=cwd)["memories"]
                assert found["path"] == str(memory / file)
            assert peer.call("recall", query="zirconium", cwd=cwd)["memories"] == []
    finally:
        daemon.end()
