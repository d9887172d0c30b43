"""`project/adopt`: finds the memory that is meant, says what would happen, does it, undoes it.

- The old project is named by its path, which may be gone, or by the name of its folder (the slug).
  Without a name it is the one that this repository says it is.
- Only a person may adopt: it brings the memories of one project into another.
"""

import os
from pathlib import Path

import anyio.to_thread
import msgspec
import structlog

from memoryd.api.rules import protocol
from memoryd.base import paths
from memoryd.base.errors import InvalidInput, NotFound, Refused
from memoryd.memories.adoption import Adoption, Joining, check_apart
from memoryd.memories.identities import Identities, KnownDirectory
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules.git_identity import is_same_project
from memoryd.memories.scopes import Project, Scopes
from memoryd.sessions.checkpoints import Checkpoints

log = structlog.get_logger(__name__)


class AdoptAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """`copied` is true if the old project still exists and keeps its memories.

    `same_project` is whether both say that they are one repository.
    """

    source: str
    target: str
    copied: bool
    same_project: bool
    moved: list[str]
    renamed: dict[str, str]
    already_here: list[str]
    logs: int
    checkpoints: int
    done: bool


class AdoptRequests:
    def __init__(
        self,
        scopes: Scopes,
        identities: Identities,
        adoption: Adoption,
        checkpoints: Checkpoints,
    ) -> None:
        self._scopes = scopes
        self._identities = identities
        self._adoption = adoption
        self._checkpoints = checkpoints

    async def answer(self, params: protocol.AdoptParams) -> AdoptAnswer:
        if params.by != "user":
            raise Refused(
                "only a person may join two projects' memories",
                hint="in a terminal: memoryd adopt OLD",
            )
        work = self._undo if params.undo else self._adopt
        return await anyio.to_thread.run_sync(work, params)

    def _adopt(self, params: protocol.AdoptParams) -> AdoptAnswer:
        project = self._scopes.project(params.cwd)
        old = self._named(params.old, params.cwd)
        check_apart(old.path, project.memory.path)
        if project.root in old.owners:
            raise InvalidInput("this project uses that memory already")
        # A directory of nobody is moved: there is no project that could miss it.
        living = [root for root in old.owners if Path(root).is_dir()]
        source = MemoryDirectory(old.path, "project")
        plan = self._adoption.plan(source, project.memory, is_copy=bool(living))
        plan = msgspec.structs.replace(
            plan, source_root=old.owners[0] if old.owners else "", target_root=project.root
        )
        kept = self._checkpoints.to_move(plan.source_root, plan.target_root)
        if not params.dry_run:
            self._adoption.adopt(plan)
            self._checkpoints.move(plan.source_root, plan.target_root, copy=plan.is_copy)
            self._identities.record(project.root, project.memory.path)
            log.info("memory-adopted", project=project.root, files=len(plan.files))
        return self._told(plan, project, old, checkpoints=len(kept), done=not params.dry_run)

    def _undo(self, params: protocol.AdoptParams) -> AdoptAnswer:
        project = self._scopes.project(params.cwd)
        if params.dry_run:
            _, plan = self._adoption.last("adopt", project.memory.path)
        else:
            plan = self._adoption.undo(project.memory)
            self._checkpoints.move(plan.target_root, plan.source_root, copy=plan.is_copy)
            log.info("adoption-undone", project=project.root, files=len(plan.files))
        old = KnownDirectory("", plan.source, (), self._identities.of_directory(plan.source), 0)
        return self._told(plan, project, old, checkpoints=0, done=not params.dry_run)

    def _told(
        self, plan: Joining, project: Project, old: KnownDirectory, *, checkpoints: int, done: bool
    ) -> AdoptAnswer:
        here = self._identities.of_root(project.root)
        return AdoptAnswer(
            source=plan.source,
            target=plan.target,
            copied=plan.is_copy,
            same_project=is_same_project(old.identity, here),
            moved=[one.to for one in plan.files if one.action == "move"],
            renamed={one.file: one.to for one in plan.files if one.action == "rename"},
            already_here=[one.file for one in plan.files if one.action == "same"],
            logs=len(plan.logs),
            checkpoints=checkpoints,
            done=done,
        )

    def _left_behind(self, cwd: str) -> KnownDirectory:
        """What this repository left under another path, gone ones first."""
        here = self._scopes.project(cwd)
        same = self._identities.same_as(here.root, here.memory.path)
        if not same:
            raise NotFound(
                "no memories of this repository were found under another path",
                hint="name the old one: memoryd adopt OLD",
            )
        return min(same, key=lambda one: not one.is_orphaned)

    def _named(self, old: str, cwd: str) -> KnownDirectory:
        """By the path of its root, then by its slug; NotFound with the names that would do."""
        if not old:
            return self._left_behind(cwd)
        known = list(self._identities.directories())
        path = os.path.normpath(os.path.join(cwd, os.path.expanduser(old))) if old else ""  # noqa: PTH111, PTH118 - it may be gone
        found = [one for one in known if path in one.owners or old == one.slug]
        found = found or [one for one in known if one.slug == paths.slug(path)]
        if not found:
            here = self._scopes.project(cwd)
            near = self._identities.same_as(here.root, here.memory.path)
            names = [one.owners[0] if one.owners else one.slug for one in near]
            raise NotFound(
                f"there are no memories of {old!r}",
                hint=f"memoryd adopt {names[0]}"
                if names
                else "memoryd doctor lists what is orphaned",
            )
        return found[0]
