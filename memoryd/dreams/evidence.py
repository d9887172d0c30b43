"""What a dream knows about memories beside their texts.

How often they were used, and what the instruction files of the project say already. Used is what a
session built on (`outcomes`); what was only given to one (`recalls`) counts for little. Blocking.
"""

from typing import TYPE_CHECKING, Final

import msgspec

from memoryd.dreams.target import DreamTarget
from memoryd.memories.instruction_reader import InstructionReader
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.scopes import Scopes
from memoryd.system.database import Database

if TYPE_CHECKING:
    from memoryd.extraction.rules.written_down import WrittenDown

GIVEN_PER_USE: Final = 5


class MemoryUse(msgspec.Struct, frozen=True):
    """`last_used` is 0 for a memory that no session built on."""

    uses: int = 0
    last_used: float = 0.0


class Evidence:
    def __init__(self, database: Database, scopes: Scopes, instructions: InstructionReader) -> None:
        self._database = database
        self._scopes = scopes
        self._instructions = instructions

    def uses(self, directory: MemoryDirectory) -> dict[str, MemoryUse]:
        """By file name; a memory that was never recalled is not in it."""
        prefix = f"{directory.path}/"
        found: dict[str, MemoryUse] = {}
        given = self._rows("select path, times, 0, 0.0 from recalls")
        for path, times, used, last_at in (
            *given,
            *self._rows("select path, 0, used, last_at from outcomes"),
        ):
            if path.startswith(prefix):
                file = path.removeprefix(prefix)
                before = found.get(file, MemoryUse())
                uses = before.uses + used + times // GIVEN_PER_USE
                last = max(before.last_used, last_at if used else 0.0)
                found[file] = MemoryUse(uses, last)
        return found

    def written_down(self, target: DreamTarget) -> "WrittenDown":
        """What CLAUDE.md, rules and imports say; nothing for memories without a project."""
        from memoryd.extraction.rules.written_down import WrittenDown, written_down  # noqa: PLC0415 - its patterns take a while

        if not target.project:
            return WrittenDown()
        project = self._scopes.project(target.project)
        loaded = self._instructions.every_rule(project.root, project)
        return written_down(one.text for one in loaded.instructions)

    def _rows(self, sql: str) -> list[tuple[str, int, int, float]]:
        return msgspec.convert(self._database.run(sql), list[tuple[str, int, int, float]])
