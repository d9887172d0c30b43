"""The corrections and look-alikes of `tests/data/corrections.jsonl`, played to the real extractor.

Each case has memories, what the person then said, and the outcome: `retire N` (that memory, and no
other), `retire said N` (what message N of the same session had stated), `inbox` (nothing is
retired, and what waits names a memory) or `keep` (nothing is retired). One half was used to write
the rules, the other half was held out. `python -m tests.support.correction_set dev` prints what
differs.
"""

import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import anyio
import msgspec

from memoryd.base import paths
from memoryd.extraction.embedded import EmbeddedExtractor
from memoryd.extraction.inbox import Inbox
from memoryd.extraction.task import ExtractionTask
from memoryd.memories.inbox_table import InboxTable
from memoryd.memories.rules.topics import TYPES, Topic
from memoryd.memories.scopes import Scopes
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system.database import Database
from memoryd.transcripts.rules.assembler import living_history, read_entries
from memoryd.transcripts.rules.turns import Turn
from tests.support.running import environment
from tests.support.session_script import SessionScript

NOW = 1_794_000_000.0
DATA = Path(__file__).parent.parent / "data/corrections.jsonl"


class CorrectionCase(msgspec.Struct, frozen=True):
    id: str
    half: str
    memories: list[str]
    said: list[str]
    outcome: str

    @property
    def is_correction(self) -> bool:
        return self.id.startswith("correction")


def cases(half: str | None = None) -> list[CorrectionCase]:
    lines = DATA.read_text().splitlines()
    found = [msgspec.json.decode(line, type=CorrectionCase) for line in lines]
    return [case for case in found if half in {None, case.half}]


_outcomes: dict[str, str] = {}


def outcome_of(case: CorrectionCase, home: Path) -> str:
    """What the extractor makes of it, in the words of the set; each case is played once."""
    if case.id not in _outcomes:
        _outcomes[case.id] = anyio.run(_outcome_of, case, home)
    return _outcomes[case.id]


async def _outcome_of(case: CorrectionCase, home: Path) -> str:
    state = Database.open(":memory:")
    scopes = Scopes(paths.places(environment(home), "linux", 0, str(home)), {}, state)
    project = scopes.project(str(home / case.id))
    store = Store(VersionTable(state), now=lambda: NOW)
    inbox = Inbox(InboxTable(state), scopes, store, now=lambda: NOW)
    extractor = EmbeddedExtractor(store, inbox)
    for number, memory in enumerate(case.memories):
        type_, _, text = memory.partition(": ")
        topic = Topic(
            name=f"Memory {number}",
            description=text,
            type=next(one for one in TYPES if one == type_),
            created="2026-01-01T00:00:00Z",
            trust="user-said",
            body=text,
        )
        store.save(project.memory, topic, cause="user")
    script = SessionScript()
    for said in case.said:
        script.turn(said, "Understood.")
    history = living_history(read_entries([script.data]))
    turns = tuple(event for event in history if isinstance(event, Turn))
    await extractor.extract(ExtractionTask(project, "session-1", turns, began=NOW))
    retired = [store.read(project.memory, one.file).topic for one in store.retired(project.memory)]
    waits = any(item.contradicts for item in inbox.waiting(project.root).items)
    state.close()
    if not retired:
        return "inbox" if waits else "keep"
    return " + ".join(sorted(_name(case, topic) for topic in retired))


def _name(case: CorrectionCase, topic: Topic) -> str:
    if topic.name.startswith("Memory "):
        return f"retire {topic.name.removeprefix('Memory ')}"
    return f"retire said {case.said.index(topic.body.strip())}"


def is_right(case: CorrectionCase, outcome: str) -> bool:
    return outcome == case.outcome or (case.outcome == "keep" and outcome == "inbox")


def main(halves: Iterable[str]) -> int:
    for half in halves:
        right = {True: 0, False: 0}
        total = {True: 0, False: 0}
        for case in cases(half):
            with tempfile.TemporaryDirectory() as home:
                outcome = outcome_of(case, Path(home))
            total[case.is_correction] += 1
            right[case.is_correction] += is_right(case, outcome)
            if not is_right(case, outcome):
                print(f"{case.id}: {outcome}, not {case.outcome}: {case.said} | {case.memories}")
        corrections = f"corrections {right[True]}/{total[True]}"
        print(f"{half}: {corrections}, look-alikes {right[False]}/{total[False]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
