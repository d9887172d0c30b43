"""Where everything is: the machine's places, and the folders of every scope of memory.

Rules:
- A slug is the path with every UTF-16 unit outside A-Z a-z 0-9 turned into a dash; a longer one is
  cut after 200 units and ends in a hash of the whole path. Memories must be where the agent looks
  for them, so the rule is the agent's, collisions included.
- An XDG variable counts only if it is absolute; without one, macOS has its own folders.
- A socket path that is too long for the kernel is replaced by a short one in /tmp, named after the
  user and the long path. A path that the user set is never replaced, only refused. The client has
  the other half of this rule, byte for byte: change both together.
- A project's memory is where the environment says, else where the user's or the machine's
  settings say, else in the default place. A candidate that cannot be a folder for memories alone is
  skipped, with a reason.
- Names that become folders (agents, sessions) are a single path component.
"""

import hashlib
import re
import struct
from collections.abc import Mapping
from datetime import date
from posixpath import join, split
from typing import Literal

import msgspec

from memoryd.base.errors import ConfigError, InvalidInput

SLUG_UNITS = 200
PATH_LIMIT_BYTES = 4096
NAME_LIMIT_BYTES = 128
# The size of sun_path without the final NUL; any system but Linux is treated like macOS.
SOCKET_LIMIT_BYTES_LINUX = 107
SOCKET_LIMIT_BYTES_OTHER = 103

MEMORY_PATH_OVERRIDE = "CLAUDE_COWORK_MEMORY_PATH_OVERRIDE"

AgentScope = Literal["user", "project", "local"]
ChosenBy = Literal["override", "setting", "default"]


# A name with these would stand for others where names are matched; a backslash is a path.
_PATTERN_SIGNS = frozenset("*?[]\\")


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """The locations that belong to the user and the machine, not to one project."""

    home: str
    claude_dir: str
    config_file: str
    state_dir: str
    state_db: str
    log_file: str
    socket: str
    socket_is_shortened: bool
    managed_settings_file: str
    managed_instructions_file: str
    managed_rules_dir: str

    @property
    def private_folders(self) -> tuple[str, ...]:
        """What no run of a model may read: the client's, our state, and our settings with keys."""
        return self.claude_dir, self.state_dir, split(self.config_file)[0], split(self.log_file)[0]


class MemoryFolder(msgspec.Struct, frozen=True, kw_only=True):
    """A project's memory directory, what chose it, and why other candidates were skipped."""

    path: str
    chosen_by: ChosenBy
    ignored: tuple[str, ...] = ()


def slug(path: str) -> str:
    """The folder name that the agent gives to a path."""
    text = as_the_agent_reads(path)
    flat = re.sub(r"[^A-Za-z0-9]", lambda hit: "-" if hit[0] <= "\uffff" else "--", text)
    if len(flat) <= SLUG_UNITS:
        return flat
    return f"{flat[:SLUG_UNITS]}-{base36(hash_of(text))}"


def as_the_agent_reads(path: str) -> str:
    """A path with each undecodable byte sequence as one replacement character, as the agent does.

    Python keeps each such byte as a lone surrogate, which would give another slug.
    """
    try:
        return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:
        return path


def hash_of(text: str) -> int:
    raw = text.encode("utf-16-le", "surrogatepass")
    total = 0
    for (unit,) in struct.iter_unpack("<H", raw):
        total = (total * 31 + unit) & 0xFFFFFFFF
    return min(total, 2**32 - total)


def base36(number: int) -> str:
    digits = ""
    while number:
        number, rest = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[rest] + digits
    return digits or "0"


def path_is_usable(path: str) -> bool:
    """Whether a path can be passed to the system: absolute, not too long, encodable."""
    try:
        raw = path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return raw.startswith(b"/") and b"\0" not in raw and len(raw) <= PATH_LIMIT_BYTES


def expand_home(path: str, home: str) -> str:
    return clean(f"{home}/{path[2:]}") if path.startswith("~/") else path


