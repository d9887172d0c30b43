"""Builds what serves sessions: context, notes, checkpoints."""

import msgspec

from memoryd.agent.toolbox import AgentTools
from memoryd.llm.connect import Models
from memoryd.memories.services import Services
from memoryd.sessions.checkpoints import Checkpoints
from memoryd.sessions.context import Context
from memoryd.sessions.notes import NotesWriter, SessionNotes
from memoryd.sessions.retention import NotesRetention


class SessionParts(msgspec.Struct, frozen=True):
    context: Context
    notes: SessionNotes
    checkpoints: Checkpoints
    retention: NotesRetention


def build(services: Services, models: Models | None) -> SessionParts:
    context = Context(
        places=services.places,
        scopes=services.scopes,
        store=services.store,
        settings=services.settings,
        instructions=services.instructions,
    )
    writer = None
    if models is not None:
        writer = NotesWriter(
            models.patient,
            services.settings.model.notes,
            AgentTools.definitions,
            at_pauses=models.pace is not None,
        )
    notes = SessionNotes(
        services.places,
        services.database,
        writer,
        services.background.soon,
        services.now,
        services.session_switches.reason,
    )
    keep_days = services.settings.notes.keep_days
    retention = NotesRetention(services.places.claude_dir, keep_days, services.now)
    return SessionParts(context, notes, Checkpoints(services.places), retention)
