"""What the daemon answers and tells. Written by `make schema`."""

from typing import Literal, NotRequired, TypedDict


class AdoptAnswer(TypedDict):
    """`copied` is true if the old project still exists and keeps its memories.

    `same_project` is whether both say that they are one repository.
    """

    source: str
    target: str
    copied: bool
    same_project: bool
    moved: list[str]
    renamed: dict[str, str]
    already_here: list[str]
    logs: int
    checkpoints: int
    done: bool


class AgentLine(TypedDict):
    """`home` is where new memories go, `where` the scopes that have some; `snapshot` is a
    date.
    """

    name: str
    home: Literal["local", "project", "user"]
    where: list[Literal["local", "project", "user"]]
    path: str
    memories: int
    snapshot: str


class AgentListAnswer(TypedDict):
    agents: list[AgentLine]


class ApprovedAnswer(TypedDict):
    """`approved` is the real path of the file."""

    approved: str


class Checkpoint(TypedDict):
    name: str
    saved: str
    bytes: int


class CheckpointListAnswer(TypedDict):
    checkpoints: list[Checkpoint]


class CheckpointRemovedAnswer(TypedDict):
    """`removed` is its name."""

    removed: str


class CheckpointText(TypedDict):
    name: str
    saved: str
    bytes: int
    text: str


class ContextPart(TypedDict):
    """One part of the text; `bytes` is its length without the frame."""

    kind: Literal[
        "guidance",
        "index:agent",
        "index:group",
        "index:project",
        "index:team",
        "index:user",
        "local",
        "managed",
        "project",
        "rule",
        "user",
    ]
    path: str
    bytes: int
    truncated: bool


class ContextAnswer(TypedDict):
    """`needs_approval` holds real paths that a repository asks for; `warnings` are for the
    user.
    """

    text: str
    parts: list[ContextPart]
    needs_approval: list[str]
    warnings: list[str]


class SpendingStatus(TypedDict):
    """`reason` and `until` say why and until when jobs that need a model wait."""

    today_usd: float
    month_usd: float
    paused: bool
    reason: str
    until: str
    usd_per_day: float
    usd_per_month: float


class Total(TypedDict):
    """What was spent on one day, job, project or model; an open call counts at its worst case."""

    name: str
    usd: float
    calls: int
    open_calls: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int


class PlanStatus(TypedDict):
    """Today's use of a model behind a command; `problem` says why the built-in rules do its
    work.

        `next_try` is when that is looked at again; `waits` and `until` say why and until
    when the next
        extraction waits.
    """

    model: str
    calls: int
    calls_per_day: int
    tokens: int
    tokens_per_day: int
    problem: str
    hint: str
    waits: str
    until: str
    next_try: str


class CostReport(TypedDict):
    since: str
    spending: SpendingStatus
    day_resets: str
    month_resets: str
    days: list[Total]
    jobs: list[Total]
    projects: list[Total]
    models: list[Total]
    plan: PlanStatus | None


class DaemonStopping(TypedDict):
    kind: Literal["daemon/stopping"]
    project: str


class SkippedEntry(TypedDict):
    """An entry that is not shared or not taken, and why."""

    name: str
    reason: str


class DeviceSyncAnswer(TypedDict):
    """`refused` were not taken from the server, `skipped` not sent; each with the reason."""

    pulled: list[str]
    pushed: list[str]
    removed: list[str]
    conflicts: list[str]
    refused: list[SkippedEntry]
    skipped: list[SkippedEntry]
    waiting: dict[str, int]


class DeviceAddAnswer(TypedDict):
    """`code` is for another machine; a machine that was added by one has none, but a first
    sync.
    """

    name: str
    server: str
    is_new: bool
    code: str
    expires_seconds: int
    devices: list[str]
    sync: DeviceSyncAnswer | None


class DeviceInitAnswer(TypedDict):
    """`before` is the version of the tables that was there, 0 for none."""

    server: str
    before: int
    version: int
    members: list[str]


class DeviceLine(TypedDict):
    name: str
    added: str
    is_this: bool


class LostLine(TypedDict):
    """A change made here that lost; `memoryd restore FILE N` brings it back."""

    file: str
    at: str
    author: str
    version: int


