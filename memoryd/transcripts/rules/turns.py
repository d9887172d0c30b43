"""What a turn consists of, and how it grows line by line.

Size: parts are cut when they are read; over TURN_CHARS_MAX or PARTS_MAX the oldest are dropped,
tool parts first, never the opening or the newest. So the size of a turn is bounded.
Secrets are masked and private words left out (`withheld`) as parts are added: turns and drafts are
kept in state.db until they are done.
"""

from typing import Literal, get_args

import msgspec

from memoryd.text.masking.credentials import without_credentials
from memoryd.text.masking.mask import mask
from memoryd.text.private import PRIVATE, without_private
from memoryd.text.shorten import cut_middle
from memoryd.transcripts.rules.blocks import TOOL_CHARS_MAX, Block
from memoryd.transcripts.rules.entries import EntryPlace, EntrySource, TranscriptEntry
from memoryd.transcripts.rules.prompt_queue import QUEUED_MAX, QueuedPrompt
from memoryd.transcripts.rules.replies import QUESTION_TOOL, answers_in, replies_to
from memoryd.transcripts.rules.withheld import NOTHING, Withholds, is_kept, withheld_by

TURN_CHARS_MAX = 256 * 1024
PARTS_MAX = 2000
FILES_MAX = 1000

PartKind = Literal[
    "prompt",
    "notice",
    "assistant",
    "tool_call",
    "tool_output",
    "printed",  # by a local command or by `!` input
    "interrupt",
    "api_error",
    "compaction",
    "tools",  # folded calls, in a conversation
]
Ending = Literal[
    "answered",
    "local_command",
    "stop_sequence",
    "max_tokens",
    "refusal",
    "interrupted",
    "api_error",
    "unanswered",
]
_ENDINGS: dict[str, Ending] = {
    "end_turn": "answered",
    "stop_sequence": "stop_sequence",
    "max_tokens": "max_tokens",
    "refusal": "refusal",
}
TOOL_KINDS = ("tool_call", "tool_output")
_MCP_PREFIX = "mcp__"  # such a tool can fail with any words
# What a person wrote themselves, as opposed to commands and shell lines.
TYPED_SOURCES: frozenset[EntrySource] = frozenset(
    {"typed", "sdk", "unmarked", "queued", "enqueued", "answer", "refusal"}
)
# A choice is in the agent's words, and the person's by choosing it.
SPOKEN_SOURCES: frozenset[EntrySource] = TYPED_SOURCES | {"choice"}


