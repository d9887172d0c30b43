"""Slugs as the agent makes them, the machine's places, and the folders of every scope."""

import datetime as dt
import json
import os
import socket
import string
import struct
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memoryd.base import paths
from memoryd.base.errors import ConfigError, InvalidInput
from memoryd.base.paths import Places, places, project_memory, slug

CASES = json.loads(
    (Path(__file__).parents[1] / "data/claude-code/slug_cases.json").read_text("utf-8")
)
HOME = "/home/ada"
ANY_TEXT = st.text(st.characters(codec=None), max_size=450)


def machine(platform: str = "linux", home: str = HOME, **env: str) -> Places:
    return places(env, platform, 1000, home)


# Slugs


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_a_slug_is_what_the_agent_made_of_the_path(case: dict[str, str]) -> None:
    assert slug(case["cwd"]) == case["slug"]


def slug_by_the_book(path: str) -> str:
    """The rule once more, unit by unit, as a machine with 16-bit characters would do it."""
    raw = path.encode("utf-16-le", "surrogatepass")
    units = struct.unpack(f"<{len(raw) // 2}H", raw)
    plain = {ord(char) for char in string.ascii_letters + string.digits}
    flat = "".join(chr(unit) if unit in plain else "-" for unit in units)
    if len(flat) <= 200:
        return flat
    value = 0
    for unit in units:
        value = (value * 31 + unit + 2**31) % 2**32 - 2**31
    number = abs(value)
    digits: list[str] = []
    while number or not digits:
        digits.append((string.digits + string.ascii_lowercase)[number % 36])
        number //= 36
    return flat[:200] + "-" + "".join(reversed(digits))


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=450))
def test_a_slug_follows_the_rule_unit_by_unit(path: str) -> None:
    assert slug(path) == slug_by_the_book(path)


@given(ANY_TEXT)
def test_a_slug_is_stable_and_only_letters_digits_and_dashes(path: str) -> None:
    made = slug(path)
    assert made == slug(path)
    assert set(made) <= set(string.ascii_letters + string.digits + "-")
    assert len(made) <= 200 + 1 + 6
    if len(made) <= 200:
        assert slug(made) == made


@given(st.text(string.ascii_letters + string.digits + "/", max_size=200), st.data())
def test_slugs_of_letters_and_digits_are_distinct(path: str, data: st.DataObject) -> None:
    other = data.draw(st.text(string.ascii_letters + string.digits + "/", max_size=200))
    assume(path != other)
    assert slug(path) != slug(other)


def test_long_paths_with_the_same_beginning_differ_by_their_hash() -> None:
    stem = "/" + "x" * 250
    assert slug(stem + "a") != slug(stem + "b")
    assert slug(stem + "a")[:201] == slug(stem + "b")[:201]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [(b"/a\xe2\x82z", "-a-z"), (b"/\xff\xfe", "---"), (b"/\xf0\x9f\x98", "--"), (b"/\xc3(", "---")],
)
def test_undecodable_bytes_count_as_the_agent_counts_them(raw: bytes, expected: str) -> None:
    assert slug(os.fsdecode(raw)) == expected


def test_a_lone_surrogate_is_one_unit_and_not_an_error() -> None:
    assert slug("/a\ud800b") == "-a-b"
    assert len(slug("/" + "\ud800" * 300)) > 201


# The machine


def test_linux_defaults_follow_the_xdg_rules() -> None:
    place = machine()
    assert place.claude_dir == "/home/ada/.claude"
    assert place.config_file == "/home/ada/.config/memoryd/config.toml"
    assert place.state_db == "/home/ada/.local/state/memoryd/state.db"
    assert place.log_file == "/home/ada/.local/state/memoryd/memoryd.log"
    assert place.socket == "/home/ada/.local/state/memoryd/memoryd.sock"
    assert place.managed_settings_file == "/etc/claude-code/managed-settings.json"
    assert place.managed_instructions_file == "/etc/claude-code/CLAUDE.md"
    assert place.managed_rules_dir == "/etc/claude-code/.claude/rules"


def test_macos_has_its_own_folders() -> None:
    place = machine("darwin", "/Users/ada")
    support = "/Users/ada/Library/Application Support/memoryd"
    assert place.config_file == f"{support}/config.toml"
    assert place.state_dir == support
    assert place.log_file == "/Users/ada/Library/Logs/memoryd/memoryd.log"
    assert place.socket == f"{support}/memoryd.sock"
    assert place.managed_settings_file.startswith("/Library/Application Support/ClaudeCode/")


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_variables_move_everything_on_every_system(platform: str) -> None:
    place = machine(
        platform,
        XDG_CONFIG_HOME="/c",
        XDG_STATE_HOME="/s/",
        XDG_RUNTIME_DIR="/run/user/1000",
        CLAUDE_CONFIG_DIR="/agent/",
    )
    assert place.config_file == "/c/memoryd/config.toml"
    assert place.state_db == "/s/memoryd/state.db"
    assert place.log_file == "/s/memoryd/memoryd.log"
    assert place.socket == "/run/user/1000/memoryd.sock"
    assert place.claude_dir == "/agent"


