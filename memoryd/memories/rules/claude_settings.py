"""What Claude Code's own settings mean for memory, and whether memory and dreams are on.

Rules:
- Four files: managed (the machine's), user, project and local (both inside the repository). Only
  four of their keys are read, and in `env` the variable that moves the memories. An invalid file or
  value is ignored, with a reason.
- The project and local files come with a repository, so they can only do what is harmless: switch
  memory or dreams off. They cannot switch them on, name a folder or exclude instructions.
- The managed file takes precedence, then a repository's "off", then the user's file.
- Memory is on unless, in this order: the environment disables it; the session is bare, or remote
  without a store; the settings disable it and the environment does not override; `memoryd off`.
- Dreams are on if memory is on, unless the settings turn dreams off.
"""

from collections.abc import Callable, Iterable, Mapping
from posixpath import join
from typing import Literal, TypeVar

import msgspec

from memoryd.base.paths import MEMORY_PATH_OVERRIDE, Places

DISABLE_VARIABLE = "CLAUDE_CODE_DISABLE_AUTO_MEMORY"
FALSY = frozenset({"0", "false", "no", "off"})
EXCLUDES_LIMIT = 1000

SettingsSource = Literal["managed", "user", "project", "local"]
WEIGHT: tuple[SettingsSource, ...] = ("managed", "project", "local", "user")
SettingsValue = TypeVar("SettingsValue")


class SettingsFile(msgspec.Struct, frozen=True, kw_only=True):
    """What one file sets, and why other parts of it were ignored."""

    source: SettingsSource
    auto_memory_enabled: bool | None = None
    auto_dream_enabled: bool | None = None
    auto_memory_directory: str | None = None
    memory_path_override: str | None = None
    claude_md_excludes: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


class ClaudeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The four files combined; `*_says` names the file that decided."""

    memory_enabled: bool = True
    memory_says: SettingsSource | None = None
    dream_enabled: bool = True
    dream_says: SettingsSource | None = None
    auto_memory_directory: str | None = None
    memory_path_override: str | None = None
    claude_md_excludes: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


class Switch(msgspec.Struct, frozen=True, kw_only=True):
    """`until` is when memory comes back by itself, if it was switched off for a time."""

    enabled: bool
    reason: str
    until: float | None = None


def settings_paths(places: Places, project_dir: str) -> tuple[tuple[SettingsSource, str], ...]:
    """Where the four files are for a session in a directory."""
    return (
        ("managed", places.managed_settings_file),
        ("project", join(project_dir, ".claude/settings.json")),
        ("local", join(project_dir, ".claude/settings.local.json")),
        ("user", join(places.claude_dir, "settings.json")),
    )


def claude_settings(texts: Iterable[tuple[SettingsSource, str]]) -> ClaudeSettings:
    """The files that exist, combined; their order does not matter."""
    files = [settings_file(source, text) for source, text in texts]
    files.sort(key=lambda file: WEIGHT.index(file.source))
    memory_enabled, memory_says = first_answer(files, lambda file: file.auto_memory_enabled)
    dream_enabled, dream_says = first_answer(files, lambda file: file.auto_dream_enabled)
    directory, _ = first_answer(files, lambda file: file.auto_memory_directory)
    override, _ = first_answer(files, lambda file: file.memory_path_override)
    return ClaudeSettings(
        memory_enabled=memory_enabled is not False,
        memory_says=memory_says,
        dream_enabled=dream_enabled is not False,
        dream_says=dream_says,
        auto_memory_directory=directory,
        memory_path_override=override,
        claude_md_excludes=tuple(glob for file in files for glob in file.claude_md_excludes),
        ignored=tuple(f"{file.source} settings: {why}" for file in files for why in file.ignored),
    )


def first_answer(
    files: list[SettingsFile], ask: Callable[[SettingsFile], SettingsValue | None]
) -> tuple[SettingsValue | None, SettingsSource | None]:
    """The first answer that a file gives, and which file it is."""
    for file in files:
        answer = ask(file)
        if answer is not None:
            return answer, file.source
    return None, None


def settings_file(source: SettingsSource, text: str) -> SettingsFile:
    """What one settings file may set, given its source; never raises."""
    try:
        content = msgspec.json.decode(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return SettingsFile(source=source, ignored=("the file is not valid JSON",))
    if not isinstance(content, dict):
        return SettingsFile(source=source, ignored=("the file is not a JSON object",))
    reader = SettingsReader(content, from_repository=source in {"project", "local"})
    return SettingsFile(
        source=source,
        auto_memory_enabled=reader.switch("autoMemoryEnabled"),
        auto_dream_enabled=reader.switch("autoDreamEnabled"),
        auto_memory_directory=reader.directory("autoMemoryDirectory"),
        memory_path_override=reader.variable(MEMORY_PATH_OVERRIDE),
        claude_md_excludes=reader.globs("claudeMdExcludes"),
        ignored=tuple(reader.ignored),
    )


class SettingsReader:
    """Reads values from one file and collects the reasons for those it ignores."""

    def __init__(self, content: dict[str, object], *, from_repository: bool) -> None:
        self.content = content
        self.from_repository = from_repository
        self.ignored: list[str] = []

    def switch(self, key: str) -> bool | None:
        value = self.content.get(key)
        if value is False or (value is True and not self.from_repository):
            return value
        if value is True:
            self.ignore(key, "a repository can only switch it off")
        elif value is not None:
            self.ignore(key, "it must be true or false")
        return None

    def variable(self, name: str) -> str | None:
        """A folder that the file puts into the environment of every session."""
        env = self.content.get("env")
        return self._folder(name, env.get(name) if isinstance(env, dict) else None)

    def directory(self, key: str) -> str | None:
        return self._folder(key, self.content.get(key))

    def _folder(self, key: str, value: object) -> str | None:
        if value is not None and self.from_repository:
            self.ignore(key, "a repository cannot choose the memory directory")
        elif isinstance(value, str):
            return value
        elif value is not None:
            self.ignore(key, "it must be a string")
        return None

    def globs(self, key: str) -> tuple[str, ...]:
        value = self.content.get(key)
        if value is None:
            return ()
        if self.from_repository:
            self.ignore(key, "a repository cannot hide instructions")
        elif not isinstance(value, list) or not all(isinstance(glob, str) for glob in value):
            self.ignore(key, "it must be a list of strings")
        elif len(value) > EXCLUDES_LIMIT:
            self.ignore(key, f"it has more than {EXCLUDES_LIMIT} entries")
        else:
            return tuple(value)
        return ()

    def ignore(self, key: str, why: str) -> None:
        self.ignored.append(f"{key} is ignored: {why}")


def memory_switch(
    env: Mapping[str, str],
    settings: ClaudeSettings,
    *,
    excluded: bool = False,
    off_everywhere: bool = False,
    off_here: bool = False,
) -> Switch:
    """Whether memory is on for a session in a project, with the reason for `status`."""
    if excluded:
        return Switch(enabled=False, reason="this project is excluded by privacy.exclude")
    variable = env.get(DISABLE_VARIABLE, "").strip().lower()
    overrides = variable in FALSY
    if variable and not overrides:
        return Switch(enabled=False, reason=f"{DISABLE_VARIABLE} is set")
    if not settings.memory_enabled and not overrides:
        reason = f"autoMemoryEnabled is false in the {settings.memory_says} settings"
        return Switch(enabled=False, reason=reason)
    if off_everywhere:
        return Switch(enabled=False, reason="switched off for all projects by memoryd off")
    if off_here:
        return Switch(enabled=False, reason="switched off for this project by memoryd off")
    if not settings.memory_enabled:
        return Switch(enabled=True, reason=f"{DISABLE_VARIABLE}={variable} overrides the settings")
    return Switch(enabled=True, reason="on")


def dream_switch(memory: Switch, settings: ClaudeSettings) -> Switch:
    """Whether dreams are on, given whether memory is."""
    if not memory.enabled:
        return memory
    if not settings.dream_enabled:
        reason = f"autoDreamEnabled is false in the {settings.dream_says} settings"
        return Switch(enabled=False, reason=reason)
    return Switch(enabled=True, reason="on")
