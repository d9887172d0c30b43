"""Which project a working directory belongs to, where its memories are, and if memory is on.

A lookup reads settings files and follows `.git`, so it blocks: on the event loop use `find` and
`find_root`, which look up in a thread what is not cached.
"""

import os
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import Final

import anyio.to_thread
import msgspec

from memoryd.base import paths
from memoryd.base.errors import InvalidInput
from memoryd.base.paths import Places
from memoryd.memories.owners import OwnedDirectory, Owners
from memoryd.memories.records import DirectoryFound, MemoryDirectory
from memoryd.memories.rules import claude_settings, project_root, session_marks
from memoryd.memories.rules.claude_settings import ClaudeSettings, Switch
from memoryd.memories.rules.groups import group_of
from memoryd.memories.rules.private_paths import PrivatePaths
from memoryd.memories.rules.topics import Scope
from memoryd.system.database import Database
from memoryd.system.notices import Notices
from memoryd.system.plain_file import owner_is_trusted, read_plain
from memoryd.text.masking.mask import presentable
from memoryd.text.shorten import one_line

FRESH_SECONDS: Final = 2.0
SETTINGS_LIMIT_BYTES: Final = 1024 * 1024
SHOWN_CHARACTERS: Final = 200


class RealFiles:
    """The file system, as the pure path rules use it."""

    def real_path(self, path: str) -> str:
        return os.path.realpath(path)

    def is_dir(self, path: str) -> bool:
        return stat.S_ISDIR(self._mode(path))

    def is_file(self, path: str) -> bool:
        return stat.S_ISREG(self._mode(path))

    def _mode(self, path: str) -> int:
        """0 if it cannot be read, or if another user placed it or the link to it."""
        try:
            facts = Path(path).stat(), Path(path).lstat()
        except (OSError, ValueError):  # absent, a name too long, a folder without permission
            return 0
        is_ours = all(owner_is_trusted(one, path) for one in facts)
        return facts[0].st_mode if is_ours else 0

    def read_text(self, path: str, limit_bytes: int) -> str | None:
        """The whole file, or None if it is absent, too large or not a regular file."""
        try:
            return read_plain(path, limit_bytes).decode("utf-8", "surrogateescape")
        except (OSError, ValueError):
            return None


class Project(msgspec.Struct, frozen=True):
    """`ignored` says which settings were passed over, and why; `doctor` shows it.

    `twins` are projects of the same slug, which own the memory directory that the agent knows.
    `agent` is set where only the memories of a named sub-agent are meant, its home first.
    """

    root: str
    memory: MemoryDirectory
    team: MemoryDirectory
    user: MemoryDirectory
    settings: ClaudeSettings
    switch: Switch
    dream_switch: Switch
    group: MemoryDirectory | None = None
    agent: tuple[MemoryDirectory, ...] = ()
    ignored: tuple[str, ...] = ()
    twins: tuple[str, ...] = ()

    @property
    def directories(self) -> tuple[MemoryDirectory, ...]:
        """Those that recall and list search, nearest first."""
        if self.agent:
            return self.agent
        shared = (self.group,) if self.group else ()
        return (self.memory, *shared, self.user, self.team)

    def directory(self, scope: Scope) -> MemoryDirectory:
        match scope:
            case "project":
                return self.memory
            case "group" if self.group is not None:
                return self.group
            case "group":
                raise InvalidInput(
                    "this project is in no group",
                    hint=f"memoryd config set groups.NAME '[\"{self.root}\"]' puts it into one",
                )
            case "user":
                return self.user
            case "team":
                return self.team
            case "agent" if self.agent:
                return self.agent[0]
            case "agent":
                raise InvalidInput("the agent scope needs the name of an agent")


class Person(msgspec.Struct, frozen=True):
    """What applies to the user in every project."""

    memory: MemoryDirectory
    dream_switch: Switch