class DeviceList(TypedDict):
    """As far as it is known without asking the server.

        `reason`, `message` and `hint` say what is wrong, if anything is. `waiting` counts
    what belongs
        to projects that are not on this machine; `nameless` are projects that need a name
    to travel,
        `copies` those that have the same name as another one here.
    """

    is_added: bool
    is_on: bool
    server: str
    devices: list[DeviceLine]
    epoch: int
    is_connected: bool
    listens: bool
    reason: str
    message: str
    hint: str
    warnings: list[str]
    last_sync: str
    rows: int
    unsent: int
    waiting: dict[str, int]
    nameless: list[str]
    copies: list[str]
    refused: list[SkippedEntry]
    skipped: list[SkippedEntry]
    conflicts: list[LostLine]


class DeviceProjectAnswer(TypedDict):
    root: str
    project: str


class DeviceRevokeAnswer(TypedDict):
    revoked: str
    epoch: int
    devices: list[str]


class DeviceSynced(TypedDict):
    """What one sync with the person's other machines changed; no name of a file is in it."""

    kind: Literal["device/synced"]
    project: str
    pulled: int
    pushed: int
    removed: int
    conflicts: int
    refused: int
    ms: int


class DeviceTrouble(TypedDict):
    """The person's machines cannot sync; `reason` is one word, empty once they can again."""

    kind: Literal["device/trouble"]
    project: str
    reason: str
    message: str


class DreamCounts(TypedDict):
    """How many memories a dream read, and what became of them; `left` are still current."""

    sessions: int
    read: int
    merged: int
    retired: int
    changed: int
    new: int
    left: int
    due: int
    questions: int
    tool_calls: int


class DreamFile(TypedDict):
    """A file changed in the dream's working copy; the memory itself is unchanged so far."""

    kind: Literal["dream/file"]
    project: str
    dream: int
    scope: str
    file: str
    files: int
    usd: float
    seconds: float
    where: str


class DreamFinished(TypedDict):
    """The counts are of files; `left_alone` were skipped because they changed meanwhile.

        `words` says it all in plain words; `left` memories are current, `questions` wait in
    the inbox.
    """

    kind: Literal["dream/finished"]
    project: str
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
    words: str
    sessions: int
    read: int
    merged: int
    left: int
    questions: int
    tool_calls: int


class FileDiff(TypedDict):
    """What happens to one file; `diff` is empty where the text did not change."""

    file: str
    deed: Literal["changed", "index", "new", "removed", "retired"]
    added: int
    removed: int
    diff: str


class Flag(TypedDict):
    file: str
    concern: Literal[
        "due for review", "empty", "index is cut", "too long for recall", "without a type"
    ]


class LogMark(TypedDict):
    """How far a log was read: the number of bytes, and their hash."""

    bytes: int
    sha256: str


class Summary(TypedDict):
    """The outcome of a dream; `said` is the model's closing message."""

    how: Literal["embedded", "model"]
    memories: int
    files: list[FileDiff]
    flags: list[Flag]
    left_alone: list[str]
    lost: list[str]
    daily_logs: int
    logs_read: dict[str, LogMark]
    model_turns: int
    input_tokens: int
    output_tokens: int
    usd: float
    seconds: float
    said: str
    words: str
    counts: DreamCounts
    kept_at: str


class DreamLine(TypedDict):
    dream: int
    scope: str
    project: str
    cause: str
    state: str
    reason: str
    started: str
    finished: str
    summary: Summary


class DreamLogAnswer(TypedDict):
    dreams: list[DreamLine]


class DreamPhase(TypedDict):
    """`sessions` were looked at, `read`, `merged`, `retired` and `left` count memories so far."""

    kind: Literal["dream/phase"]
    project: str
    dream: int
    scope: str
    phase: str
    files: int
    model_turns: int
    tokens: int
    usd: float
    seconds: float
    step: str
    sessions: int
    read: int
    merged: int
    retired: int
    left: int
    tool_calls: int


class DreamSaid(TypedDict):
    """What the model says as it goes: `text` is the beginning, on one line and masked."""

    kind: Literal["dream/said"]
    project: str
    dream: int
    scope: str
    text: str
    model_turns: int
    tool_calls: int
    tokens: int
    usd: float
    seconds: float


