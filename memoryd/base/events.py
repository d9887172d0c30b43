"""Everything that the daemon reports to subscribers and in its log.

An event says what, where and how much, never the text of a memory or of a transcript. What a model
says while it dreams is its own text: `DreamSaid` has the beginning of it, masked.
"""

from typing import Final

import msgspec


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """`project` is the root of the project that it is about, if any."""

    project: str = ""


class MemorySaved(Event, frozen=True, kw_only=True, tag="memory/saved"):
    path: str
    type: str
    scope: str
    cause: str
    session_id: str = ""


class MemoryForgotten(Event, frozen=True, kw_only=True, tag="memory/forgotten"):
    path: str
    scope: str
    cause: str


class MemoryRetired(Event, frozen=True, kw_only=True, tag="memory/retired"):
    """`was` is where the memory stood, `path` where it is kept now."""

    path: str
    was: str
    scope: str
    cause: str
    session_id: str = ""


class TurnSeen(Event, frozen=True, kw_only=True, tag="transcript/turn"):
    """A turn that ended and is stored; `continues` is the id of the turn that it continues."""

    session_id: str
    turn_id: str
    ending: str
    continues: str = ""
    prompts: int = 0
    tool_calls: int = 0
    context_tokens: int = 0
    output_tokens: int = 0


class SessionCompacted(Event, frozen=True, kw_only=True, tag="transcript/compacted"):
    session_id: str
    trigger: str
    tokens_before: int
    tokens_after: int


class ImportProgress(Event, frozen=True, kw_only=True, tag="import/progress"):
    files_done: int
    files_total: int
    turns: int


class ImportFinished(Event, frozen=True, kw_only=True, tag="import/finished"):
    """`complete` is false if it was stopped; what was imported until then stays."""

    files_done: int
    files_total: int
    turns: int
    complete: bool
    ms: int = 0


class ExtractionFinished(Event, frozen=True, kw_only=True, tag="extraction/finished"):
    """One run over some turns of a session; `files` are the memories it saved."""

    session_id: str
    verdict: str
    reason: str
    files: list[str]
    tokens: int
    usd: float
    ms: int
    turns: int = 0
    messages: int = 0
    model_turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_hit_percent: float = 0.0


class DreamStarted(Event, frozen=True, kw_only=True, tag="dream/started"):
    """`how` is model or embedded; `cause` is schedule, asked, dry-run or accepted.

    A dream in the `user` scope has no project.
    """

    dream: int
    scope: str
    how: str
    cause: str
    memories: int


class DreamPhase(Event, frozen=True, kw_only=True, tag="dream/phase"):
    """`sessions` were looked at, `read`, `merged`, `retired` and `left` count memories so far."""

    dream: int
    scope: str
    phase: str
    files: int
    model_turns: int
    tokens: int
    usd: float
    seconds: float
    step: str = ""
    sessions: int = 0
    read: int = 0
    merged: int = 0
    retired: int = 0
    left: int = 0
    tool_calls: int = 0


class DreamFile(Event, frozen=True, kw_only=True, tag="dream/file"):
    """A file changed in the dream's working copy; the memory itself is unchanged so far."""

    dream: int
    scope: str
    file: str
    files: int
    usd: float
    seconds: float
    where: str = "working copy"


class DreamSaid(Event, frozen=True, kw_only=True, tag="dream/said"):
    """What the model says as it goes: `text` is the beginning, on one line and masked."""

    dream: int
    scope: str
    text: str
    model_turns: int
    tool_calls: int
    tokens: int
    usd: float
    seconds: float


class DreamFinished(Event, frozen=True, kw_only=True, tag="dream/finished"):
    """The counts are of files; `left_alone` were skipped because they changed meanwhile.

    `words` says it all in plain words; `left` memories are current, `questions` wait in the inbox.
    """

    dream: int
    scope: str
    state: str
    reason: str
    new: int
    changed: int
    retired: int
    removed: int
    left_alone: int
    flagged: int
    model_turns: int
    tokens: int
    usd: float
    seconds: float
    words: str = ""
    sessions: int = 0
    read: int = 0
    merged: int = 0
    left: int = 0
    questions: int = 0
    tool_calls: int = 0


class TeamSynced(Event, frozen=True, kw_only=True, tag="team/synced"):
    """How many files one sync changed; in `conflicts` a change made here lost to the server."""

    pulled: int
    pushed: int
    removed: int
    conflicts: list[str]
    held: int = 0
    skipped: int = 0
    ms: int = 0


class TeamTrouble(Event, frozen=True, kw_only=True, tag="team/trouble"):
    """The team's database cannot be used; `reason` is one word, empty once it can be again."""

    reason: str
    message: str = ""


class DeviceSynced(Event, frozen=True, kw_only=True, tag="device/synced"):
    """What one sync with the person's other machines changed; no name of a file is in it."""

    pulled: int
    pushed: int
    removed: int
    conflicts: int
    refused: int = 0
    ms: int = 0


class DeviceTrouble(Event, frozen=True, kw_only=True, tag="device/trouble"):
    """The person's machines cannot sync; `reason` is one word, empty once they can again."""

    reason: str
    message: str = ""


class DaemonStopping(Event, frozen=True, kw_only=True, tag="daemon/stopping"):
    pass


def kind_of(event: Event | type[Event]) -> str:
    return str(event.__struct_config__.tag)


KINDS: Final = tuple(kind_of(one) for one in Event.__subclasses__())