def places(env: Mapping[str, str], platform: str, uid: int, home: str) -> Places:
    """The machine's places; raises ConfigError for a variable that cannot be used."""
    home = clean(required_absolute("HOME", home))
    is_mac = platform == "darwin"
    application = join(home, "Library/Application Support")
    config_home = named_folder(env, "XDG_CONFIG_HOME")
    config_home = config_home or (application if is_mac else join(home, ".config"))
    state_home = named_folder(env, "XDG_STATE_HOME")
    logs_apart = is_mac and state_home is None
    state_home = state_home or (application if is_mac else join(home, ".local/state"))
    state_dir = join(state_home, "memoryd")
    log_dir = join(home, "Library/Logs/memoryd") if logs_apart else state_dir
    claude_dir = env.get("CLAUDE_CONFIG_DIR") or join(home, ".claude")
    socket, is_shortened = socket_place(env, platform, uid, state_dir)
    managed = "/Library/Application Support/ClaudeCode" if is_mac else "/etc/claude-code"
    return Places(
        home=home,
        claude_dir=clean(required_absolute("CLAUDE_CONFIG_DIR", claude_dir)),
        config_file=join(config_home, "memoryd/config.toml"),
        state_dir=state_dir,
        state_db=join(state_dir, "state.db"),
        log_file=join(log_dir, "memoryd.log"),
        socket=socket,
        socket_is_shortened=is_shortened,
        managed_settings_file=join(managed, "managed-settings.json"),
        managed_instructions_file=join(managed, "CLAUDE.md"),
        managed_rules_dir=join(managed, ".claude/rules"),
    )


def named_folder(env: Mapping[str, str], name: str) -> str | None:
    value = env.get(name, "")
    return clean(value) if path_is_usable(value) else None


def required_absolute(name: str, value: str) -> str:
    if not path_is_usable(value):
        raise ConfigError(f"{name} must be an absolute path", hint=f"set {name} to a full path")
    return value


def clean(path: str) -> str:
    """An absolute path without empty and `.` parts; `..` is left to the kernel."""
    return "/" + "/".join(part for part in path.split("/") if part not in {"", "."})


