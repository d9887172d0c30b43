"""The requests that a session makes of its own accord: hooks, context, notes, checkpoints."""

from typing import assert_never

import anyio.to_thread
import msgspec
import structlog

from memoryd.api.handlers.hooks import Hooks
from memoryd.api.handlers.recall import RecallMethods
from memoryd.api.rules import protocol
from memoryd.memories.scopes import Scopes
from memoryd.sessions.checkpoints import Checkpoint, Checkpoints
from memoryd.sessions.context import Context
from memoryd.sessions.notes import SessionNotes
from memoryd.system.background import Background
from memoryd.transcripts.rules.turns import Compacted
from memoryd.transcripts.turn_table import QueuedTurn

log = structlog.get_logger(__name__)


class CheckpointText(Checkpoint, frozen=True):
    text: str = ""


class SessionMethods:
    def __init__(
        self,
        *,
        scopes: Scopes,
        hooks: Hooks,
        context: Context,
        notes: SessionNotes,
        checkpoints: Checkpoints,
        recall: RecallMethods,
        errands: Background,
    ) -> None:
        self._scopes = scopes
        self._hooks = hooks
        self._context = context
        self._notes = notes
        self._checkpoints = checkpoints
        self._recall = recall
        self._errands = errands

    def turn_ended(self, filed: QueuedTurn) -> None:
        """The tail's word that a turn is complete: the notes may be due."""
        transcript = f"{self._notes.root}/{filed.path}"
        self._errands.soon("notes", lambda: self._notes.turn_ended(filed.turn, transcript))

    def compacted(self, compacted: Compacted) -> None:
        """The session lost what it was given: it may be given again."""
        self._recall.forget_session(compacted.session_id)
        self._context.forget()

    async def answer(self, params: protocol.SessionParams) -> object:
        if isinstance(params, protocol.HookParams):
            return {"stdout": await self._hooks.stdout(params)}
        return await anyio.to_thread.run_sync(self._answer, params)

    def _answer(self, params: protocol.BlockingSessionParams) -> object:
        match params:
            case protocol.ContextParams():
                return self._context.assemble(
                    params.cwd,
                    session_id=params.session_id,
                    source=params.source,
                    path=params.path,
                    agent=params.agent,
                )
            case protocol.ContextApproveParams():
                path = self._context.approve(params.cwd, params.path)
                log.info("import-approved", path=path, cwd=params.cwd)
                return {"approved": path}
            case protocol.SessionNotesParams():
                return self._notes.serve(params.session_id)
            case protocol.CheckpointSaveParams():
                return self._save(params)
            case protocol.CheckpointListParams():
                return {"checkpoints": self._checkpoints.list(self._scopes.root(params.cwd))}
            case protocol.CheckpointGetParams():
                kept, text = self._checkpoints.get(self._scopes.root(params.cwd), params.name)
                return CheckpointText(**msgspec.structs.asdict(kept), text=text)
            case protocol.CheckpointRemoveParams():
                project = self._scopes.root(params.cwd)
                self._checkpoints.remove(project, params.name)
                log.info("checkpoint-removed", project=project, name=params.name)
                return {"removed": params.name}
            case _:
                assert_never(params)

    def _save(self, params: protocol.CheckpointSaveParams) -> Checkpoint:
        """A copy of the session's notes; without a session, of the newest one in the project."""
        session = params.session_id or self._notes.newest_session(params.cwd)
        text, project = self._notes.serve(session).text, self._scopes.root(params.cwd)
        saved = self._checkpoints.save(project, params.name, text)
        log.info("checkpoint-saved", project=project, name=saved.name, bytes=saved.bytes)
        return saved
