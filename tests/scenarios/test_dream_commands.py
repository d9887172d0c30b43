"""Dreams by command, on a real daemon: from the first note to the undo."""

import json
import re
from pathlib import Path

import pytest

from tests.support.dream_fixtures import memory_text, tree_hash
from tests.support.running import Daemon
from tests.support.scripted_model import Call, ScriptedModel, asks, says

pytestmark = pytest.mark.usefixtures("project")


def test_from_the_first_memory_to_the_undo(daemon: Daemon, home: Path, project: Path) -> None:
    daemon.start()
    for body in ("Use pnpm for installs.\n\n**Why:** one lock file.", "Use pnpm for all installs!"):
        daemon.run("remember", body, "--name", "Package manager", "--project", str(project))
    (memory,) = (home / ".claude/projects").glob("*/memory")
    before = tree_hash(memory)
    where = ("--project", str(project))
    preview = daemon.run("dream", "--dry-run", *where)
    assert preview.returncode == 0, preview.stderr
    assert "+supersedes:" in preview.stdout
    assert tree_hash(memory) == before
    done = daemon.run("dream", "--now", "--follow", *where)
    assert done.returncode == 0, done.stderr
    assert "phase: consolidate" in done.stdout
    assert "1 changed, 1 retired" in done.stdout
    assert tree_hash(memory) != before
    refused = daemon.run("dream", "--follow", *where)
    assert "the last dream was less than an hour ago" in refused.stdout
    status = json.loads(daemon.run("status", "--json", *where).stdout)
    assert status["dreams"][0]["gate"] == "hours"
    assert daemon.run("dream", "undo", *where).returncode == 0
    assert tree_hash(memory) == before
    log = json.loads(daemon.run("dream", "log", "--json", *where).stdout)["dreams"]
    assert [one["state"] for one in log] == ["undone", "previewed"]
    file = next(path.name for path in memory.glob("*.md") if path.name != "MEMORY.md")
    history = daemon.run("history", file, *where).stdout
    assert "by you" in history
    versions = json.loads(daemon.run("history", file, "--json", *where).stdout)["versions"]
    restored = daemon.run("restore", file, str(versions[-1]["version"]), *where)
    assert restored.returncode == 0, restored.stderr
    assert file in restored.stdout
    events = [line["event"] for line in daemon.lines()]
    assert events.count("dream-finished") == 2


def test_the_journal_of_systemd_tells_a_dream_as_a_story(daemon: Daemon, home: Path) -> None:
    journal = home / "journal"
    journal.touch()
    daemon.env["JOURNAL_STREAM"] = f"{journal.stat().st_dev}:{journal.stat().st_ino}"
    daemon.serve_command = ("sh", "-c", f'exec "$@" 2>>{journal}', "sh", *daemon.serve_command)
    daemon.start()
    daemon.run("remember", "Explain in short sentences.", "--scope", "user", "--type", "user")
    done = daemon.run("dream", "--now", "--follow", "--scope", "user")
    assert done.returncode == 0, done.stderr
    daemon.stop()
    lines = journal.read_text().splitlines()
    assert "<6>dream 1 begins over 1 memory of the user's own memories, without a model" in lines
    assert any(line.startswith("<6>dream 1 is done: Read 1 memory: ") for line in lines)
    assert any(line.startswith("<6>started ") for line in lines)
    assert len(lines) == len(daemon.lines())


