"""Turns the bytes of a session's transcript into turns, each exactly once, with progress as data.

What is a turn
- A turn runs from an opening line (a person's prompt, a slash command, `!` input, a machine's
  notice) to its ending. Its id is the uuid of that line, so a fork, which copies lines with their
  uuids into another file, yields the same id again: a caller that stores ids takes each turn once.
- Side chains, meta text, injected text and our own runs neither open a turn nor belong to one.
- It is complete when the model ended it (`end_turn`, and the message asks for no tool) or when it
  was a command that the client ran by itself. Every other ending leaves it incomplete.

When it is handed out
- An ending is provisional. A meta line of the same prompt revokes it (a cut stream leaves a made-up
  `end_turn`; a Stop hook may make the model continue), and so does any further answer.
- It is confirmed by the next opening, by the client's end-of-turn mark, by a compaction, or by
  `settle`, which the tail calls once the file has been quiet for SETTLE_SECONDS.
- Older clients record no ending: an answer in words that asks for no tool is one once the file has
  been quiet for REST_SECONDS. A turn that is open for any other reason, a running tool for one, is
  handed out as it is after LONG_REST_SECONDS: nobody works on it any more.
- What follows a turn after it was handed out becomes a turn of its own, which `continues` the
  first and holds only what is new. `finish` hands out the open turn, ending or not.

The tree
- A repeated uuid is ignored. An opening line whose parent comes before live turns abandons them:
  those already handed out are reported as abandoned, the open one is dropped.
- An unknown parent abandons nothing: the line it names may have been unreadable.

The queue
- What a person typed in mid-turn and only the queue shows (`prompt_queue`) belongs to the turn that
  was open, or else to the next one; at the end of a file it is a turn of its own.
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from memoryd.transcripts.rules.entries import (
    Compaction,
    EntryPlace,
    TranscriptEntry,
    read_entry,
)
from memoryd.transcripts.rules.excluded import (
    NOTHING_PRIVATE,
    PrivateNames,
    without_private_calls,
)
from memoryd.transcripts.rules.lines import LinePosition, LineSplitter
from memoryd.transcripts.rules.prompt_queue import PromptQueue, QueuedPrompt
from memoryd.transcripts.rules.tree import Tree
from memoryd.transcripts.rules.turns import (
    Abandoned,
    Compacted,
    PartKind,
    Turn,
    TurnDraft,
    TurnEvent,
    TurnPart,
)
from memoryd.transcripts.rules.withheld import Withholds

# Longer than a model takes for a block of its answer; if it takes longer, the rest is a turn too.
REST_SECONDS = 600.0
LONG_REST_SECONDS = 6 * 3600.0
SETTLE_SECONDS = 0.4  # the client flushes every 0.1 s; a cut stream was seen to resume after 0.2 s


def is_session_transcript(relative_path: str) -> bool:
    """Whether this path in the projects folder is a session's transcript, not a sub-agent's."""
    folder, _, name = relative_path.partition("/")
    return (
        bool(folder)
        and len(name) > len(".jsonl")
        and name.endswith(".jsonl")
        and "/" not in name
        and not name.startswith("agent-")
    )


class ReadProgress(msgspec.Struct, omit_defaults=True):
    """How far a session has been assembled; small, and all that has to survive a restart."""

    tree: Tree = msgspec.field(default_factory=Tree)
    draft: TurnDraft | None = None
    handed_out: str = ""
    handed_out_prompt_id: str = ""
    handed_out_withholds: Withholds = 0
    last_place: EntryPlace = EntryPlace()
    queue: PromptQueue = msgspec.field(default_factory=PromptQueue)


class TurnAssembler:
    """Takes the entries of one transcript in file order and returns events."""

    def __init__(self, progress: ReadProgress | None = None) -> None:
        self.progress = progress or ReadProgress()

    def feed(self, entry: TranscriptEntry) -> list[TurnEvent]:
        uuid, tree = entry.place.uuid, self.progress.tree
        if not uuid:
            self._take_side_record(entry)
            return []
        if tree.knows(uuid):
            return []
        events = self._take(entry)
        tree.remember(uuid)
        return events

    def settle(self) -> list[TurnEvent]:
        """Hands out a turn that has an ending; called when the file has been quiet for a while."""
        draft = self.progress.draft
        return self._hand_out() if draft and draft.ending else []

    def rest(self, quiet_seconds: float) -> list[TurnEvent]:
        """Hands out an open turn if the file has been quiet for long enough."""
        needed = self.rest_seconds
        return self.finish() if needed and quiet_seconds >= needed else []

    @property
    def rest_seconds(self) -> float:
        """How long the file must be quiet until its last words count; 0 if none are left."""
        draft = self.progress.draft
        if draft is None:
            return REST_SECONDS if self.progress.queue.waiting else 0.0
        return REST_SECONDS if draft.ending or draft.ends_in_words else LONG_REST_SECONDS

    def finish(self) -> list[TurnEvent]:
        """Hands out the open turn as it is; called at the end of a finished file."""
        unrecorded = self.progress.queue.take(absorbed_only=False)
        draft = self.progress.draft or self._begin_by_queue(unrecorded)
        if draft is None:
            return []
        for prompt in unrecorded:
            draft.hear(prompt)
        return self._hand_out()

    def _take_side_record(self, entry: TranscriptEntry) -> None:
        queue, draft = self.progress.queue, self.progress.draft
        match entry.kind:
            # A prompt that is queued while nothing runs opens a turn of its own.
            case "enqueued" if draft and draft.ending is None:
                queue.add(entry.text, entry.place.at)
            case "absorbed":
                queue.absorb(entry.text)
            case "unqueued":
                queue.put_back(entry.text)

    def _take(self, entry: TranscriptEntry) -> list[TurnEvent]:
        match entry.kind:
            case "prompt" | "command" | "bash_input" | "notice" | "own_run":
                return self._open(entry)
            case "compaction":
                return self._compact(entry)
            case "turn_end":
                return self.settle()
            case "assistant" | "queued":
                draft = self.progress.draft or self._begin_again(entry)
            case _:
                draft = self.progress.draft
        if entry.kind == "queued":
            self.progress.queue.drop_repeated(entry.text)
        if draft:
            _grow(draft, entry)
        return []

    def _open(self, entry: TranscriptEntry) -> list[TurnEvent]:
        progress = self.progress
        abandoned = progress.tree.abandon_after(entry.place.parent)
        if progress.draft and progress.draft.id in abandoned:
            abandoned.remove(progress.draft.id)
            progress.draft = None
            progress.queue.clear()
        # Those that follow a repeated one are still in the queue.
        repeats = progress.queue.drop_repeated(entry.text)
        unrecorded = progress.queue.take(absorbed_only=repeats)
        if progress.draft:
            for prompt in unrecorded:
                progress.draft.hear(prompt)
            unrecorded = []
        events = self._hand_out()
        events += [Abandoned(turn_id) for turn_id in abandoned]
        if entry.kind == "own_run":
            progress.handed_out = ""
            return events
        progress.tree.begin_turn(entry.place.uuid)
        progress.draft = TurnDraft.begun_by(entry)
        progress.draft.add(entry, _opening_part(entry))
        for prompt in unrecorded:
            progress.draft.hear(prompt)
        return events

    def _begin_again(self, entry: TranscriptEntry) -> TurnDraft | None:
        """A turn without an opening: it continues after being handed out, or was only queued."""
        progress = self.progress
        if entry.kind == "queued":
            draft = TurnDraft.begun_by(entry)
        elif progress.handed_out:
            draft = TurnDraft.begun_by(entry, progress.handed_out)
            draft.prompt_id = progress.handed_out_prompt_id  # answers carry none
            draft.withholds = progress.handed_out_withholds
        else:
            return None
        progress.tree.begin_turn(draft.id)
        progress.draft = draft
        return draft

    def _begin_by_queue(self, prompts: Sequence[QueuedPrompt]) -> TurnDraft | None:
        """A turn of prompts that only the queue shows, after the last turn was handed out."""
        progress = self.progress
        if not (prompts and progress.handed_out):
            return None
        turn_id = f"{progress.handed_out}+{prompts[0].key.hex()}"
        place = msgspec.structs.replace(progress.last_place, uuid=turn_id, at=prompts[0].at)
        entry = TranscriptEntry("enqueued", place, source="enqueued")
        draft = TurnDraft.begun_by(entry, progress.handed_out)
        draft.withholds = progress.handed_out_withholds
        draft.last_offset = place.end
        progress.tree.begin_turn(draft.id)
        progress.draft = draft
        return draft

    def _compact(self, entry: TranscriptEntry) -> list[TurnEvent]:
        events, draft = self.settle(), self.progress.draft
        place, compaction = entry.place, entry.compaction or Compaction()
        if draft:
            draft.add(entry, TurnPart("compaction", compaction.trigger, place.at))
        inside = draft.id if draft else ""
        events.append(
            Compacted(
                id=place.uuid,
                session_id=place.session_id,
                at=place.at,
                trigger=compaction.trigger,
                tokens_before=compaction.tokens_before,
                tokens_after=compaction.tokens_after,
                inside_turn=inside,
            )
        )
        return events

    def _hand_out(self) -> list[TurnEvent]:
        progress = self.progress
        draft, progress.draft = progress.draft, None
        if draft is None or not draft.parts:
            return []
        for prompt in progress.queue.take(absorbed_only=True):
            draft.hear(prompt)
        progress.handed_out = draft.id
        progress.handed_out_prompt_id = draft.prompt_id
        progress.handed_out_withholds = draft.withholds
        progress.last_place = draft.end_place
        return [draft.to_turn()]


def _grow(draft: TurnDraft, entry: TranscriptEntry) -> None:
    at, is_open = entry.place.at, draft.ending is None
    match entry.kind:
        case "assistant":
            draft.take_answer(entry)
        case "tool_result":
            draft.take_results(entry)
        case "queued":
            draft.ending = None
            draft.add(entry, _opening_part(entry))
        case "nudge" if draft.prompt_id and draft.prompt_id == entry.place.prompt_id:
            draft.ending = None
        case "bash_output" if is_open and draft.source == "bash":
            draft.add(entry, TurnPart("printed", entry.text, at))
        case "command_output" if is_open and draft.source == "command":
            draft.ending = "local_command"
            draft.add(entry, TurnPart("printed", entry.text, at))
        case "interrupt" if is_open:
            draft.ending = "interrupted"
            draft.add(entry, TurnPart("interrupt", entry.text, at))
        case "api_error" if is_open:
            draft.ending = "api_error"
            draft.add(entry, TurnPart("api_error", entry.text, at))


def _opening_part(entry: TranscriptEntry) -> TurnPart:
    kind: PartKind = "notice" if entry.source == "notice" else "prompt"
    return TurnPart(kind, entry.text, entry.place.at, entry.source)


class FollowState(msgspec.Struct, omit_defaults=True):
    position: LinePosition = LinePosition()
    progress: ReadProgress = msgspec.field(default_factory=ReadProgress)
    bad_lines: int = 0


class Follower:
    """Turns the growing bytes of one transcript into events.

    For exactly-once, store the turns by id and the `snapshot` in one transaction. Later, or after a
    restart, `restore` it and feed the bytes from `next_offset` on; an idle file needs no follower
    in memory. Lines of a private project are passed over.
    """

    def __init__(
        self, state: FollowState | None = None, private: PrivateNames = NOTHING_PRIVATE
    ) -> None:
        start = state or FollowState()
        self._private = private
        self._splitter = LineSplitter(start.position)
        self._assembler = TurnAssembler(start.progress)
        self._bad_lines = start.bad_lines

    @classmethod
    def from_offset(
        cls, offset: int, *, after_newline: bool, private: PrivateNames = NOTHING_PRIVATE
    ) -> "Follower":
        """Follows only what comes after `offset`, as on a first start."""
        position = LinePosition(offset, mid_line=not after_newline and offset > 0)
        return cls(FollowState(position), private)

    @classmethod
    def restore(cls, snapshot: bytes, private: PrivateNames = NOTHING_PRIVATE) -> "Follower":
        """Raises msgspec.DecodeError if the bytes are not a snapshot."""
        return cls(msgspec.msgpack.decode(snapshot, type=FollowState), private)

    def snapshot(self) -> bytes:
        position, progress = self._splitter.position, self._assembler.progress
        return msgspec.msgpack.encode(FollowState(position, progress, self._bad_lines))

    @property
    def next_offset(self) -> int:
        return self._splitter.next_offset

    @property
    def stored_offset(self) -> int:
        """The byte at which a follower restored from the `snapshot` starts."""
        return self._splitter.position.offset

    @property
    def bad_lines(self) -> int:
        """Lines that were skipped: unreadable or too long."""
        return self._bad_lines + self._splitter.position.long_lines

    @property
    def draft(self) -> TurnDraft | None:
        """The turn that is not handed out yet."""
        return self._assembler.progress.draft

    @property
    def awaits_settling(self) -> bool:
        """Whether a turn has an ending and only needs `settle`."""
        return self.draft is not None and self.draft.ending is not None

    @property
    def open_session(self) -> str:
        """The session of the turn that is not handed out yet; empty if there is none."""
        return self.draft.session_id if self.draft else ""

    def feed(self, chunk: bytes) -> list[TurnEvent]:
        events: list[TurnEvent] = []
        for line in self._splitter.feed(chunk):
            entry = read_entry(line)
            self._bad_lines += entry.kind == "bad"
            if not self._private.project(entry.place.cwd):
                events += self._assembler.feed(without_private_calls(entry, self._private))
        return events

    def settle(self) -> list[TurnEvent]:
        return self._assembler.settle()

    def rest(self, quiet_seconds: float) -> list[TurnEvent]:
        return self._assembler.rest(quiet_seconds)

    @property
    def rest_seconds(self) -> float:
        return self._assembler.rest_seconds

    def finish(self) -> list[TurnEvent]:
        return self._assembler.finish()


def read_entries(chunks: Iterable[bytes]) -> Iterator[TranscriptEntry]:
    """The entries of a whole transcript, given in chunks."""
    splitter = LineSplitter()
    for chunk in chunks:
        yield from map(read_entry, splitter.feed(chunk))


def read_agent_entries(chunks: Iterable[bytes]) -> Iterator[TranscriptEntry]:
    """The same for a sub-agent's own transcript."""
    splitter = LineSplitter()
    for chunk in chunks:
        for line in splitter.feed(chunk):
            yield read_entry(line, of_agent=True)


def living_history(entries: Iterable[TranscriptEntry]) -> list[Turn | Compacted]:
    """A session's turns and compactions in order, without its abandoned branches."""
    assembler = TurnAssembler()
    events = [event for entry in entries for event in assembler.feed(entry)] + assembler.finish()
    abandoned = {event.turn_id for event in events if isinstance(event, Abandoned)}
    return [
        event
        for event in events
        if isinstance(event, Compacted) or (isinstance(event, Turn) and event.id not in abandoned)
    ]
