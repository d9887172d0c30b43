"""Which sessions there were since a given time, judged by the times of their transcripts.

A project's dream asks for the sessions of its root. A person's own dream asks without a root, and
gets the sessions of every project that had turns and has memory on.

A session that is still going on does not count: one that the agent's registry lists with a living
process, or whose transcript was written to within the last minutes.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from memoryd.base import paths
from memoryd.base.paths import Places
from memoryd.system.database import Database
from memoryd.system.plain_file import read_plain
from memoryd.system.processes import process_is_alive

CURRENT_SECONDS: Final = 300.0
REGISTERED_BYTES: Final = 65_536
MOST_PROJECTS: Final = 50


class TouchedSession(msgspec.Struct, frozen=True):
    path: str
    modified: float


class _Registered(msgspec.Struct, frozen=True, rename="camel"):
    pid: int
    session_id: str
    proc_start: str = ""


class ProjectSessions:
    """`memory_is_on` says whether memory is on for a project's root. Blocking."""

    def __init__(
        self, places: Places, database: Database, memory_is_on: Callable[[str], bool]
    ) -> None:
        self._places = places
        self._database = database
        self._memory_is_on = memory_is_on

    def projects(self) -> list[str]:
        """Roots of all projects that had turns, most recent first."""
        rows = self._database.run(
            "select project from turns where project != '' group by project order by max(at) desc"
        )
        return [str(row[0]) for row in rows]

    def folder(self, root: str) -> str:
        return paths.project_folder(self._places, root)

    def touched(self, root: str, since: float, now: float) -> list[TouchedSession]:
        """Sessions since then, without those still going on, newest first."""
        current = living_sessions(self._places.claude_dir)
        elsewhere = self._of_others(root) if root else frozenset()
        found = [
            one
            for folder in self.folders(root)
            for one in _transcripts(folder)
            if one.modified > since
            and not 0 <= now - one.modified < CURRENT_SECONDS
            and Path(one.path).stem not in current
            and one.path not in elsewhere
        ]
        return sorted(found, key=lambda one: -one.modified)

    def _of_others(self, root: str) -> frozenset[str]:
        """Transcripts of other projects, which may share the folder of this one."""
        rows = self._database.run(
            "select distinct path from turns where project not in ('', ?)", root
        )
        return frozenset(f"{self._places.claude_dir}/projects/{path!s}" for (path,) in rows)

    def folders(self, root: str) -> list[str]:
        """Folders with transcripts of the root, or of all projects."""
        roots = [root] if root else filter(self._memory_is_on, self.projects()[:MOST_PROJECTS])
        return sorted({folder for one in roots for folder in self._folders(one)})

    def _folders(self, root: str) -> set[str]:
        """Sessions started below the root, or in a worktree, have folders of their own."""
        rows = self._database.run("select distinct path from turns where project = ?", root)
        below = {str(row[0]).rpartition("/")[0] for row in rows}
        return {self.folder(root), *(f"{self._places.claude_dir}/projects/{one}" for one in below)}


def living_sessions(claude_dir: str) -> frozenset[str]:
    """Sessions in the agent's registry whose process is alive."""
    found = set()
    for path in Path(claude_dir, "sessions").glob("*.json"):
        try:
            one = msgspec.json.decode(read_plain(path, REGISTERED_BYTES), type=_Registered)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            continue
        if 0 < one.pid < 1 << 31 and process_is_alive(one.pid) and _is_same_process(one):
            found.add(one.session_id)
    return frozenset(found)


def _is_same_process(one: _Registered) -> bool:
    """Whether the PID still belongs to the registered process, as far as the system can tell."""
    try:
        stat = Path(f"/proc/{one.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except (OSError, UnicodeDecodeError):
        return True
    return not one.proc_start.isdigit() or stat[19:20] == [one.proc_start]


def _transcripts(folder: str) -> Iterator[TouchedSession]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".jsonl") and entry.is_file(follow_symlinks=False):
                    modified = entry.stat(follow_symlinks=False).st_mtime
                    yield TouchedSession(entry.path, modified)
    except OSError:
        return