def test_the_user_scope_has_dreams_of_its_own(daemon: Daemon, home: Path, project: Path) -> None:
    daemon.start()
    for body in ("Explain in short sentences.", "Explain in short sentences!"):
        daemon.run("remember", body, "--name", "Style", "--scope", "user", "--type", "user")
    memory = home / ".claude/memory"
    before = tree_hash(memory)
    own = ("--scope", "user")
    done = daemon.run("dream", "--now", "--follow", *own)
    assert done.returncode == 0, done.stderr
    assert "phase: consolidate" in done.stdout
    assert "Undo: memoryd dream undo --scope user" in done.stdout
    assert tree_hash(memory) != before
    status = daemon.run("status").stdout
    assert re.search(r"~/\.claude/memory: not before .* \(the last dream was less than", status)
    assert "No dreams here yet" in daemon.run("dream", "log").stdout
    assert "1 changed, 1 retired" in daemon.run("dream", "log", *own).stdout
    assert daemon.run("dream", "undo").returncode == 1
    assert daemon.run("dream", "undo", *own).returncode == 0
    assert tree_hash(memory) == before


def test_a_refused_dream_is_reviewed_accepted_and_undone(home: Path, project: Path) -> None:
    facts = {"alpha": "lives in Kyoto", "beta": "lives in Oslo", "gamma": "lives in Lima"}
    files = [f"feedback_{name}.md" for name in facts]
    gone = memory_text("See the wiki.", name="Roster", supersedes=", ".join(files))
    script = [
        asks(Call("Write", {"file_path": "roster.md", "content": gone})),
        says("One roster will do."),
    ]
    with ScriptedModel(script) as model:
        key = {"ANTHROPIC_API_KEY": "made-up", "ANTHROPIC_BASE_URL": model.base_url}
        daemon = Daemon(home, **key).start()
        try:
            for name, fact in facts.items():
                daemon.run("remember", f"The {name} service {fact}.", "--name", name)
            (memory,) = (home / ".claude/projects").glob("*/memory")
            before = tree_hash(memory)
            refused = daemon.run("dream", "--now", "--follow")
            assert (refused.returncode, tree_hash(memory)) == (1, before)
            assert "it would lose 3 of 3 memories" in refused.stdout
            assert "See what it would change: memoryd dream review 1" in refused.stdout
            shown = daemon.run("dream", "review").stdout
            assert ", ".join(f".retired/{file}" for file in files) in shown
            accepted = daemon.run("dream", "accept")
            assert accepted.returncode == 0, accepted.stderr
            assert "dream 2 is done: 1 new, 3 retired" in accepted.stdout
            assert "See the wiki." in (memory / "roster.md").read_text()
            assert daemon.run("dream", "review").stdout == "No dream is waiting for review.\n"
            again = daemon.run("dream", "accept", "1")
            assert (again.returncode, "dream 1 is accepted" in again.stderr) == (1, True)
            assert daemon.run("dream", "undo").returncode == 0
            assert tree_hash(memory) == before
        finally:
            daemon.end()


def test_a_killed_daemon_undoes_the_dream_when_it_starts_again(
    daemon: Daemon, home: Path, project: Path
) -> None:
    from memoryd.dreams.dream_table import DreamTable, Undoable
    from memoryd.dreams.lock import NOTHING
    from memoryd.memories.records import MemoryDirectory
    from memoryd.system.database import Database
    from memoryd.system.folder import version_of

    daemon.start()
    daemon.run("remember", "Use pnpm.", "--project", str(project))
    (memory,) = (home / ".claude/projects").glob("*/memory")
    (file,) = (path for path in memory.glob("*.md") if path.name != "MEMORY.md")
    daemon.stop(9)
    before, half = file.read_bytes(), memory_text("half a dream").encode()
    state = Database.open(str(home / ".local/state/memoryd/state.db"))
    book = DreamTable(state)
    directory = MemoryDirectory(str(memory), "project")
    number = book.begin(directory, str(project), cause="schedule", at=0.0, lock=NOTHING)
    book.begin_applying(number, [Undoable(file.name, before, 1000.0, version_of(half))])
    state.close()
    file.write_bytes(half)
    daemon.start()
    assert file.read_bytes() == before
    log = json.loads(daemon.run("dream", "log", "--json", "--project", str(project)).stdout)
    assert [one["state"] for one in log["dreams"]] == ["failed"]