def test_relative_and_empty_xdg_variables_do_not_count() -> None:
    assert machine(XDG_CONFIG_HOME="c", XDG_STATE_HOME="", XDG_RUNTIME_DIR="./r") == machine()


def test_a_home_at_the_root_gives_no_double_slashes() -> None:
    place = machine(home="/")
    assert (place.claude_dir, place.state_dir) == ("/.claude", "/.local/state/memoryd")


@pytest.mark.parametrize("name", ["HOME", "CLAUDE_CONFIG_DIR", "MEMORYD_SOCKET"])
def test_a_relative_path_where_an_absolute_one_is_needed_is_an_error(name: str) -> None:
    env = {} if name == "HOME" else {name: "some/where"}
    with pytest.raises(ConfigError, match=f"{name} must be an absolute path"):
        places(env, "linux", 1000, "some/where" if name == "HOME" else HOME)


# The socket


def runtime_dir_for(base: Path, path_bytes: int) -> Path:
    """A folder in which the socket's path has exactly this many bytes."""
    folder_bytes = path_bytes - len("/memoryd.sock")
    room = folder_bytes - len(os.fsencode(base)) - 1
    first = min(room, 100)
    rest = "" if room <= 100 else "/" + "r" * (room - first - 1)
    folder = base / ("r" * first + rest)
    folder.mkdir(parents=True)
    return folder


@pytest.mark.skipif(os.uname().sysname != "Linux", reason="measures the limit of Linux")
@pytest.mark.parametrize("path_bytes", [*range(103, 110), 220])
def test_every_socket_path_that_we_choose_can_be_bound(path_bytes: int) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as base:
        runtime = runtime_dir_for(Path(base), path_bytes)
        place = places({"XDG_RUNTIME_DIR": str(runtime)}, "linux", os.getuid(), HOME)
        assert place.socket_is_shortened == (path_bytes > 107)
        folder = Path(place.socket).parent
        folder.mkdir(mode=0o700, exist_ok=True)
        try:
            with closing(socket.socket(socket.AF_UNIX)) as listener:
                listener.bind(place.socket)
        finally:
            Path(place.socket).unlink(missing_ok=True)
            folder.rmdir()


def test_macos_shortens_four_bytes_earlier() -> None:
    for path_bytes, shortened in ((103, False), (104, True)):
        runtime = "/" + "r" * (path_bytes - 1 - len("/memoryd.sock"))
        assert machine("darwin", XDG_RUNTIME_DIR=runtime).socket_is_shortened is shortened


def test_a_short_folder_is_named_after_the_user_and_the_long_path() -> None:
    homes = ["/" + "é" * 60 + name for name in "ab"]
    first, second = (machine(home=home).socket for home in homes)
    assert first.startswith("/tmp/memoryd-1000-")
    assert first.endswith("/memoryd.sock")
    assert first != second
    assert machine(home=homes[0]).socket == first
    assert len(first) <= 103


def test_a_configured_socket_path_is_used_as_it_is_or_refused() -> None:
    longest = "/" + "s" * 106
    assert machine(MEMORYD_SOCKET=longest).socket == longest
    with pytest.raises(ConfigError, match=r"108 bytes long; .* of 107") as caught:
        machine(MEMORYD_SOCKET=longest + "s")
    assert "shorter" in caught.value.hint


# The scopes


def test_the_default_memory_is_under_the_slug_of_the_root() -> None:
    folder = project_memory(machine(), "/work/my.app", {}, None)
    assert folder.path == "/home/ada/.claude/projects/-work-my-app/memory"
    assert folder.chosen_by == "default"


def test_the_override_beats_the_setting_and_the_setting_beats_the_default() -> None:
    env = {paths.MEMORY_PATH_OVERRIDE: "/mnt/space/memory/"}
    both = project_memory(machine(), "/work/app", env, "~/memories")
    setting = project_memory(machine(), "/work/app", {}, "~/memories//mine/")
    assert (both.path, both.chosen_by) == ("/mnt/space/memory", "override")
    assert (setting.path, setting.chosen_by) == ("/home/ada/memories/mine", "setting")


