"""What travels over the socket: JSON-RPC 2.0, decoded in two steps.

First the envelope, which tolerates anything, so that an id survives bad params; then the params, by
the method's own type in `METHODS`. Params ignore unknown keys and every new field has a default, so
that clients and daemons of different versions understand each other.
"""

from difflib import get_close_matches
from typing import Annotated, Final, Literal

import msgspec

from memoryd.base.errors import MemorydError
from memoryd.base.events import KINDS

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

Id = int | float | str | None


class Request(msgspec.Struct, frozen=True, gc=False):
    """One call. Without an id it is a notification, and nobody waits for an answer."""

    method: str
    jsonrpc: Literal["2.0"]
    id: Id | msgspec.UnsetType = msgspec.UNSET
    params: msgspec.Raw = msgspec.Raw(b"{}")


class IdAlone(msgspec.Struct, frozen=True, gc=False):
    """What is left of a bad request: the id, so that its sender learns of it."""

    id: Id = None


class ErrorData(msgspec.Struct, frozen=True):
    kind: str
    hint: str = ""


class Failure(msgspec.Struct, frozen=True):
    code: int
    message: str
    data: ErrorData


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    jsonrpc: str = "2.0"
    id: Id
    result: msgspec.Raw


class ErrorAnswer(msgspec.Struct, frozen=True, kw_only=True):
    jsonrpc: str = "2.0"
    id: Id
    error: Failure


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """A notification to a subscriber; `params` names the kind and holds its data."""

    jsonrpc: str = "2.0"
    method: str = "event"
    params: msgspec.Raw


class RequestError(MemorydError):
    """A request that the standard itself has a code for."""

    def __init__(self, code: int, message: str, kind: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.wire_code = code
        self.wire_kind = kind


def failure_of(error: BaseException) -> Failure:
    """The one place where an exception becomes a wire error; a bug shows no inner text."""
    match error:
        case RequestError():
            return Failure(error.wire_code, error.message, ErrorData(error.wire_kind, error.hint))
        case MemorydError():
            return Failure(error.code, error.message, ErrorData(error.kind, error.hint))
        case _:
            hint = "memoryd logs shows what happened"
            return Failure(INTERNAL_ERROR, "internal error", ErrorData("bug", hint))


# --- params -------------------------------------------------------------------------------------


class Ping(msgspec.Struct, frozen=True):
    pass


class Status(msgspec.Struct, frozen=True):
    cwd: str | None = None


class Health(msgspec.Struct, frozen=True):
    """`provider` asks for one small call to the model server, which costs what it costs."""

    cwd: str
    provider: bool = False


class Shutdown(msgspec.Struct, frozen=True):
    pass


class Subscribe(msgspec.Struct, frozen=True):
    """Without `kinds`, every event; a kind that there is not would be waited for in vain."""

    kinds: list[str] | None = None
    cwd: str | None = None

    def __post_init__(self) -> None:
        for kind in self.kinds or ():
            if kind not in KINDS:
                (near,) = get_close_matches(kind[:100], KINDS, n=1, cutoff=0)
                raise ValueError(f"no event is of kind {kind[:100]!r}; did you mean {near}?")


class MemoryList(msgspec.Struct, frozen=True):
    cwd: str
    scope: Literal["project", "user", "team", "agent"] | None = None
    type: Literal["user", "feedback", "project", "reference"] | None = None
    retired: bool = False
    as_of: str | None = None


class MemoryGet(msgspec.Struct, frozen=True):
    cwd: str
    path: str


class MemorySave(msgspec.Struct, frozen=True):
    cwd: str
    name: str
    description: str
    type: Literal["user", "feedback", "project", "reference"]
    body: str
    scope: Literal["project", "user", "team", "agent"] = "project"
    supersedes: str | None = None
    by: Literal["user", "agent"] = "user"


class MemoryForget(msgspec.Struct, frozen=True):
    cwd: str
    path: str
    by: Literal["user", "agent"] = "user"


class MemoryHistory(msgspec.Struct, frozen=True):
    """`version` asks for the text of that one as well."""

    cwd: str
    path: str
    version: int | None = None


class MemoryRestore(msgspec.Struct, frozen=True):
    cwd: str
    path: str
    version: int | None = None


class Switch(msgspec.Struct, frozen=True):
    enabled: bool
    cwd: str | None = None


class Recall(msgspec.Struct, frozen=True):
    """Without a deadline the answer waits for the index; with one, it is made of what is there."""

    query: str
    cwd: str
    session_id: str | None = None
    recent_tools: list[str] | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=50)] | None = None
    deadline_ms: Annotated[float, msgspec.Meta(ge=0, le=60_000)] | None = None
    agent: str | None = None
    as_of: str | None = None


class Hook(msgspec.Struct, frozen=True):
    """The agent's own JSON as it is; what is not named here is passed over."""

    hook_event_name: str
    cwd: str = ""
    session_id: str = ""
    transcript_path: str = ""
    source: str = ""
    prompt: str = ""


class Context(msgspec.Struct, frozen=True):
    cwd: str
    session_id: str | None = None
    source: str | None = None
    path: str | None = None
    agent: str | None = None