def socket_place(
    env: Mapping[str, str], platform: str, uid: int, state_dir: str
) -> tuple[str, bool]:
    """Where the socket is, and whether a long path was replaced by a short one."""
    limit_bytes = SOCKET_LIMIT_BYTES_LINUX if platform == "linux" else SOCKET_LIMIT_BYTES_OTHER
    if asked := env.get("MEMORYD_SOCKET"):
        if byte_length(required_absolute("MEMORYD_SOCKET", asked)) > limit_bytes:
            raise ConfigError(
                f"MEMORYD_SOCKET is {byte_length(asked)} bytes long;"
                f" this system allows a socket path of {limit_bytes}",
                hint="choose a shorter path, or unset MEMORYD_SOCKET",
            )
        return asked, False
    derived = join(named_folder(env, "XDG_RUNTIME_DIR") or state_dir, "memoryd.sock")
    if byte_length(derived) <= limit_bytes:
        return derived, False
    digest = hashlib.sha256(derived.encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return f"/tmp/memoryd-{uid}-{digest}/memoryd.sock", True  # noqa: S108 - owner checked at use


def byte_length(path: str) -> int:
    return len(path.encode("utf-8", "surrogateescape"))


def project_folder(places: Places, directory: str) -> str:
    """The agent's folder for a directory: transcripts by `cwd`, memory by project root."""
    return join(places.claude_dir, f"projects/{slug(directory)}")


def project_memory(
    places: Places, root: str, env: Mapping[str, str], auto_memory_directory: str | None
) -> MemoryFolder:
    """The memory directory of a project; the setting must not come from a repository."""
    ignored: list[str] = []
    candidates: tuple[tuple[ChosenBy, str, str | None], ...] = (
        ("override", MEMORY_PATH_OVERRIDE, env.get(MEMORY_PATH_OVERRIDE) or None),
        ("setting", "autoMemoryDirectory", auto_memory_directory),
    )
    for chosen_by, name, value in candidates:
        if value is None:
            continue
        if reason := why_not_memory_folder(value, places.home):
            ignored.append(f"{name} is ignored: {reason}")
            continue
        path = clean(expand_home(value, places.home))
        return MemoryFolder(path=path, chosen_by=chosen_by, ignored=tuple(ignored))
    path = f"{project_folder(places, root)}/memory"
    return MemoryFolder(path=path, chosen_by="default", ignored=tuple(ignored))


def why_not_memory_folder(value: str, home: str) -> str | None:
    """The reason why a configured path cannot be used for memories, or None if it can."""
    if not value.startswith(("/", "~/")) and value != "~":
        return "it is not absolute and does not start with ~/"
    path = expand_home(f"{value}/" if value == "~" else value, home)
    if not path_is_usable(path) or any(ord(char) < 32 for char in path):
        return "it is too long or contains characters that paths cannot have"
    if ".." in path.split("/"):
        return "it contains .."
    if join(home, "").startswith(join(clean(path), "")):
        return "it is the home folder or contains it"
    return None


def team_memory(memory_dir: str) -> str:
    return f"{memory_dir}/team"


def user_memory(places: Places) -> str:
    return join(places.claude_dir, "memory")


def group_memory(places: Places, group: str) -> str:
    return join(places.claude_dir, f"memory-groups/{group}")


def agent_memory(places: Places, root: str, agent: str, scope: AgentScope) -> str:
    """A named sub-agent's memory; raises InvalidInput if the name cannot be a folder name."""
    name = agent_folder_name(agent)
    match scope:
        case "user":
            return join(places.claude_dir, f"agent-memory/{name}")
        case "project":
            return join(root, f".claude/agent-memory/{name}")
        case "local":
            return join(root, f".claude/agent-memory-local/{name}")


def agent_snapshot(root: str, agent: str) -> str:
    return join(root, f".claude/agent-memory-snapshots/{agent_folder_name(agent)}")


def agent_folder_name(agent: str) -> str:
    name = agent.replace(":", "-")
    if not name_is_plain(name):
        raise InvalidInput(
            "an agent's name must be usable as a folder name",
            hint=f"no slashes, no * ? [ ], no leading dot, at most {NAME_LIMIT_BYTES} bytes",
        )
    return name


def name_is_plain(name: str) -> bool:
    """Whether a name is one visible path component and not a pattern; `.` and `..` are not."""
    return (
        name.isprintable()
        and bool(name.strip())
        and "/" not in name
        and _PATTERN_SIGNS.isdisjoint(name)
        and not name.startswith(".")
        and byte_length(name) <= NAME_LIMIT_BYTES
    )


def session_notes(transcript: str) -> str:
    """The notes beside a transcript; raises InvalidInput if it is not `<session-id>.jsonl`."""
    folder, file_name = split(transcript)
    session = file_name.removesuffix(".jsonl")
    if session == file_name or not name_is_plain(session):
        raise InvalidInput("a transcript must be named <session-id>.jsonl")
    return join(folder, session, "session-memory", "summary.md")


def session_notes_template(places: Places) -> str:
    return join(places.claude_dir, "session-memory/config/template.md")


def daily_log(memory_dir: str, day: date) -> str:
    year, month = f"{day.year:04}", f"{day.month:02}"
    return f"{memory_dir}/logs/{year}/{month}/{year}-{month}-{day.day:02}.md"


def daily_log_pattern(memory_dir: str) -> str:
    """The same path without a date, so that a cached prompt stays valid after midnight."""
    return f"{memory_dir}/logs/YYYY/MM/YYYY-MM-DD.md"


def consolidate_lock(memory_dir: str) -> str:
    return f"{memory_dir}/.consolidate-lock"