class TurnPart(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something said or done; for a tool, `text` is its input as JSON, or its output.

    `gist` is what a call is about, in brief, or the question that a person's words answer.
    """

    kind: PartKind
    text: str
    at: str = ""
    source: EntrySource = "unmarked"
    tool: str = ""
    tool_use_id: str = ""
    gist: str = ""
    is_error: bool = False


class Turn(msgspec.Struct, frozen=True):
    """What happened from an opening line to its ending, in file order."""

    id: str
    ending: Ending
    session_id: str
    cwd: str
    git_branch: str
    started: str
    ended: str
    first_offset: int
    last_offset: int
    parts: tuple[TurnPart, ...]
    files_written: tuple[str, ...] = ()
    tool_call_count: int = 0
    context_tokens: int = 0
    output_tokens: int = 0
    parts_dropped: int = 0
    continues: str = ""
    agent: str = ""
    """The named sub-agent that did it; empty for a session's own turn."""

    @property
    def complete(self) -> bool:
        return self.ending in {"answered", "local_command"}

    @property
    def is_from_person(self) -> bool:
        return any(part.kind == "prompt" for part in self.parts)

    @property
    def final(self) -> str | None:
        """The last words of a complete answer."""
        return self.prose[-1].text if self.complete and self.prose else None

    @property
    def prompts(self) -> tuple[TurnPart, ...]:
        """What a person entered, by `source`: text, a command, or a shell line."""
        return tuple(part for part in self.parts if part.kind == "prompt")

    @property
    def spoken(self) -> tuple[TurnPart, ...]:
        """What a person said in prose."""
        return tuple(part for part in self.prompts if part.source in SPOKEN_SOURCES)

    @property
    def prose(self) -> tuple[TurnPart, ...]:
        return tuple(part for part in self.parts if part.kind == "assistant")

    @property
    def tool_calls(self) -> tuple[TurnPart, ...]:
        return tuple(part for part in self.parts if part.kind == "tool_call")

    @property
    def tool_outputs(self) -> tuple[TurnPart, ...]:
        return tuple(part for part in self.parts if part.kind == "tool_output")


class WaitingTurn(msgspec.Struct, frozen=True):
    """A stored turn that is not extracted yet, and how often extraction failed or crashed.

    `heard_at` is when it was stored, 0 if it was imported. `unfinished` counts the runs that ended
    at a limit.
    """

    turn_id: str
    project: str
    session_id: str
    complete: bool
    failures: int = 0
    deaths: int = 0
    unfinished: int = 0
    heard_at: float = 0.0
    imported: bool = False


class Abandoned(msgspec.Struct, frozen=True):
    """A rewind left this turn on a dead branch."""

    turn_id: str


class Compacted(msgspec.Struct, frozen=True):
    """The session's context was replaced by a summary; `inside_turn` names the turn it cut into."""

    id: str
    session_id: str
    at: str
    trigger: str
    tokens_before: int
    tokens_after: int
    inside_turn: str = ""


TurnEvent = Turn | Abandoned | Compacted


class TurnDraft(msgspec.Struct, omit_defaults=True):
    """A turn that is still growing."""

    id: str
    prompt_id: str
    session_id: str
    cwd: str
    git_branch: str
    started: str
    first_offset: int
    source: EntrySource
    continues: str = ""
    ended: str = ""
    last_offset: int = 0
    ending: Ending | None = None
    parts: list[TurnPart] = []
    chars: int = 0
    parts_dropped: int = 0
    files: dict[str, str] = {}
    tool_call_count: int = 0
    context_tokens: int = 0
    output_tokens: int = 0
    message_id: str = ""
    message_output_tokens: int = 0
    message_asks_for_tools: bool = False
    stop_reason: str = ""
    withholds: Withholds = 0

    @classmethod
    def begun_by(cls, entry: TranscriptEntry, continues: str = "") -> "TurnDraft":
        place = entry.place
        return cls(
            id=place.uuid,
            prompt_id=place.prompt_id,
            session_id=place.session_id,
            cwd=place.cwd,
            git_branch=place.git_branch,
            started=place.at,
            first_offset=place.offset,
            source=entry.source,
            continues=continues,
        )

    def add(
        self, entry: TranscriptEntry, *parts: TurnPart, masked: frozenset[str] = frozenset()
    ) -> None:
        """Adds parts; `masked` are the texts in which no secret is left."""
        self.ended = entry.place.at or self.ended
        self.last_offset = entry.place.end
        clean = [self._allowed(part, is_masked=part.text in masked) for part in parts]
        self.parts += clean
        self.chars += sum(len(part.text) for part in clean)
        if self.chars > TURN_CHARS_MAX or len(self.parts) > PARTS_MAX:
            self._shrink(TOOL_KINDS)
            self._shrink(get_args(PartKind))

    def _allowed(self, part: TurnPart, *, is_masked: bool = False) -> TurnPart:
        """The part, without what the person wants nobody to keep."""
        clean = _masked(part, is_masked=is_masked)
        asked = withheld_by(clean.kind, clean.text)
        if asked > self.withholds:
            self.withholds = asked
            self.parts = [_withheld(one, asked) for one in self.parts]
        if self.withholds == NOTHING:
            self.files = {}
        return _withheld(clean, self.withholds)

    def _shrink(self, kinds: tuple[str, ...]) -> None:
        """Drops to three quarters of the limit, so that lines of an endless turn stay cheap."""
        surplus_chars = self.chars - TURN_CHARS_MAX * 3 // 4
        surplus_parts = len(self.parts) - PARTS_MAX * 3 // 4
        kept = self.parts[:1]
        for part in self.parts[1:-1]:
            if part.kind in kinds and (surplus_chars > 0 or surplus_parts > 0):
                surplus_chars -= len(part.text)
                surplus_parts -= 1
            else:
                kept.append(part)
        self.parts_dropped += len(self.parts) - len(kept) - 1
        self.parts = [*kept, self.parts[-1]]
        self.chars = sum(len(part.text) for part in self.parts)

    def take_answer(self, entry: TranscriptEntry) -> None:
        self._count_tokens(entry)
        calls = [block for block in entry.blocks if block.kind == "tool_use"]
        for call in calls:
            if call.writes and len(self.files) < FILES_MAX and self.withholds != NOTHING:
                self.files[call.tool_use_id] = call.writes
        self.tool_call_count += len(calls)
        self.message_asks_for_tools |= bool(calls)
        self.stop_reason = entry.stop_reason
        self.ending = None if self.message_asks_for_tools else _ENDINGS.get(entry.stop_reason)
        parts = (_part(block, entry.place.at) for block in entry.blocks)
        self.add(entry, *parts, masked=_masked_in(entry))

    def _count_tokens(self, entry: TranscriptEntry) -> None:
        """One message spans several lines, and each repeats the usage of the whole."""
        if entry.message_id != self.message_id or not entry.message_id:
            self.message_id = entry.message_id
            self.message_output_tokens = 0
            self.message_asks_for_tools = False
        more = max(0, entry.output_tokens - self.message_output_tokens)
        self.message_output_tokens += more
        self.output_tokens += more
        self.context_tokens = entry.context_tokens or self.context_tokens

    def take_results(self, entry: TranscriptEntry) -> None:
        for block in entry.blocks:
            if block.is_error:
                self.files.pop(block.tool_use_id, None)
            self.add(entry, *self._result_parts(block, entry.place.at), masked=_masked_in(entry))

    def _result_parts(self, block: Block, at: str) -> list[TurnPart]:
        """The result, without the person's words in it, and those words as their own parts."""
        part = _part(block, at)
        calls = (one for one in reversed(self.parts) if one.tool_use_id == block.tool_use_id)
        call = next(calls, part)
        if call.text == PRIVATE:
            return [msgspec.structs.replace(part, text=PRIVATE)]
        if block.answered is None and not block.refusal:
            return [part]
        said: list[TurnPart] = []
        if block.answered is not None and call.tool == QUESTION_TOOL:
            answers = answers_in(block.text, block.answered)
            said = [
                TurnPart("prompt", reply.text, at, reply.source, gist=reply.question)
                for reply in replies_to(call.text, answers)
            ]
        is_trusted = block.is_marked_refusal or not call.tool.startswith(_MCP_PREFIX)
        if block.refusal and call.tool and is_trusted:
            said = [TurnPart("prompt", block.refusal, at, "refusal", gist=call.gist)]
        text = "(the person replied)" if said else cut_middle(part.text, TOOL_CHARS_MAX)
        return [msgspec.structs.replace(part, text=text), *said]

    def hear(self, prompt: QueuedPrompt) -> None:
        """Adds what a person typed while the turn ran, where it was said."""
        source: EntrySource = "sdk" if self.source == "sdk" else "enqueued"
        part = self._allowed(TurnPart("prompt", prompt.text, prompt.at, source))
        later = [n for n, one in enumerate(self.parts) if n and one.at > prompt.at]
        self.parts.insert(later[0] if later and prompt.at else len(self.parts), part)
        self.chars += len(part.text)
        self.ended = self.ended or prompt.at

    @property
    def end_place(self) -> EntryPlace:
        """Where the turn ends in its transcript."""
        return EntryPlace(
            offset=self.last_offset,
            end=self.last_offset,
            at=self.ended,
            session_id=self.session_id,
            cwd=self.cwd,
            git_branch=self.git_branch,
            prompt_id=self.prompt_id,
        )

    @property
    def ends_in_words(self) -> bool:
        """Older clients record no stop reason: words that ask for no tool were the answer."""
        heard = ("enqueued", "sdk")
        said = [part for part in self.parts[-QUEUED_MAX - 1 :] if part.source not in heard]
        is_words = bool(said) and said[-1].kind == "assistant" and not self.message_asks_for_tools
        return is_words and not self.stop_reason

    def to_turn(self) -> Turn:
        return Turn(
            id=self.id,
            ending=self.ending or ("answered" if self.ends_in_words else "unanswered"),
            session_id=self.session_id,
            cwd=self.cwd,
            git_branch=self.git_branch,
            started=self.started,
            ended=self.ended,
            first_offset=self.first_offset,
            last_offset=self.last_offset,
            parts=tuple(self.parts),
            files_written=tuple(dict.fromkeys(self.files.values())),
            tool_call_count=self.tool_call_count,
            context_tokens=self.context_tokens,
            output_tokens=self.output_tokens,
            parts_dropped=self.parts_dropped,
            continues=self.continues,
        )


def _masked_in(entry: TranscriptEntry) -> frozenset[str]:
    return frozenset(block.text for block in entry.blocks if block.is_masked)


def _masked(part: TurnPart, *, is_masked: bool) -> TurnPart:
    """People tell secrets in sentences, so their words are searched more strictly."""
    text = part.text if is_masked else mask(without_private(part.text))
    gist = mask(without_private(part.gist)) if part.gist else ""
    if part.kind == "prompt":
        text = without_credentials(text)
    if (text, gist) == (part.text, part.gist):
        return part
    return msgspec.structs.replace(part, text=text, gist=gist)


def _withheld(part: TurnPart, withholds: Withholds) -> TurnPart:
    if is_kept(part.kind, withholds):
        return part
    return msgspec.structs.replace(part, text=PRIVATE, gist="")


def _part(block: Block, at: str) -> TurnPart:
    match block.kind:
        case "text":
            return TurnPart("assistant", block.text, at)
        case "tool_use":
            kind: PartKind = "tool_call"
        case "tool_result":
            kind = "tool_output"
    return TurnPart(
        kind,
        block.text,
        at,
        tool=block.tool,
        tool_use_id=block.tool_use_id,
        gist=block.gist,
        is_error=block.is_error,
    )