class DreamStartAnswer(TypedDict):
    """`dream` is its number."""

    dream: int


class DreamStarted(TypedDict):
    """`how` is model or embedded; `cause` is schedule, asked, dry-run or accepted.

    A dream in the `user` scope has no project.
    """

    kind: Literal["dream/started"]
    project: str
    dream: int
    scope: str
    how: str
    cause: str
    memories: int


class Running(TypedDict):
    dream: int
    phase: str
    files: int
    usd: float
    seconds: float


class Estimate(TypedDict):
    """What a dream would read and cost; without a model it costs nothing."""

    how: str
    memories: int
    read: int
    tokens: int
    usd: float
    most_usd: float


class DreamStatus(TypedDict):
    """Whether a dream may start now; if not, which gate is closed, why, and until when."""

    project: str
    directory: str
    message: str
    is_open: bool
    scope: NotRequired[str]
    gate: NotRequired[str]
    reason: NotRequired[str]
    opens_at: NotRequired[str]
    last: NotRequired[str]
    running: NotRequired[Running | None]
    estimate: NotRequired[Estimate | None]


class DueMemory(TypedDict):
    """`since` is the day on which it became due; `gone` is what it cites and was not found."""

    path: str
    file: str
    name: str
    type: str
    scope: str
    reason: Literal["ended", "gone", "old"]
    since: str
    age: str
    text: str
    gone: str


class ErrorData(TypedDict):
    kind: str
    hint: str


class ExportAnswer(TypedDict):
    """`archive` is the file, in base64."""

    memories: int
    checkpoints: int
    bytes: int
    archive: str


class ExtractionFinished(TypedDict):
    """One run over some turns of a session; `files` are the memories it saved."""

    kind: Literal["extraction/finished"]
    project: str
    session_id: str
    verdict: str
    reason: str
    files: list[str]
    tokens: int
    usd: float
    ms: int
    turns: int
    messages: int
    model_turns: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cache_hit_percent: float


class Fences(TypedDict):
    """Which fences the kernel offers; `landlock` is its version, 0 if there is none."""

    openat2: bool
    landlock: int


class Finding(TypedDict):
    check: Literal[
        "agent settings",
        "index",
        "memories",
        "memory files",
        "model server",
        "old places",
        "shared folder",
    ]
    verdict: Literal["fail", "ok", "warn"]
    reason: str
    fix: str


class FoundMemory(TypedDict):
    """A memory that waits for somebody to vouch for it; `text` is its beginning, masked."""

    path: str
    file: str
    scope: str
    name: str
    text: str


class Header(TypedDict):
    """What a list shows of a memory."""

    path: str
    file: str
    name: str
    description: str
    type: Literal["feedback", "project", "reference", "user"] | None
    scope: Literal["agent", "group", "project", "team", "user"]
    modified: str
    age: str
    stale: bool
    bytes: int
    retired: bool
    superseded_by: str


class HealthAnswer(TypedDict):
    findings: list[Finding]


class VersionLine(TypedDict):
    version: int
    at: str
    cause: str
    session_id: str
    sha256: str
    bytes: int


class HistoryAnswer(TypedDict):
    versions: list[VersionLine]
    content: NotRequired[str | None]


class ImportAnswer(TypedDict):
    """`waiting` go to the inbox, `restored` are put back, `known` are here already.

    `left_out` did not fit into the inbox, or are not memories.
    """

    project: str
    exported: str
    same_project: bool
    waiting: list[str]
    restored: list[str]
    known: int
    checkpoints: list[str]
    left_out: list[str]
    passed_over: int
    done: bool


class ImportEstimate(TypedDict):
    """`resumes`: an earlier import with the same parameters continues where it stopped."""

    sessions: int
    turns: int
    tokens: int
    usd: float
    model: str
    since: str
    resumes: bool


class ImportFinished(TypedDict):
    """`complete` is false if it was stopped; what was imported until then stays."""

    kind: Literal["import/finished"]
    project: str
    files_done: int
    files_total: int
    turns: int
    complete: bool
    ms: int


class ImportJob(TypedDict):
    started: bool
    since: str
    resumes: bool


