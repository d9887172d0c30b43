"""What each method of the socket answers, in one table.

`Dispatcher.answer` may return nothing but a `Result`, which mypy checks. A test asks a real daemon
for an answer to each method and compares it with the type that stands here. `memoryd schema`, which
other programs are written against, is made from this table and from the params in `rules/protocol`.
"""

from typing import Final

import msgspec

from memoryd.api.handlers.adopt import AdoptAnswer
from memoryd.api.handlers.agents import AgentLine
from memoryd.api.handlers.archives import ExportAnswer, ImportAnswer
from memoryd.api.handlers.checkpoints import (
    CheckpointListAnswer,
    CheckpointRemovedAnswer,
    CheckpointText,
)
from memoryd.api.handlers.devices import DeviceResult
from memoryd.api.handlers.dreams import DreamLine
from memoryd.api.handlers.health import Finding
from memoryd.api.handlers.inbox import KeptAnswer, RejectedAnswer
from memoryd.api.handlers.memories import HistoryAnswer, MemoryListAnswer
from memoryd.api.handlers.recall_stats import RecallStatsAnswer
from memoryd.api.handlers.spending import CostReport
from memoryd.api.handlers.status import StatusReport
from memoryd.api.handlers.team import TeamResult
from memoryd.api.handlers.why import WhyAnswer
from memoryd.api.pong import Pong
from memoryd.api.purge.service import PurgeAnswer
from memoryd.api.subscriptions import SubscribedAnswer
from memoryd.devices.answers import (
    DeviceAddAnswer,
    DeviceInitAnswer,
    DeviceList,
    DeviceProjectAnswer,
    DeviceRevokeAnswer,
    DeviceSyncAnswer,
)
from memoryd.dreams.dreamer import Undone
from memoryd.dreams.due import DueMemory, Reviewed
from memoryd.dreams.status import DreamStatus
from memoryd.extraction.backfill import ImportEstimate, ImportJob
from memoryd.extraction.inbox_answers import InboxAnswer
from memoryd.memories.catalog import Moved, Saved, WholeMemory
from memoryd.memories.snapshots import SnapshotWritten
from memoryd.memories.trusting import TrustAnswer
from memoryd.recall.recall_answer import RecallAnswer
from memoryd.sessions.checkpoints import Checkpoint
from memoryd.sessions.context import ContextAnswer
from memoryd.sessions.note_files import NotesAnswer
from memoryd.team.answers import (
    InitAnswer,
    JoinAnswer,
    LeaveAnswer,
    LogAnswer,
    SharedAnswer,
    SyncAnswer,
    TeamStatus,
)
from memoryd.transcripts.sessions import Session, WholeSession


class HealthAnswer(msgspec.Struct, frozen=True):
    findings: list[Finding]


class StoppingAnswer(msgspec.Struct, frozen=True):
    """`stopping` is false if there was nothing to stop."""

    stopping: bool


class AgentListAnswer(msgspec.Struct, frozen=True):
    agents: list[AgentLine]


class ReviewListAnswer(msgspec.Struct, frozen=True):
    memories: list[DueMemory]


class PrintedAnswer(msgspec.Struct, frozen=True):
    """`stdout` is what the command must print."""

    stdout: str


class ApprovedAnswer(msgspec.Struct, frozen=True):
    """`approved` is the real path of the file."""

    approved: str


class SwitchAnswer(msgspec.Struct, frozen=True):
    """`until` is when memory is on again by itself, if it is off for a time only."""

    enabled: bool
    until: str | msgspec.UnsetType = msgspec.UNSET


class TurnEndedAnswer(msgspec.Struct, frozen=True):
    """`queued` is false for a file that is not a transcript of this user's."""

    queued: bool


class SessionListAnswer(msgspec.Struct, frozen=True):
    sessions: list[Session]


class RetriedAnswer(msgspec.Struct, frozen=True):
    """`retried` counts turns."""

    retried: int


class DreamStartAnswer(msgspec.Struct, frozen=True):
    """`dream` is its number."""

    dream: int


class DreamLogAnswer(msgspec.Struct, frozen=True):
    dreams: list[DreamLine]


Result = (
    Pong
    | StatusReport
    | HealthAnswer
    | StoppingAnswer
    | SubscribedAnswer
    | MemoryListAnswer
    | WholeMemory
    | Saved
    | Moved
    | TrustAnswer
    | WhyAnswer
    | PurgeAnswer
    | HistoryAnswer
    | AgentListAnswer
    | SnapshotWritten
    | InboxAnswer
    | KeptAnswer
    | RejectedAnswer
    | ReviewListAnswer
    | Reviewed
    | SwitchAnswer
    | AdoptAnswer
    | ExportAnswer
    | ImportAnswer
    | RecallAnswer
    | RecallStatsAnswer
    | PrintedAnswer
    | ContextAnswer
    | ApprovedAnswer
    | NotesAnswer
    | Checkpoint
    | CheckpointListAnswer
    | CheckpointText
    | CheckpointRemovedAnswer
    | TurnEndedAnswer
    | SessionListAnswer
    | WholeSession
    | ImportEstimate
    | ImportJob
    | CostReport
    | RetriedAnswer
    | DreamStartAnswer
    | DreamLine
    | Undone
    | DreamStatus
    | DreamLogAnswer
    | TeamResult
    | DeviceResult
)


class Answers(msgspec.Struct, frozen=True):
    """What a method is for and the type of its result; it may have another one, `otherwise`."""

    summary: str
    result: type[Result]
    otherwise: type[Result] | None = None


