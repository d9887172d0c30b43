"""What one extraction is given and what it returns, with a model and without."""

from typing import Literal, Protocol

import msgspec

from memoryd.extraction.rules.batching import Pause
from memoryd.llm.rules.messages import Usage
from memoryd.memories.scopes import Project
from memoryd.transcripts.rules.turns import Turn

# `disk` is a storage failure: not the fault of any turn, and over when there is room again.
ExtractionVerdict = Literal["done", "failed", "paused", "disk"]


class ExtractionTask(msgspec.Struct, frozen=True):
    """Turns of one session, oldest first.

    `earlier` is what the assistant said last before them. `began` is when the first attempt at them
    began: an interrupted one if there was one (`is_repeated`), else this one. `also_said` are
    statements of the person from before these turns, such as those in the inbox: a memory may be
    made of them too.
    """

    project: Project
    session_id: str
    turns: tuple[Turn, ...]
    began: float
    is_repeated: bool = False
    earlier: str = ""
    also_said: tuple[str, ...] = ()


class ExtractionOutcome(msgspec.Struct, frozen=True):
    """`reason` is one word for the log; `words` (what happened) and `hint` (what to do) for people.

    `pause` applies to all runs.
    """

    verdict: ExtractionVerdict
    reason: str
    words: str = ""
    hint: str = ""
    pause: Pause | None = None
    files: tuple[str, ...] = ()
    model_turns: int = 0
    usage: Usage = Usage()
    usd: float = 0.0


class Extractor(Protocol):
    async def extract(self, task: ExtractionTask) -> ExtractionOutcome:
        """Save what is worth keeping; StorageError if it cannot be stored."""
