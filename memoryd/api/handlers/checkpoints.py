"""Checkpoints: named copies of a session's notes. Everything here blocks."""

import msgspec
import structlog

from memoryd.api.rules import session_params
from memoryd.memories.scopes import Scopes
from memoryd.sessions.checkpoints import Checkpoint, Checkpoints
from memoryd.sessions.notes import SessionNotes

log = structlog.get_logger(__name__)


class CheckpointText(Checkpoint, frozen=True):
    text: str = ""


class CheckpointListAnswer(msgspec.Struct, frozen=True):
    checkpoints: list[Checkpoint]


class CheckpointRemovedAnswer(msgspec.Struct, frozen=True):
    """`removed` is its name."""

    removed: str


class CheckpointRequests:
    def __init__(self, scopes: Scopes, notes: SessionNotes, checkpoints: Checkpoints) -> None:
        self._scopes = scopes
        self._notes = notes
        self._checkpoints = checkpoints

    def save(self, params: session_params.CheckpointSaveParams) -> Checkpoint:
        """Copies the session's notes; without a session, those of the project's newest one."""
        session = params.session_id or self._notes.newest_session(params.cwd)
        text, project = self._notes.serve(session).text, self._scopes.root(params.cwd)
        saved = self._checkpoints.save(project, params.name, text)
        log.info("checkpoint-saved", project=project, name=saved.name, bytes=saved.bytes)
        return saved

    def list(self, params: session_params.CheckpointListParams) -> CheckpointListAnswer:
        return CheckpointListAnswer(self._checkpoints.list(self._scopes.root(params.cwd)))

    def get(self, params: session_params.CheckpointGetParams) -> CheckpointText:
        kept, text = self._checkpoints.get(self._scopes.root(params.cwd), params.name)
        return CheckpointText(**msgspec.structs.asdict(kept), text=text)

    def remove(self, params: session_params.CheckpointRemoveParams) -> CheckpointRemovedAnswer:
        project = self._scopes.root(params.cwd)
        self._checkpoints.remove(project, params.name)
        log.info("checkpoint-removed", project=project, name=params.name)
        return CheckpointRemovedAnswer(params.name)
