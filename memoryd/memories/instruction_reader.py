"""Reads the instruction files of a project: CLAUDE.md, rules and imports, as a session gets them.

Blocking. A file is parsed once for each of its versions, so reading again costs a look at each.
"""

from memoryd.base.paths import Places
from memoryd.memories.instruction_files import InstructionDisk
from memoryd.memories.rules.instructions import Loaded, load
from memoryd.memories.scopes import Project
from memoryd.system.database import Database


class Approvals:
    """The files and whole folders outside a project that it may import from, in state.db."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def approved(self, project_root: str) -> frozenset[str]:
        rows = self._database.run(
            "select path from approved_imports where project = ?", project_root
        )
        return frozenset(str(path) for (path,) in rows)

    def approve(self, real_path: str, project_root: str) -> None:
        self._database.run(
            "insert or ignore into approved_imports (project, path) values (?, ?)",
            project_root,
            real_path,
        )


class InstructionReader:
    def __init__(self, places: Places, approvals: Approvals, files: InstructionDisk) -> None:
        self._places = places
        self.approvals = approvals
        self.files = files

    def load(self, cwd: str, project: Project, path: str | None = None) -> Loaded:
        """What a session in `cwd` gets; with `path`, also what is meant for that file."""
        return self._load(cwd, project, path)

    def every_rule(self, cwd: str, project: Project) -> Loaded:
        """What some session in `cwd` gets, whichever file it works on."""
        return self._load(cwd, project, None, every_rule=True)

    def _load(
        self, cwd: str, project: Project, path: str | None, *, every_rule: bool = False
    ) -> Loaded:
        return load(
            cwd,
            self.files,
            self._places,
            path=path,
            excludes=project.settings.claude_md_excludes,
            approved=self.approvals.approved(project.root),
            every_rule=every_rule,
        )
