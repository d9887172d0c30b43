"""How far a dream is, announced as it goes.

There are four phases, in this order: orient, gather, consolidate, prune and index. Without a model
the steps say which one it is. A model says so itself, and never goes back; where it does not, its
first write means that it consolidates. What it says beside that is announced too.
"""

import re
import time
from typing import Final, Literal, TypeAlias, get_args

from memoryd.base.events import DreamFile, DreamPhase, DreamSaid
from memoryd.dreams.target import DreamTarget
from memoryd.llm.rules.messages import ModelAnswer, Usage
from memoryd.memories.records import MemoryChanged
from memoryd.system.cancellation import stop_if_cancelled
from memoryd.system.notices import Notices
from memoryd.text.invisible import strip_invisible
from memoryd.text.lazy_regex import late
from memoryd.text.masking.cut import masked_beginning
from memoryd.text.shorten import cut_at_word, one_line

Phase: TypeAlias = Literal["orient", "gather", "consolidate", "prune and index"]

PHASES: Final[tuple[Phase, ...]] = get_args(Phase)

SAID_CHARACTERS: Final = 200

_PHASE_LINE = late(r"^\W{0,8}phase\b[^\n]{0,40}$", re.IGNORECASE | re.MULTILINE)
_SAYS_PHASE = late(
    r"^\W{0,8}phase:?\W{0,4}(orient|gather|consolidate|prune)", re.IGNORECASE | re.MULTILINE
)


class DreamProgress:
    """`dream` is the number of the dream, 0 until it has one. Safe from any thread."""

    def __init__(self, target: DreamTarget, notices: Notices) -> None:
        self.dream = 0
        self.phase: Phase | None = None
        self.files: set[str] = set()
        self.model_turns = 0
        self.usage = Usage()
        self.usd = 0.0
        self.sessions = 0
        self.read = 0
        self.merged = 0
        self.retired = 0
        self.tool_calls = 0
        self._project = target.project
        self._scope = target.directory.scope
        self._notices = notices
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        return round(time.monotonic() - self._began, 3)

    @property
    def tokens(self) -> int:
        return self.usage.prompt_tokens + self.usage.output_tokens

    def enter(self, phase: Phase) -> None:
        """Phases only go forward; an earlier one, or the same again, is ignored."""
        if self.phase is not None and PHASES.index(phase) <= PHASES.index(self.phase):
            return
        self.phase = phase
        self._notices.announce(
            DreamPhase(
                project=self._project,
                dream=self.dream,
                scope=self._scope,
                phase=phase,
                step=f"{PHASES.index(phase) + 1} of {len(PHASES)}",
                files=len(self.files),
                model_turns=self.model_turns,
                tokens=self.tokens,
                usd=round(self.usd, 6),
                seconds=self.seconds,
                sessions=self.sessions,
                read=self.read,
                merged=self.merged,
                retired=self.retired,
                left=max(0, self.read - self.merged - self.retired),
                tool_calls=self.tool_calls,
            )
        )

    def note_merged(self, count: int) -> None:
        """So many of those that were retired were merged into another memory."""
        self.merged += count
        self.retired -= count

    def on_change(self, change: MemoryChanged) -> None:
        """A file of the working copy changed."""
        stop_if_cancelled()
        if self.phase is not None and self.model_turns:  # rules say so themselves
            self.enter("consolidate")
        self.files.add(change.file)
        self.retired += bool(change.retired_to)
        self._notices.announce(
            DreamFile(
                project=self._project,
                dream=self.dream,
                scope=self._scope,
                file=change.file,
                files=len(self.files),
                usd=round(self.usd, 6),
                seconds=self.seconds,
            )
        )

    def on_answer(self, answer: ModelAnswer) -> None:
        """The model answered."""
        self.model_turns += 1
        self.tool_calls += len(answer.calls)
        self.usage += answer.usage
        self.usd += answer.usd
        for name in _SAYS_PHASE.findall(answer.text):
            self.enter(next(phase for phase in PHASES if phase.startswith(name.lower())))
        if words := _said(answer.text):
            self._notices.announce(
                DreamSaid(
                    project=self._project,
                    dream=self.dream,
                    scope=self._scope,
                    text=words,
                    model_turns=self.model_turns,
                    tool_calls=self.tool_calls,
                    tokens=self.tokens,
                    usd=round(self.usd, 6),
                    seconds=self.seconds,
                )
            )


def _said(text: str) -> str:
    """The model's words without the lines that only name a phase; masked before they are cut."""
    words = one_line(strip_invisible(_PHASE_LINE.sub("", text)))
    return cut_at_word(masked_beginning(words, 4 * SAID_CHARACTERS), SAID_CHARACTERS)
