"""What one extraction is given and what it returns, with a model and without."""

from typing import Literal, Protocol

import msgspec

from memoryd.extraction.rules.batching import Pause
from memoryd.llm.rules.messages import Usage
from memoryd.memories.inbox_table import WaitingCandidate
from memoryd.memories.scopes import Project
from memoryd.transcripts.rules.turns import Turn
from memoryd.transcripts.turn_table import LastWords

# `unfinished` runs ended at a limit; what they did not get to stays queued. `disk` is a storage
# failure: not the fault of any turn, and over when there is room again.
ExtractionVerdict = Literal["done", "unfinished", "failed", "paused", "disk"]


class ExtractionTask(msgspec.Struct, frozen=True):
    """Turns of one session, oldest first.

    `before` is what was said last before them. `began` is when the first attempt at them began: an
    interrupted one if there was one (`is_repeated`), else this one. `candidates` are statements of
    the person's from earlier sessions that wait in the inbox.
    """

    project: Project
    session_id: str
    turns: tuple[Turn, ...]
    began: float
    is_repeated: bool = False
    before: LastWords = LastWords()
    candidates: tuple[WaitingCandidate, ...] = ()

    @property
    def agent(self) -> str:
        """The named sub-agent whose work it is; empty for a session's own turns."""
        return self.turns[0].agent if self.turns else ""

    @property
    def said_before(self) -> tuple[str, ...]:
        """Words of the person that are shown beside those of the turns, and count as theirs."""
        said = (self.before.person, *(one.candidate.body for one in self.candidates))
        return tuple(text for text in said if text)


class ExtractionOutcome(msgspec.Struct, frozen=True):
    """`reason` is one word for the log; `words` (what happened) and `hint` (what to do) for people.

    `pause` applies to all runs. `has_saved` says whether this very run saved anything.
    """

    verdict: ExtractionVerdict
    reason: str
    words: str = ""
    hint: str = ""
    pause: Pause | None = None
    files: tuple[str, ...] = ()
    has_saved: bool = False
    model_turns: int = 0
    usage: Usage = Usage()
    usd: float = 0.0


class Extractor(Protocol):
    async def extract(self, task: ExtractionTask) -> ExtractionOutcome:
        """Save what is worth keeping; StorageError if it cannot be stored."""