class Scopes:
    """Answers are cached per working directory for two seconds."""

    def __init__(
        self,
        places: Places,
        env: Mapping[str, str],
        database: Database,
        notices: Notices | None = None,
        groups: Mapping[str, Sequence[str]] = MappingProxyType({}),
        monotonic: Callable[[], float] = time.monotonic,
        private: PrivatePaths | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.places = places
        self._env = env
        self._database = database
        self._notices = notices or Notices()
        self._groups = groups
        self._monotonic = monotonic
        self._private = private or PrivatePaths()
        self._now = now
        self._files = RealFiles()
        self._directory_owners = Owners(places, self._files)
        self._known: dict[str, tuple[float, Project]] = {}
        self._owners: dict[str, str] = {}
        self._memory_paths: set[str] = set()
        self._roots: set[str] = set()
        self._passed_over: dict[str, str] = {}

    def project(self, cwd: str) -> Project:
        """Blocks unless the answer is cached; InvalidInput if `cwd` is not an absolute path."""
        if not paths.path_is_usable(cwd) or not cwd.startswith("/"):
            raise InvalidInput("cwd must be an absolute path")
        now = self._monotonic()
        found = self._known.get(cwd)
        if found is not None and found[0] > now:
            return found[1]
        project = self._look_up(cwd)
        if len(self._known) > 1000:
            self._known.clear()
        self._known[cwd] = (now + FRESH_SECONDS, project)
        return project

    async def find(self, cwd: str) -> Project:
        """As `project`, for the event loop: a lookup runs in a thread."""
        found = self._known.get(cwd)
        if found is not None and found[0] > self._monotonic():
            return found[1]
        return await anyio.to_thread.run_sync(self.project, cwd)

    async def session_began(self, cwd: str, marks: Mapping[str, str]) -> None:
        """Notes which memory folder a session names although another one is used."""
        project = await self.find(cwd)
        self._passed_over.pop(project.root, None)
        if value := session_marks.passed_over(marks, project.memory.path, self.places.home):
            self._passed_over[project.root] = value

    def ignored(self, project: Project) -> tuple[str, ...]:
        """Every setting that was passed over in a project, and why."""
        value = self._passed_over.get(project.root)
        if value is None:
            return project.ignored
        shown = one_line(presentable(value))[:SHOWN_CHARACTERS]
        words = (
            f"the last session's environment: {paths.MEMORY_PATH_OVERRIDE}={shown} is ignored:"
            " neither your settings nor the machine's name this folder"
        )
        return (*project.ignored, words)

    async def find_root(self, cwd: str) -> str:
        return (await self.find(cwd)).root

    def memory_is_on(self, root: str) -> bool:
        return self.project(root).switch.enabled

    def why_off(self, root: str) -> str:
        """Why memory is off in a project; empty if it is on."""
        switch = self.project(root).switch
        return "" if switch.enabled else switch.reason

    def person(self) -> Person:
        """From the machine's and the user's settings alone, not from any repository's."""
        settings = self._settings(None)
        everywhere = self._off_until("")
        switch = claude_settings.memory_switch(
            self._env, settings, off_everywhere=everywhere is not None
        )
        return Person(
            MemoryDirectory(paths.user_memory(self.places), "user"),
            claude_settings.dream_switch(switch, settings),
        )

    def root(self, cwd: str) -> str:
        return self.project(cwd).root

    def owner(self, directory: MemoryDirectory) -> str:
        """The root of the project that a memory directory belongs to, empty if it is not known."""
        if directory.scope == "agent":
            return directory.beneath or ""
        return self._owners.get(directory.path, "")

    def directory_created(self, directory: MemoryDirectory) -> None:
        """A writer has opened a memory directory, which may be new; blocking."""
        if directory.scope in {"project", "team"}:
            self._directory_owners.created(directory.beneath or directory.path)

    def memory_paths(self) -> set[str]:
        """The memory directories of all projects looked up so far."""
        return self._memory_paths.copy()

    def roots(self) -> set[str]:
        """The roots of all projects looked up so far."""
        return self._roots.copy()

    def switch(self, cwd: str | None, *, enabled: bool, until: float | None = None) -> str:
        """Sets the runtime switch for one project or (None) for all; returns the project's root.

        Off until a moment, if one is given: then it is on again by itself.
        """
        project = self.root(cwd) if cwd is not None else ""
        if enabled:
            self._database.run("delete from switched_off where project = ?", project)
        else:
            sql = "insert or replace into switched_off (project, until) values (?, ?)"
            self._database.run(sql, project, until)
        self._known.clear()
        return project

    def _look_up(self, cwd: str) -> Project:
        root = project_root.project_root(cwd, self._files)
        settings = self._settings(root)
        everywhere, here = self._off_until(""), self._off_until(root)
        switch = claude_settings.memory_switch(
            self._env,
            settings,
            excluded=self.is_excluded(root) or self._private.has(cwd),
            off_everywhere=everywhere is not None,
            off_here=here is not None,
        )
        override = settings.memory_path_override
        env = {paths.MEMORY_PATH_OVERRIDE: override, **self._env} if override else self._env
        until = everywhere or here
        if until is not None and until != inf and "memoryd off" in switch.reason:
            switch = msgspec.structs.replace(switch, until=until)
        folder = paths.project_memory(self.places, root, env, settings.auto_memory_directory)
        owned = OwnedDirectory(folder.path)
        if folder.chosen_by == "default":
            owned = self._directory_owners.directory_of(root)
        memory = owned.path
        self._owners[memory] = self._owners[paths.team_memory(memory)] = root
        if root not in self._roots or memory not in self._memory_paths:
            self._roots.add(root)
            self._memory_paths.add(memory)
            self._notices.post(DirectoryFound())
        return Project(
            root=root,
            memory=MemoryDirectory(memory, "project"),
            team=MemoryDirectory(paths.team_memory(memory), "team", beneath=memory),
            user=MemoryDirectory(paths.user_memory(self.places), "user"),
            settings=settings,
            switch=switch,
            dream_switch=claude_settings.dream_switch(switch, settings),
            group=self._group(root),
            ignored=(*folder.ignored, *settings.ignored),
            twins=owned.twins,
        )

    def _group(self, root: str) -> MemoryDirectory | None:
        homes = (self.places.home, self._files.real_path(self.places.home))
        name = group_of(root, self._groups, homes)
        return MemoryDirectory(paths.group_memory(self.places, name), "group") if name else None

    def _settings(self, root: str | None) -> ClaudeSettings:
        """Without a root, the settings that apply in every project."""
        texts = (
            (source, self._files.read_text(path, SETTINGS_LIMIT_BYTES))
            for source, path in claude_settings.settings_paths(self.places, root or "")
            if root is not None or source in {"managed", "user"}
        )
        return claude_settings.claude_settings(
            (source, text) for source, text in texts if text is not None
        )

    def is_excluded(self, path: str) -> bool:
        """Whether `privacy.exclude` names a project or a file."""
        return self._private.has(path)

    def _off_until(self, project: str) -> float | None:
        """Until when the runtime switch is off, `inf` if nobody said; None if it is on."""
        rows = self._database.run("select until from switched_off where project = ?", project)
        for (until,) in msgspec.convert(rows, list[tuple[float | None]]):
            if until is None or until > self._now():
                return inf if until is None else until
        return None
