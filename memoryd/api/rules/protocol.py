"""What may be asked over the socket, decoded in two steps.

First the envelope (`envelope`), with params of any shape, so that an id survives bad params; then
the params, by the method's own type in `METHODS`; those about memories are in
`memory_params`, those about sessions in `session_params`, those about the team in `team_params`,
those about a person's machines in `device_params`.
Params ignore unknown keys and every new field has a default, so that clients and daemons of
different versions understand each other. What a person marked as private is taken out here, before
anything sees it.
"""

from typing import Annotated, Final, Literal

import msgspec

from memoryd.api.rules import device_params, memory_params, session_params, team_params
from memoryd.api.rules.envelope import INVALID_PARAMS, METHOD_NOT_FOUND, Request, RequestError
from memoryd.base.events import KINDS
from memoryd.recall.rules.query import RecallQuery
from memoryd.text.private import without_private

# Fields that say where, and never what somebody said.
_NAMES_PLACES: Final = frozenset({"cwd", "path", "paths", "session_id", "transcript_path"})

CandidateIds = Annotated[list[int], msgspec.Meta(min_length=1, max_length=1000)]


class PingParams(msgspec.Struct, frozen=True):
    pass


class StatusParams(msgspec.Struct, frozen=True):
    cwd: str | None = None


class HealthParams(msgspec.Struct, frozen=True):
    """`provider` asks for one small call to the model server, which is charged."""

    cwd: str
    provider: bool = False


class ShutdownParams(msgspec.Struct, frozen=True):
    pass


class SubscribeParams(msgspec.Struct, frozen=True):
    """Without `kinds`, every event. Unknown kinds are rejected: such an event would never come."""

    kinds: list[str] | None = None
    cwd: str | None = None

    def __post_init__(self) -> None:
        for kind in self.kinds or ():
            if kind not in KINDS:
                from difflib import get_close_matches  # noqa: PLC0415 - the daemon starts sooner

                (near,) = get_close_matches(kind[:100], KINDS, n=1, cutoff=0)
                raise ValueError(f"unknown event kind {kind[:100]!r}; did you mean {near}?")


class InboxListParams(msgspec.Struct, frozen=True):
    """Without a `cwd`, every project."""

    cwd: str | None = None


class InboxAcceptParams(msgspec.Struct, frozen=True):
    ids: CandidateIds
    by: Literal["user", "agent"] = "user"
    anyway: bool = False


class InboxEditParams(msgspec.Struct, frozen=True):
    """Accepts one in other words, or as another type."""

    ids: Annotated[list[int], msgspec.Meta(min_length=1, max_length=1)]
    text: str | None = None
    type: Literal["user", "feedback", "project", "reference"] | None = None
    by: Literal["user", "agent"] = "user"
    anyway: bool = False


class InboxRejectParams(msgspec.Struct, frozen=True):
    ids: CandidateIds
    by: Literal["user", "agent"] = "user"


class ReviewListParams(msgspec.Struct, frozen=True):
    cwd: str


class ReviewKeepParams(msgspec.Struct, frozen=True):
    """The memory is still true; it is due again later."""

    cwd: str
    path: str


class ReviewRetireParams(msgspec.Struct, frozen=True):
    cwd: str
    path: str


class SwitchParams(msgspec.Struct, frozen=True):
    """`seconds` switches off for a time only."""

    enabled: bool
    cwd: str | None = None
    seconds: Annotated[float, msgspec.Meta(gt=0, le=366 * 86_400)] | None = None

    def __post_init__(self) -> None:
        if self.enabled and self.seconds is not None:
            raise ValueError("`seconds` is for switching off")


class ExportParams(msgspec.Struct, frozen=True):
    cwd: str


class ImportArchiveParams(msgspec.Struct, frozen=True):
    """`path` is an archive on this machine; `undo` takes the last import of the project back."""

    cwd: str
    path: str = ""
    dry_run: bool = False
    undo: bool = False
    by: Literal["user", "agent"] = "user"


class AdoptParams(msgspec.Struct, frozen=True):
    """`old` is the path or the folder name of the project whose memories come here.

    Without it, what was left behind by this same repository.
    """

    cwd: str
    old: str = ""
    dry_run: bool = False
    undo: bool = False
    by: Literal["user", "agent"] = "user"


