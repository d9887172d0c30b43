"""Builds what follows transcripts."""

from collections.abc import Sequence

import msgspec

from memoryd.memories.rules.private_paths import PrivatePaths
from memoryd.memories.scopes import Scopes
from memoryd.memories.services import Services
from memoryd.transcripts.cursor_table import CursorTable
from memoryd.transcripts.reader import TranscriptReader
from memoryd.transcripts.sessions import Sessions
from memoryd.transcripts.tail import Tail
from memoryd.transcripts.turn_table import TurnTable, root_named


class ExcludedNames(msgspec.Struct, frozen=True):
    """What `privacy.exclude` names, asked by the lines of a transcript."""

    scopes: Scopes
    private: PrivatePaths

    def project(self, cwd: str) -> bool:
        """A worktree is excluded with the repository that it belongs to."""
        if not self.private.is_set or not cwd.startswith("/"):
            return False
        if self.private.has(cwd):
            return True
        return self.private.has(root_named(cwd, self.scopes.root))

    def files(self, names: Sequence[str], cwd: str) -> bool:
        return self.private.has_any(names, cwd)


class TranscriptParts(msgspec.Struct, frozen=True):
    """`root` holds one folder of transcripts per project."""

    root: str
    cursors: CursorTable
    turns: TurnTable
    tail: Tail
    sessions: Sessions
    private: ExcludedNames


def build(services: Services) -> TranscriptParts:
    root = f"{services.places.claude_dir}/projects"
    cursors, turns = CursorTable(services.database), TurnTable(services.database)
    private = ExcludedNames(services.scopes, services.private)
    tail = Tail(
        root=root,
        cursors=cursors,
        reader=TranscriptReader(
            root,
            cursors,
            turns,
            services.scopes.root,
            services.now,
            private,
            services.scopes.why_off,
        ),
        notices=services.notices,
        sweep_seconds=services.settings.transcripts.sweep_seconds,
    )
    sessions = Sessions(root, services.scopes.root)
    return TranscriptParts(root, cursors, turns, tail, sessions, private)