class ContextApprove(msgspec.Struct, frozen=True):
    cwd: str
    path: str


class SessionNotes(msgspec.Struct, frozen=True):
    session_id: str
    cwd: str = ""


class CheckpointSave(msgspec.Struct, frozen=True):
    cwd: str
    name: str
    session_id: str | None = None


class CheckpointList(msgspec.Struct, frozen=True):
    cwd: str


class CheckpointGet(msgspec.Struct, frozen=True):
    cwd: str
    name: str


class CheckpointRemove(msgspec.Struct, frozen=True):
    cwd: str
    name: str


BlockingSessionParams = (
    Context
    | ContextApprove
    | SessionNotes
    | CheckpointSave
    | CheckpointList
    | CheckpointGet
    | CheckpointRemove
)
SessionParams = Hook | BlockingSessionParams


class TurnEnded(msgspec.Struct, frozen=True):
    session_id: str
    transcript_path: str


class SessionList(msgspec.Struct, frozen=True):
    cwd: str
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 50


class SessionShow(msgspec.Struct, frozen=True):
    """`session_id` may be cut short, as long as it fits one session."""

    session_id: str


class ImportStart(msgspec.Struct, frozen=True):
    """Without a `cwd`, every project; `since` is a date or a length of time such as 30d."""

    since: str
    cwd: str | None = None
    dry_run: bool = False


class ImportStop(msgspec.Struct, frozen=True):
    pass


TranscriptParams = TurnEnded | SessionList | SessionShow | ImportStart | ImportStop


class Cost(msgspec.Struct, frozen=True):
    days: Annotated[int, msgspec.Meta(ge=1, le=3660)] = 30


class QueueRetry(msgspec.Struct, frozen=True):
    """Tries every turn again that was parked after too many failures."""


ExtractParams = Cost | QueueRetry


class AboutDreams(msgspec.Struct, frozen=True):
    """Over the memory of the project that `cwd` is in, or over the person's own."""

    cwd: str
    scope: Literal["project", "user"] = "project"


class DreamStart(AboutDreams, frozen=True):
    """`force` passes the gates of time and sessions; `dry_run` changes nothing."""

    force: bool = False
    dry_run: bool = False


class DreamStop(AboutDreams, frozen=True):
    pass


class DreamAccept(AboutDreams, frozen=True):
    """A dream that the guard refused; without a number the last one that waits for review."""

    dream: int | None = None


class DreamUndo(AboutDreams, frozen=True):
    pass


class DreamStatus(AboutDreams, frozen=True):
    pass


class DreamLog(AboutDreams, frozen=True):
    """Past dreams, newest first; with `dream`, that one alone and its diffs."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 20
    dream: int | None = None


DreamParams = DreamStart | DreamStop | DreamAccept | DreamUndo | DreamStatus | DreamLog

# Everything that can be asked; `methods` matches it in one place and forgets none.
Params = (
    Ping
    | Status
    | Health
    | Shutdown
    | Subscribe
    | MemoryList
    | MemoryGet
    | MemorySave
    | MemoryForget
    | MemoryHistory
    | MemoryRestore
    | Switch
    | Recall
    | SessionParams
    | TranscriptParams
    | ExtractParams
    | DreamParams
)

METHODS: Final[dict[str, type[Params]]] = {
    "ping": Ping,
    "status": Status,
    "health": Health,
    "shutdown": Shutdown,
    "events/subscribe": Subscribe,
    "memory/list": MemoryList,
    "memory/get": MemoryGet,
    "memory/save": MemorySave,
    "memory/forget": MemoryForget,
    "memory/history": MemoryHistory,
    "memory/restore": MemoryRestore,
    "switch": Switch,
    "recall": Recall,
    "hook": Hook,
    "context": Context,
    "context/approve": ContextApprove,
    "session/notes": SessionNotes,
    "checkpoint/save": CheckpointSave,
    "checkpoint/list": CheckpointList,
    "checkpoint/get": CheckpointGet,
    "checkpoint/remove": CheckpointRemove,
    "turn/ended": TurnEnded,
    "session/list": SessionList,
    "session/show": SessionShow,
    "import/start": ImportStart,
    "import/stop": ImportStop,
    "cost": Cost,
    "queue/retry": QueueRetry,
    "dream/start": DreamStart,
    "dream/stop": DreamStop,
    "dream/accept": DreamAccept,
    "dream/undo": DreamUndo,
    "dream/status": DreamStatus,
    "dream/log": DreamLog,
}


def params_of(request: Request) -> Params:
    """The request's params as its method's own type."""
    kind = METHODS.get(request.method)
    if kind is None:
        raise RequestError(
            METHOD_NOT_FOUND, f"there is no method {request.method!r}", "unknown-method"
        )
    raw = bytes(request.params)
    try:
        return msgspec.json.decode(b"{}" if raw == b"null" else raw, type=kind)
    except (msgspec.ValidationError, RecursionError) as error:
        words = str(error) if isinstance(error, msgspec.ValidationError) else "too deep"
        raise RequestError(
            INVALID_PARAMS, f"{request.method}: {words}", "invalid-params"
        ) from error
