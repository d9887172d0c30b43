"""Indexes a large directory that nothing is kept of, in a process of its own.

- That is so at the first start, and after an update. Indexing 20,000 memories keeps a core busy
  for seconds, and leaves 50 MB of holes in the memory of the process. So a program does it, at low
  priority, and ends; the daemon reads the result as after a restart, and answers meanwhile.
- What is made is a file of `KeptFiles`: begun here, so that a memory that is removed meanwhile
  takes it away. It counts only if its maker was the same code.
- Whatever goes wrong, the daemon can index the directory itself.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Collection, Sequence
from typing import Final

import msgspec
import structlog

from memoryd.base.errors import MemorydError
from memoryd.base.file_stamp import FileStamp
from memoryd.memories.kept_files import KeptFiles
from memoryd.memories.origin_table import OriginRow
from memoryd.memories.records import MemoryDirectory
from memoryd.recall.index_program import IndexJob
from memoryd.system.cancellation import stop_if_cancelled
from memoryd.system.programs import ProgramJob, run_program

# Fewer are indexed in half a second, and the holes are small.
LEAST_MEMORIES: Final = 1_000
MOST_SECONDS: Final = 600.0
MOST_PRINTED_BYTES: Final = 1 << 16
WAIT_SECONDS: Final = 0.1
PROGRAM: Final = (sys.executable, "-P", "-m", "memoryd.recall.index_program")

log = structlog.get_logger(__name__)


class Indexer:
    def __init__(
        self,
        state_dir: str,
        maker: str,
        origins: Callable[[], list[OriginRow]],
        program: Sequence[str] = PROGRAM,
    ) -> None:
        self._state_dir = state_dir
        self._maker = maker
        self._files = KeptFiles(state_dir)
        self._is_running = threading.Lock()
        self._origins = origins
        self._program = tuple(program)

    def is_for(self, stamps: Collection[FileStamp]) -> bool:
        """Whether so many files have not changed just now; those are never kept."""
        now = time.time()
        return sum(stamp.is_settled(now) for stamp in stamps) >= LEAST_MEMORIES

    def index(self, directory: MemoryDirectory) -> bool:
        """Whether the shelf of the directory is kept now. Blocks until then; can be cancelled."""
        while not self._is_running.acquire(timeout=WAIT_SECONDS):  # one at a time
            stop_if_cancelled()
        try:
            return self._index(directory)
        finally:
            self._is_running.release()

    def _index(self, directory: MemoryDirectory) -> bool:
        temporary = self._files.begin()
        if temporary is None:
            return False
        try:
            job = IndexJob(directory, self._state_dir, self._maker, temporary, self._origins())
            reason = self._failure_of(msgspec.json.encode(job))
            if not reason and self._files.put_in_place(temporary, directory.path):
                return True
            reason = reason or "its file is gone"
        except (OSError, ValueError, MemorydError) as error:  # ValueError: a path is not UTF-8
            reason = str(error)
        finally:
            self._files.give_up(temporary)  # unless it was put in place
        log.info("not-indexed-apart", folder=directory.path, reason=reason)
        return False

    def _failure_of(self, job: bytes) -> str:
        """Why the program failed, by its last line; empty if it did not."""
        program = ProgramJob(self._program, _environment(), MOST_SECONDS, MOST_PRINTED_BYTES, job)
        end = run_program(program, lambda _: "more")
        if end.status == 0:
            return ""
        lines = end.errors.decode("utf-8", "replace").split("\n")
        return next((line for line in reversed(lines) if line.strip()), f"status {end.status}")


def _environment() -> dict[str, str]:
    """The program finds modules where the daemon does, however that is installed."""
    paths = [path for path in sys.path if path.startswith("/")]
    return {
        "LC_ALL": "C.UTF-8",
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": os.pathsep.join(paths),
    }
