"""Export and import through the command: out, back, into another project, and undone."""

import json
import stat
import tarfile
from pathlib import Path

from tests.scenarios.test_adopt import names, save
from tests.scenarios.test_extraction import Session
from tests.scenarios.test_privacy import run
from tests.support.running import Daemon


def test_an_archive_is_readable_without_us_and_brings_back_what_was_ours(
    daemon: Daemon, home: Path
) -> None:
    daemon.start()
    session, file = Session(home), home / "shop.tar.gz"
    with daemon.peer() as peer:
        tea, ship = (
            save(peer, Path(session.cwd), text) for text in ("The tea is green", "Ship from Lisbon")
        )
        tea.write_text(tea.read_text().replace("green", "black"))
        peer.call("memory/history", cwd=session.cwd, path=str(tea))
        text = ship.read_bytes()
        assert "2 memories with their history" in run(daemon, session, "export", str(file))
        assert "exists already" in run(daemon, session, "export", str(file))
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        with tarfile.open(file) as archive:
            assert archive.extractfile(f"memory/{ship.name}").read() == text  # type: ignore[union-attr]
            history = archive.extractfile("history.jsonl").read()  # type: ignore[union-attr]
            lines = [json.loads(line) for line in history.splitlines()]
        assert [(one["file"], one["version"]) for one in lines] == [
            (ship.name, 1),
            (tea.name, 1),
            (tea.name, 2),
        ]
        assert "black" in lines[2]["content"]
        plan = run(daemon, session, "import-archive", str(file))
        assert "2 are here already" in plan
        assert "nothing was changed" in plan
        peer.call("memory/forget", cwd=session.cwd, path=str(ship))
        done = run(daemon, session, "import-archive", str(file), "--yes")
        assert "1 were written here before and come back" in done
        assert ship.read_bytes() == text
        run(daemon, session, "import-archive", "--undo", "--yes")
        assert not ship.exists()
        assert tea.exists()


def test_what_comes_from_outside_waits_in_the_inbox_and_can_be_withdrawn(
    daemon: Daemon, home: Path
) -> None:
    daemon.start()
    here, there, file = Session(home), Session(home, "t", "other"), home / "shop.tar.gz"
    with daemon.peer() as peer:
        found = save(peer, Path(here.cwd), "The tea is green")
        # Words that this machine's journal does not know, as from another one.
        found.write_text(
            found.read_text().replace("green", "jasmine <private>secretword</private>")
        )
        run(daemon, here, "export", str(file))
        answer = json.loads(run(daemon, there, "import-archive", str(file), "--yes", "--json"))
        assert (answer["same_project"], answer["waiting"]) == (False, [found.name])
        assert names(peer, Path(there.cwd)) == []
        (item,) = peer.call("inbox/list", cwd=there.cwd)["items"]
        assert item["reason"] == "imported"
        assert "secretword" not in json.dumps(item)
        refused = peer.ask("inbox/accept", ids=[item["id"]], by="agent")["error"]
        assert refused["data"]["kind"] == "refused"
        assert "is undone" in run(daemon, there, "import-archive", "--undo", "--yes")
        assert peer.call("inbox/list", cwd=there.cwd)["items"] == []
        run(daemon, there, "import-archive", str(file), "--yes")
        (item,) = peer.call("inbox/list", cwd=there.cwd)["items"]
        (kept,) = peer.call("inbox/accept", ids=[item["id"]])["kept"]
        memory = peer.call("memory/get", cwd=there.cwd, path=kept["path"])
        assert "trust: imported" in memory["content"]
        assert peer.call("memory/why", cwd=there.cwd, path=kept["path"])["trust"] == "imported"
        error = peer.ask("archive/import", cwd=there.cwd, path=str(file), by="agent")["error"]
        assert error["data"]["kind"] == "refused"
    file.write_bytes(b"junk")
    assert "the archive is refused" in run(daemon, there, "import-archive", str(file), "--yes")