class ImportProgress(TypedDict):
    kind: Literal["import/progress"]
    project: str
    files_done: int
    files_total: int
    turns: int


class OldMemory(TypedDict):
    """A memory that a statement may contradict, as it may be shown."""

    file: str
    text: str


class InboxItem(TypedDict):
    """A candidate as callers see it; `text` is the sentence, `around` the message it was in."""

    id: int
    project: str
    type: Literal["feedback", "project", "reference", "user"]
    text: str
    around: str
    reason: str
    contradicts: str
    against: list[OldMemory]
    retires: bool
    session_id: str
    said: str
    since: str
    until: str


class InboxAnswer(TypedDict):
    items: list[InboxItem]
    reviewer: Literal["agent", "person"]


class InboxStatus(TypedDict):
    """`waiting` statements of this project for which nobody decided yet."""

    waiting: int


class InitAnswer(TypedDict):
    """`before` is the version of the tables that was there, 0 for none."""

    project: str
    server: str
    before: int
    version: int
    members: list[str]
    removed: list[str]


class SyncAnswer(TypedDict):
    pulled: list[str]
    pushed: list[str]
    removed: list[str]
    conflicts: list[str]
    waiting: list[str]
    held: list[SkippedEntry]
    skipped: list[SkippedEntry]
    refused: list[SkippedEntry]
    entries: int


class JoinAnswer(TypedDict):
    """`problem` and `hint` say why the first sync has to wait, if it has to."""

    project: str
    server: str
    problem: str
    hint: str
    sync: SyncAnswer | None


class Kept(TypedDict):
    """`is_new` is false if a memory already said it, or was retired already."""

    id: int
    path: str
    is_new: bool
    is_retired: bool


class NotKept(TypedDict):
    id: int
    reason: str
    hint: str


class KeptAnswer(TypedDict):
    kept: list[Kept]
    refused: list[NotKept]


class LeaveAnswer(TypedDict):
    """The files stay where they are."""

    project: str
    files: int


class LeftOut(TypedDict):
    path: str
    budget: str


class LogLine(TypedDict):
    """One version on the server; `action` is saved or removed."""

    at: str
    author: str
    file: str
    action: str
    bytes: int


class LogAnswer(TypedDict):
    project: str
    versions: list[LogLine]


class MatchReason(TypedDict):
    """Why a memory is in the answer: how much each word counted, and how much its meaning."""

    path: str
    words: float
    meaning: float
    terms: dict[str, float]


class MemoryForgotten(TypedDict):
    kind: Literal["memory/forgotten"]
    project: str
    path: str
    scope: str
    cause: str


class MemoryListAnswer(TypedDict):
    """Newest first. With a `limit`, `total` is how many there are on all pages."""

    memories: list[Header]
    total: NotRequired[int]


class MemoryRetired(TypedDict):
    """`was` is where the memory stood, `path` where it is kept now."""

    kind: Literal["memory/retired"]
    project: str
    path: str
    was: str
    scope: str
    cause: str
    session_id: str


class MemorySaved(TypedDict):
    kind: Literal["memory/saved"]
    project: str
    path: str
    type: str
    scope: str
    cause: str
    session_id: str


class MemoryStatus(TypedDict):
    enabled: bool
    reason: str
    extraction: str
    until: str | None


class Moved(TypedDict):
    """Where a memory is now and where it was; `source` and `scope` are scopes."""

    path: str
    version: int
    file: str
    scope: Literal["agent", "group", "project", "team", "user"]
    source: Literal["agent", "group", "project", "team", "user"]


class NotesAnswer(TypedDict):
    text: str
    updated: str
    session_id: str
    modified: float


class Pong(TypedDict):
    """`problems` are mistakes in the settings, which every command shows."""

    version: str
    pid: int
    uptime_seconds: float
    problems: list[str]


class PrintedAnswer(TypedDict):
    """`stdout` is what the command must print."""

    stdout: str


class SearchedPlace(TypedDict):
    """Where a purge looked; `left` are the files in which something is still found.

    What is not `ours` is another memory's or the client's, and was not changed.
    """

    place: str
    looked: int
    removed: int
    left: list[str]
    ours: bool