class RecallStatsParams(msgspec.Struct, frozen=True):
    cwd: str


class ImportStartParams(msgspec.Struct, frozen=True):
    """Without a `cwd`, every project; `since` is a date or a duration such as 30d."""

    since: str
    cwd: str | None = None
    dry_run: bool = False


class ImportStopParams(msgspec.Struct, frozen=True):
    pass


class CostParams(msgspec.Struct, frozen=True):
    days: Annotated[int, msgspec.Meta(ge=1, le=3660)] = 30


class QueueRetryParams(msgspec.Struct, frozen=True):
    """Retries every parked turn."""


class DreamParamsBase(msgspec.Struct, frozen=True):
    """About the memories of the project of `cwd`, its group, its team, an agent or the user."""

    cwd: str
    scope: Literal["project", "group", "user", "team", "agent"] = "project"
    agent: str = ""

    def __post_init__(self) -> None:
        if (self.scope == "agent") != bool(self.agent):
            raise ValueError("the scope agent goes with the name of an agent, in `agent`")


class DreamStartParams(DreamParamsBase, frozen=True):
    """`force` skips the gates of time and sessions; `dry_run` changes nothing."""

    force: bool = False
    dry_run: bool = False


class DreamStopParams(DreamParamsBase, frozen=True):
    pass


class DreamAcceptParams(DreamParamsBase, frozen=True):
    """Applies a dream that the guard refused; without a number, the last one waiting for review."""

    dream: int | None = None


class DreamUndoParams(DreamParamsBase, frozen=True):
    pass


class DreamStatusParams(DreamParamsBase, frozen=True):
    pass