HOSTILE_FOLDERS = {
    "": "absolute",
    "memories": "absolute",
    "./memories": "absolute",
    "~root/memories": "absolute",
    "/": "home folder",
    "//": "home folder",
    "/.": "home folder",
    "~": "home folder",
    "~/": "home folder",
    "~/.": "home folder",
    "~//": "home folder",
    "/home": "home folder",
    "/home/ada": "home folder",
    "/home/ada/": "home folder",
    "/home/./ada": "home folder",
    "~/../ada": "contains ..",
    "/srv/../etc": "contains ..",
    "/srv/m\0": "characters",
    "/srv/m\n": "characters",
    "/srv/\ud800": "characters",
    "/" + "x" * 5000: "too long",
}


@pytest.mark.parametrize(("value", "reason"), HOSTILE_FOLDERS.items(), ids=repr)
def test_a_setting_that_is_not_a_private_folder_is_ignored(value: str, reason: str) -> None:
    folder = project_memory(machine(), "/work/app", {}, value)
    assert folder.chosen_by == "default"
    assert len(folder.ignored) == 1
    assert reason in folder.ignored[0]


def test_a_double_slash_after_the_tilde_stays_in_the_home() -> None:
    assert project_memory(machine(), "/w", {}, "~//etc").path == "/home/ada/etc"


def test_a_folder_beside_the_home_is_allowed() -> None:
    assert project_memory(machine(), "/w", {}, "/home/ad").path == "/home/ad"


def test_a_bad_override_falls_back_to_the_setting_and_says_so() -> None:
    folder = project_memory(machine(), "/w", {paths.MEMORY_PATH_OVERRIDE: "~"}, "/srv/memories")
    assert (folder.path, folder.chosen_by) == ("/srv/memories", "setting")
    assert paths.MEMORY_PATH_OVERRIDE in folder.ignored[0]


def test_every_other_folder_is_where_the_layout_says() -> None:
    place, memory = machine(), "/m"
    assert paths.team_memory(memory) == "/m/team"
    assert paths.user_memory(place) == "/home/ada/.claude/memory"
    assert paths.agent_memory(place, "/w", "kit", "user") == "/home/ada/.claude/agent-memory/kit"
    assert paths.agent_memory(place, "/w", "kit", "project") == "/w/.claude/agent-memory/kit"
    assert paths.agent_memory(place, "/w", "kit", "local") == "/w/.claude/agent-memory-local/kit"
    assert paths.agent_memory(place, "/", "kit", "local") == "/.claude/agent-memory-local/kit"
    assert paths.agent_snapshot("/w", "kit") == "/w/.claude/agent-memory-snapshots/kit"
    assert paths.session_notes("/p/-w/0f-1.jsonl") == "/p/-w/0f-1/session-memory/summary.md"
    assert paths.session_notes_template(place) == (
        "/home/ada/.claude/session-memory/config/template.md"
    )
    assert paths.daily_log(memory, dt.date(2026, 3, 5)) == "/m/logs/2026/03/2026-03-05.md"
    assert paths.daily_log_pattern(memory) == "/m/logs/YYYY/MM/YYYY-MM-DD.md"
    assert paths.consolidate_lock(memory) == "/m/.consolidate-lock"


def test_a_colon_in_an_agents_name_becomes_a_dash() -> None:
    assert paths.agent_snapshot("/w", "plugin:kit").endswith("/plugin-kit")


HOSTILE_NAMES = [
    "",
    " ",
    ".",
    "..",
    "...",
    ".git",
    "a/b",
    "a\\b",
    "a\0",
    "a\nb",
    "\u202ea",
    "\udc80",
]


@pytest.mark.parametrize("name", [*HOSTILE_NAMES, "x" * 129, "é" * 65], ids=repr)
def test_an_agents_name_that_cannot_be_a_folder_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        paths.agent_snapshot("/w", name)


@given(ANY_TEXT)
def test_an_agents_name_never_leads_out_of_the_agents_folder(name: str) -> None:
    try:
        folder = paths.agent_memory(machine(), "/w", name, "project")
    except InvalidInput:
        return
    assert os.path.normpath(folder) == folder
    assert str(Path(folder).parent) == "/w/.claude/agent-memory"


@pytest.mark.parametrize("name", ["...jsonl", "..jsonl", ".jsonl", "a.json", "", "a.jsonl/"])
def test_a_file_that_is_not_a_transcript_has_no_notes(name: str) -> None:
    with pytest.raises(InvalidInput):
        paths.session_notes(f"/p/-w/{name}")