class PurgeAnswer(TypedDict):
    """`gone` is whether nothing is left in any place of ours."""

    path: str
    gone: bool
    places: list[SearchedPlace]


class QueueStatus(TypedDict):
    """`held` turns wait for another turn, `parked` ones for a person."""

    waiting: int
    running: int
    held: int
    parked: int


class Recalled(TypedDict):
    """One memory of an answer."""

    path: str
    name: str
    description: str
    type: Literal["feedback", "project", "reference", "user"] | None
    scope: Literal["agent", "group", "project", "team", "user"]
    score: float
    age: str
    stale: bool
    content: str
    truncated: bool
    modified: float
    trust: str
    author: str
    ended: str
    gone: str


class RecallAnswer(TypedDict):
    memories: list[Recalled]
    text: str
    selector: Literal["embedded", "model"]
    elapsed_ms: float
    session_bytes: int
    why: list[MatchReason]
    left_out: list[LeftOut]


class UseReport(TypedDict):
    """`is_held_back`: it is no longer injected unasked."""

    path: str
    given: int
    last_given: str
    used: int
    contradicted: int
    silent: int
    rule_given: int
    rule_followed: int
    rule_broken: int
    is_held_back: bool


class RecallStatsAnswer(TypedDict):
    memories: list[UseReport]


class Recent(TypedDict):
    """A recently saved memory; `cause` says what saved it."""

    name: str
    path: str
    project: str
    at: str
    cause: str


class RejectedAnswer(TypedDict):
    rejected: int


class RetriedAnswer(TypedDict):
    """`retried` counts turns."""

    retried: int


class ReviewListAnswer(TypedDict):
    memories: list[DueMemory]


class Reviewed(TypedDict):
    """`path` is where the memory is now; `review_by` when it is due again, if it was kept."""

    path: str
    review_by: str


class RulesStatus(TypedDict):
    """Rules about a tool call that were given when it was about to be made, in all projects."""

    given: int
    followed: int
    broken: int


class Said(TypedDict):
    kind: str
    text: str
    at: NotRequired[str]


class Saved(TypedDict):
    path: str
    version: int


class Session(TypedDict):
    """One session as one row; `turns` counts those of a person."""

    session_id: str
    path: str
    cwd: str
    git_branch: str
    first_prompt: str
    turns: int
    compactions: int
    context_tokens: int
    output_tokens: int
    started: str
    last_activity: str


class SessionCompacted(TypedDict):
    kind: Literal["transcript/compacted"]
    project: str
    session_id: str
    trigger: str
    tokens_before: int
    tokens_after: int


class SessionListAnswer(TypedDict):
    sessions: list[Session]


class SharedAnswer(TypedDict):
    """Where a memory is now; `is_waiting` if the server does not know yet."""

    path: str
    version: int
    is_waiting: bool


class SnapshotWritten(TypedDict):
    path: str
    updated_at: str
    files: list[str]


class TranscriptsStatus(TypedDict):
    """`behind` counts unread bytes on disk."""

    watched: int
    behind: int


class StatusReport(TypedDict):
    version: str
    pid: int
    started: str
    provider: str
    model: str
    model_host: str
    transcripts: TranscriptsStatus
    queue: QueueStatus
    spending: SpendingStatus
    memory: MemoryStatus
    inbox: InboxStatus
    rules: RulesStatus
    plan: PlanStatus | None
    log: str
    socket: str
    fences: Fences
    recent: list[Recent]
    dreams: list[DreamStatus]
    errors: list[str]


class StoppingAnswer(TypedDict):
    """`stopping` is false if there was nothing to stop."""

    stopping: bool


class SubscribedAnswer(TypedDict):
    subscribed: bool


class SwitchAnswer(TypedDict):
    """`until` is when memory is on again by itself, if it is off for a time only."""

    enabled: bool
    until: NotRequired[str]


