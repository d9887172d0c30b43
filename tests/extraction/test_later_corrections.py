"""What is said in a later session: corrections find their memory, look-alikes leave it alone."""

import json
from pathlib import Path

import anyio

from memoryd.base import paths
from memoryd.extraction.embedded import EmbeddedExtractor
from memoryd.extraction.inbox import Inbox
from memoryd.extraction.task import ExtractionTask
from memoryd.memories.inbox_table import InboxTable
from memoryd.memories.scopes import Scopes
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system.database import Database
from memoryd.transcripts.rules.assembler import living_history, read_entries
from memoryd.transcripts.rules.turns import Turn
from tests.support.running import environment
from tests.support.session_script import SessionScript
from tests.support.times import NOW

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "data/later_corrections.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]


async def retired_by(first: str, then: str, home: Path, name: str) -> int:
    """How many memories are retired after both were said, each in a session of its own."""
    state = Database.open(":memory:")
    scopes = Scopes(paths.places(environment(home), "linux", 0, str(home)), {}, state)
    project = scopes.project(str(home / name))
    store = Store(VersionTable(state), now=lambda: NOW)
    inbox = Inbox(InboxTable(state), scopes, store, now=lambda: NOW)
    extractor = EmbeddedExtractor(store, inbox)
    for number, said in enumerate((first, then)):
        script = SessionScript(f"session-{number}")
        script.turn(said, "Understood.")
        history = living_history(read_entries([script.data]))
        turns = tuple(event for event in history if isinstance(event, Turn))
        await extractor.extract(ExtractionTask(project, f"session-{number}", turns, began=NOW))
    count = len(store.retired(project.memory))
    state.close()
    return count


def test_most_later_corrections_retire_their_memory_and_no_look_alike_does(tmp_path: Path) -> None:
    right = wrong = 0
    for number, row in enumerate(ROWS):
        count = anyio.run(retired_by, row["first"], row["then"], tmp_path, f"p{number}")
        if row["expect"] == "kept":
            wrong += count
        else:
            right += count == 1
    corrections = sum(row["expect"] != "kept" for row in ROWS)
    assert (len(ROWS), corrections) == (140, 92)
    assert wrong == 0
    assert right >= 78
