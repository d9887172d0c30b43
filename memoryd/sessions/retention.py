"""Removes session notes that are older than `notes.keep_days`; checkpoints stay until deleted.

Notes lie beside the transcripts, in the agent's folder: nothing but `session-memory/summary.md` is
removed, and the folders above it only if that leaves them empty.
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
import structlog

from memoryd.system.plain_file import modified_at

SECONDS_A_DAY: Final = 86_400.0
LOOK_SECONDS: Final = 6 * 3600.0

log = structlog.get_logger(__name__)


class NotesRetention:
    """`keep_days` is None if notes are kept for ever."""

    def __init__(self, claude_dir: str, keep_days: int | None, now: Callable[[], float]) -> None:
        self._root = Path(claude_dir) / "projects"
        self._keep_days = keep_days
        self._now = now

    async def run(self) -> None:
        """Looks at the start and a few times a day, until cancelled."""
        if self._keep_days is None:
            return
        while True:
            removed = await anyio.to_thread.run_sync(self.sweep, self._keep_days)
            if removed:
                log.info("notes-expired", removed=removed, keep_days=self._keep_days)
            await anyio.sleep(LOOK_SECONDS)

    def sweep(self, keep_days: int) -> int:
        """Removes what is too old; returns how many notes that were."""
        oldest, removed = self._now() - keep_days * SECONDS_A_DAY, 0
        for path in self._root.glob("*/*/session-memory/summary.md"):
            if modified_at(path) < oldest and path.is_file() and not path.is_symlink():
                with suppress(OSError):
                    path.unlink()
                    removed += 1
                    path.parent.rmdir()
                    path.parent.parent.rmdir()
        return removed