class TeamStatus(TypedDict):
    """How a project stands with its team, as far as it is known without asking the server.

        `reason`, `message` and `hint` say what is wrong, if anything is. `suggested` are
    private
        memories that by their type are for the team.
    """

    is_joined: bool
    project: str
    server: str
    is_connected: bool
    listens: bool
    reason: str
    message: str
    hint: str
    warnings: list[str]
    accept: str
    last_sync: str
    entries: int
    entry_cap: int
    waiting: list[str]
    held: list[SkippedEntry]
    skipped: list[SkippedEntry]
    refused: list[SkippedEntry]
    left_out: list[str]
    removals: list[str]
    conflicts: list[LostLine]
    suggested: list[str]


class TeamSynced(TypedDict):
    """How many files one sync changed; in `conflicts` a change made here lost to the server."""

    kind: Literal["team/synced"]
    project: str
    pulled: int
    pushed: int
    removed: int
    conflicts: list[str]
    held: int
    skipped: int
    ms: int


class TeamTrouble(TypedDict):
    """The team's database cannot be used; `reason` is one word, empty once it can be again."""

    kind: Literal["team/trouble"]
    project: str
    reason: str
    message: str


class TrustAnswer(TypedDict):
    """What was confirmed, what was known already, and what still waits."""

    confirmed: list[FoundMemory]
    known: list[str]
    waiting: list[FoundMemory]


class TurnEndedAnswer(TypedDict):
    """`queued` is false for a file that is not a transcript of this user's."""

    queued: bool


class TurnSeen(TypedDict):
    """A turn that ended and is stored; `continues` is the id of the turn that it continues."""

    kind: Literal["transcript/turn"]
    project: str
    session_id: str
    turn_id: str
    ending: str
    continues: str
    prompts: int
    tool_calls: int
    context_tokens: int
    output_tokens: int


class Undone(TypedDict):
    """`left` were changed since the dream, and stay as they are."""

    dream: int
    restored: list[str]
    left: list[str]


class WholeMemory(TypedDict):
    """A memory with its text as it may be shown; `version` is its number in the history.

    `author` is the teammate who wrote it, if one did.
    """

    path: str
    file: str
    name: str
    description: str
    type: Literal["feedback", "project", "reference", "user"] | None
    scope: Literal["agent", "group", "project", "team", "user"]
    modified: str
    age: str
    stale: bool
    bytes: int
    retired: bool
    superseded_by: str
    content: str
    version: int
    author: str


class WholeSession(TypedDict):
    """With what was said, oldest first; of a very long one, `parts_left_out` came before that."""

    session_id: str
    path: str
    cwd: str
    git_branch: str
    first_prompt: str
    turns: int
    compactions: int
    context_tokens: int
    output_tokens: int
    started: str
    last_activity: str
    parts: list[Said]
    parts_left_out: int


class WhyAnswer(TypedDict):
    """`said` is what the person said, empty if the transcript is gone or shows nothing.

    `retired` is the day on which it was, if it was.
    """

    path: str
    file: str
    name: str
    type: str
    cause: str
    trust: str
    author: str
    session_id: str
    created: str
    said: str
    said_at: str
    transcript: str
    replaces: list[str]
    replaced_by: list[str]
    retired: str
    versions: int
    changed: str
    changed_by: str
    is_gone: bool
    times_recalled: int
    last_recalled: str
    recalled_in: str
    used: int
    contradicted: int
    silent: int
    rule_given: int
    rule_followed: int
    rule_broken: int


class Reconnected(TypedDict):
    """The daemon was away; events may have been missed."""

    kind: Literal["client/reconnected"]
    project: str


Event = (
    DaemonStopping
    | DeviceSynced
    | DeviceTrouble
    | DreamFile
    | DreamFinished
    | DreamPhase
    | DreamSaid
    | DreamStarted
    | ExtractionFinished
    | ImportFinished
    | ImportProgress
    | MemoryForgotten
    | MemoryRetired
    | MemorySaved
    | Reconnected
    | SessionCompacted
    | TeamSynced
    | TeamTrouble
    | TurnSeen
)


EventKind = Literal[
    "memory/saved",
    "memory/forgotten",
    "memory/retired",
    "transcript/turn",
    "transcript/compacted",
    "import/progress",
    "import/finished",
    "extraction/finished",
    "dream/started",
    "dream/phase",
    "dream/file",
    "dream/said",
    "dream/finished",
    "team/synced",
    "team/trouble",
    "device/synced",
    "device/trouble",
    "daemon/stopping",
]