class DreamLogParams(DreamParamsBase, frozen=True):
    """Past dreams, newest first; with `dream`, only that one, with its diffs."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 20
    dream: int | None = None


# Every request. `api/dispatch.py` matches all of them in one place.
Params = (
    PingParams
    | StatusParams
    | HealthParams
    | ShutdownParams
    | SubscribeParams
    | memory_params.MemoryListParams
    | memory_params.MemoryGetParams
    | memory_params.MemorySaveParams
    | memory_params.MemoryMoveParams
    | memory_params.MemoryEditParams
    | memory_params.MemoryTrustParams
    | memory_params.MemoryWhyParams
    | memory_params.MemoryForgetParams
    | memory_params.MemoryPurgeParams
    | memory_params.MemoryHistoryParams
    | memory_params.MemoryRestoreParams
    | memory_params.AgentListParams
    | memory_params.AgentSnapshotParams
    | InboxListParams
    | InboxAcceptParams
    | InboxEditParams
    | InboxRejectParams
    | ReviewListParams
    | ReviewKeepParams
    | ReviewRetireParams
    | SwitchParams
    | AdoptParams
    | ExportParams
    | ImportArchiveParams
    | RecallQuery
    | RecallStatsParams
    | session_params.HookParams
    | session_params.StatusLineParams
    | session_params.ContextParams
    | session_params.ContextApproveParams
    | session_params.SessionNotesParams
    | session_params.CheckpointSaveParams
    | session_params.CheckpointListParams
    | session_params.CheckpointGetParams
    | session_params.CheckpointRemoveParams
    | session_params.TurnEndedParams
    | session_params.SessionListParams
    | session_params.SessionShowParams
    | ImportStartParams
    | ImportStopParams
    | CostParams
    | QueueRetryParams
    | DreamStartParams
    | DreamStopParams
    | DreamAcceptParams
    | DreamUndoParams
    | DreamStatusParams
    | DreamLogParams
    | team_params.TeamParams
    | device_params.DeviceParams
)

METHODS: Final[dict[str, type[Params]]] = {
    "ping": PingParams,
    "status": StatusParams,
    "health": HealthParams,
    "shutdown": ShutdownParams,
    "events/subscribe": SubscribeParams,
    "memory/list": memory_params.MemoryListParams,
    "memory/get": memory_params.MemoryGetParams,
    "memory/save": memory_params.MemorySaveParams,
    "memory/move": memory_params.MemoryMoveParams,
    "memory/edit": memory_params.MemoryEditParams,
    "memory/trust": memory_params.MemoryTrustParams,
    "memory/why": memory_params.MemoryWhyParams,
    "memory/forget": memory_params.MemoryForgetParams,
    "memory/purge": memory_params.MemoryPurgeParams,
    "memory/history": memory_params.MemoryHistoryParams,
    "memory/restore": memory_params.MemoryRestoreParams,
    "agent/list": memory_params.AgentListParams,
    "agent/snapshot": memory_params.AgentSnapshotParams,
    "inbox/list": InboxListParams,
    "inbox/accept": InboxAcceptParams,
    "inbox/edit": InboxEditParams,
    "inbox/reject": InboxRejectParams,
    "review/list": ReviewListParams,
    "review/keep": ReviewKeepParams,
    "review/retire": ReviewRetireParams,
    "switch": SwitchParams,
    "project/adopt": AdoptParams,
    "archive/export": ExportParams,
    "archive/import": ImportArchiveParams,
    "recall": RecallQuery,
    "recall/stats": RecallStatsParams,
    "hook": session_params.HookParams,
    "statusline": session_params.StatusLineParams,
    "context": session_params.ContextParams,
    "context/approve": session_params.ContextApproveParams,
    "session/notes": session_params.SessionNotesParams,
    "checkpoint/save": session_params.CheckpointSaveParams,
    "checkpoint/list": session_params.CheckpointListParams,
    "checkpoint/get": session_params.CheckpointGetParams,
    "checkpoint/remove": session_params.CheckpointRemoveParams,
    "turn/ended": session_params.TurnEndedParams,
    "session/list": session_params.SessionListParams,
    "session/show": session_params.SessionShowParams,
    "import/start": ImportStartParams,
    "import/stop": ImportStopParams,
    "cost": CostParams,
    "queue/retry": QueueRetryParams,
    "dream/start": DreamStartParams,
    "dream/stop": DreamStopParams,
    "dream/accept": DreamAcceptParams,
    "dream/undo": DreamUndoParams,
    "dream/status": DreamStatusParams,
    "dream/log": DreamLogParams,
    "team/status": team_params.TeamStatusParams,
    "team/sync": team_params.TeamSyncParams,
    "team/init": team_params.TeamInitParams,
    "team/join": team_params.TeamJoinParams,
    "team/leave": team_params.TeamLeaveParams,
    "team/share": team_params.TeamShareParams,
    "team/unshare": team_params.TeamUnshareParams,
    "team/remove": team_params.TeamRemoveParams,
    "team/log": team_params.TeamLogParams,
    "device/init": device_params.DeviceInitParams,
    "device/add": device_params.DeviceAddParams,
    "device/list": device_params.DeviceListParams,
    "device/revoke": device_params.DeviceRevokeParams,
    "device/sync": device_params.DeviceSyncParams,
    "device/project": device_params.DeviceProjectParams,
}


def is_a_persons(params: Params) -> bool:
    """Whether the request says that a person makes it."""
    return getattr(params, "by", "") == "user"


def as_an_agents(params: Params) -> Params:
    """The same request, made by an agent."""
    return msgspec.structs.replace(params, by="agent")


def params_of(request: Request) -> Params:
    """The request's params as its method's own type."""
    kind = METHODS.get(request.method)
    if kind is None:
        raise RequestError(
            METHOD_NOT_FOUND, f"there is no method {request.method!r}", "unknown-method"
        )
    raw = bytes(request.params)
    try:
        params = msgspec.json.decode(b"{}" if raw == b"null" else raw, type=kind)
    except (msgspec.ValidationError, RecursionError) as error:
        words = str(error) if isinstance(error, msgspec.ValidationError) else "too deep"
        raise RequestError(
            INVALID_PARAMS, f"{request.method}: {words}", "invalid-params"
        ) from error
    return public(params) if b"private" in raw.lower() else params


def public(params: Params) -> Params:
    """The same request with a mark in place of what a person marked as private."""
    plain = msgspec.to_builtins(params)
    return msgspec.convert(
        {
            name: value if name in _NAMES_PLACES else _public_value(value)
            for name, value in plain.items()
        },
        type(params),
    )


def _public_value(value: object) -> object:
    match value:
        case str():
            return without_private(value)
        case list():
            return [_public_value(one) for one in value]
        case dict():
            return {name: _public_value(one) for name, one in value.items()}
    return value
