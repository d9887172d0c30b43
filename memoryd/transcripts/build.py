"""Puts together what follows transcripts."""

import msgspec

from memoryd.memories.services import Services
from memoryd.transcripts.cursor_table import CursorTable
from memoryd.transcripts.reader import TranscriptReader
from memoryd.transcripts.sessions import Sessions
from memoryd.transcripts.tail import Tail
from memoryd.transcripts.turn_table import TurnTable


class TranscriptParts(msgspec.Struct, frozen=True):
    """`root` is the folder that holds a folder of transcripts for each project."""

    root: str
    cursors: CursorTable
    turns: TurnTable
    tail: Tail
    sessions: Sessions


def build(services: Services) -> TranscriptParts:
    root = f"{services.places.claude_dir}/projects"
    cursors, turns = CursorTable(services.database), TurnTable(services.database)
    tail = Tail(
        root=root,
        cursors=cursors,
        reader=TranscriptReader(root, cursors, turns, services.scopes.root, services.now),
        notices=services.notices,
        sweep_seconds=services.settings.transcripts.sweep_seconds,
    )
    return TranscriptParts(root, cursors, turns, tail, Sessions(root, services.scopes.root))