ANSWERS: Final[dict[str, Answers]] = {
    "ping": Answers("Say that the daemon runs, and which version", Pong),
    "status": Answers("Say what the daemon does and has done", StatusReport),
    "health": Answers("Look for what is wrong", HealthAnswer),
    "shutdown": Answers("Stop the daemon", StoppingAnswer),
    "events/subscribe": Answers("Follow events on this connection", SubscribedAnswer),
    "memory/list": Answers("List memories", MemoryListAnswer),
    "memory/get": Answers("Read one memory", WholeMemory),
    "memory/save": Answers("Save a memory", Saved),
    "memory/move": Answers("Move a memory to another scope", Moved),
    "memory/edit": Answers("Replace the text of a memory", Saved),
    "memory/trust": Answers("Confirm memories of unknown origin", TrustAnswer),
    "memory/why": Answers("Say where a memory comes from", WhyAnswer),
    "memory/forget": Answers("Remove a memory; it can be restored", Saved),
    "memory/purge": Answers("Remove a memory for good, from everywhere", PurgeAnswer),
    "memory/history": Answers("List the versions of a memory", HistoryAnswer),
    "memory/restore": Answers("Restore a version of a memory", Saved),
    "agent/list": Answers("List the sub-agents that have a memory", AgentListAnswer),
    "agent/snapshot": Answers("Write an agent's memories into the project", SnapshotWritten),
    "inbox/list": Answers("List statements that wait for a decision", InboxAnswer),
    "inbox/accept": Answers("Accept statements as memories", KeptAnswer),
    "inbox/edit": Answers("Accept one statement in other words", KeptAnswer),
    "inbox/reject": Answers("Reject statements", RejectedAnswer),
    "review/list": Answers("List memories that may no longer be true", ReviewListAnswer),
    "review/keep": Answers("Say that a memory is still true", Reviewed),
    "review/retire": Answers("Retire a memory that is no longer true", Reviewed),
    "switch": Answers("Turn memory on or off", SwitchAnswer),
    "project/adopt": Answers("Bring the memories of another folder here", AdoptAnswer),
    "archive/export": Answers("Pack a project's memories into one file", ExportAnswer),
    "archive/import": Answers("Offer the memories of an archive in the inbox", ImportAnswer),
    "recall": Answers("Find the memories that matter to a question", RecallAnswer),
    "recall/stats": Answers("Say what became of memories that were given", RecallStatsAnswer),
    "hook": Answers("Answer a hook of the agent", PrintedAnswer),
    "statusline": Answers("Give one line for the agent's status line", PrintedAnswer),
    "context": Answers("Give what a session starts with", ContextAnswer),
    "context/approve": Answers("Allow an import of an instruction file", ApprovedAnswer),
    "session/notes": Answers("Read the notes of a session", NotesAnswer),
    "checkpoint/save": Answers("Keep a copy of a session's notes", Checkpoint),
    "checkpoint/list": Answers("List checkpoints", CheckpointListAnswer),
    "checkpoint/get": Answers("Read a checkpoint", CheckpointText),
    "checkpoint/remove": Answers("Remove a checkpoint", CheckpointRemovedAnswer),
    "turn/ended": Answers("Say that a turn of a transcript ended", TurnEndedAnswer),
    "session/list": Answers("List the sessions of a project", SessionListAnswer),
    "session/show": Answers("Read one session", WholeSession),
    "import/start": Answers(
        "Extract memories from past sessions; or say what that would cost",
        ImportJob,
        otherwise=ImportEstimate,
    ),
    "import/stop": Answers("Stop the import after the current file", StoppingAnswer),
    "cost": Answers("Say what was spent", CostReport),
    "queue/retry": Answers("Retry every parked turn", RetriedAnswer),
    "dream/start": Answers("Start a dream", DreamStartAnswer),
    "dream/stop": Answers("Stop the dream that runs", DreamLine),
    "dream/accept": Answers("Apply a dream that the guard refused", DreamLine),
    "dream/undo": Answers("Undo the last dream", Undone),
    "dream/status": Answers("Say whether a dream runs or may start", DreamStatus),
    "dream/log": Answers("List past dreams", DreamLogAnswer),
    "team/status": Answers("Say how a project stands with its team", TeamStatus),
    "team/sync": Answers("Sync with the team now", SyncAnswer),
    "team/init": Answers("Make or update the tables of the team, and its members", InitAnswer),
    "team/join": Answers("Share a project's team memories", JoinAnswer),
    "team/leave": Answers("Stop sharing; the files stay", LeaveAnswer),
    "team/share": Answers("Move a memory to the team", SharedAnswer),
    "team/unshare": Answers("Move a memory of the team to this machine only", SharedAnswer),
    "team/remove": Answers("Remove a memory for the whole team, or undo that", SharedAnswer),
    "team/log": Answers("List what the team changed", LogAnswer),
    "device/init": Answers("Make the tables for people's own machines", DeviceInitAnswer),
    "device/add": Answers("Add a machine: give a code, or use one", DeviceAddAnswer),
    "device/list": Answers("List a person's machines and what they do", DeviceList),
    "device/revoke": Answers("Shut a machine out, and change the key", DeviceRevokeAnswer),
    "device/sync": Answers("Sync with the person's other machines now", DeviceSyncAnswer),
    "device/project": Answers("Name a project for all machines", DeviceProjectAnswer),
}
