"""Client and daemon look in the same places, whatever the environment says."""

import os
import pwd
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.base import paths
from memoryd.base.errors import ConfigError
from memoryd_client import hook
from memoryd_client.connection.failures import LocalFailure
from memoryd_client.connection.locations import locations, socket_location
from tests.support.scripted_daemon import ScriptedDaemon

PLATFORMS = ("linux", "darwin", "freebsd14")
FOLDERS = st.sampled_from(["", "/", "/run/user/7", "//x/./y/", "rel/ative", "/a/../b", "/ü \udcff"])
LONG_FOLDERS = st.integers(1, 5000).map(lambda length: "/" + "x" * length)
VARIABLES = st.fixed_dictionaries(
    {},
    optional={
        "XDG_RUNTIME_DIR": FOLDERS | LONG_FOLDERS,
        "XDG_STATE_HOME": FOLDERS | LONG_FOLDERS,
        "MEMORYD_SOCKET": FOLDERS | LONG_FOLDERS,
    },
)


@given(
    VARIABLES, st.sampled_from(PLATFORMS), st.sampled_from(["/home/me", "/home//me/", "/h" * 70])
)
def test_client_and_daemon_agree_on_the_socket(
    environ: dict[str, str], platform: str, home: str
) -> None:
    raw = {os.fsencode(key): os.fsencode(value) for key, value in environ.items()}
    raw[b"HOME"] = os.fsencode(home)
    try:
        expected = paths.places(environ, platform, 1000, home)
    except ConfigError:
        with pytest.raises(ValueError, match="MEMORYD_SOCKET"):
            hook.socket_path(raw, 1000, platform)
        return
    assert os.fsdecode(hook.socket_path(raw, 1000, platform)) == expected.socket
    assert os.fsdecode(hook.state_folder(raw, 1000, platform)) == expected.state_dir


ENVIRONMENTS: list[dict[str, str]] = [
    {},
    {"XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "XDG_RUNTIME_DIR": ""},
    {"XDG_CONFIG_HOME": "relative", "XDG_STATE_HOME": "/var//state/"},
    {"CLAUDE_CONFIG_DIR": "/srv/agent/./home/"},
    {"CLAUDE_CONFIG_DIR": "relative"},
    {"MEMORYD_SOCKET": "/tmp/own.sock"},
]


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("environ", ENVIRONMENTS, ids=repr)
def test_client_and_daemon_agree_on_every_place(
    home: Path, monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], platform: str
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr(hook, "USUAL_RUNTIME", os.fsencode(home / "none"))
    try:
        expected = paths.places(os.environ, platform, os.getuid(), str(home))
    except ConfigError:
        with pytest.raises(LocalFailure, match="must be an absolute path"):
            locations()
        return
    found = locations()
    assert str(found.home) == expected.home
    assert str(found.socket) == expected.socket
    assert str(found.state) == expected.state_dir
    assert str(found.log) == expected.log_file
    assert str(found.config) == expected.config_file
    assert str(found.claude) == expected.claude_dir


def test_a_daemon_of_the_state_folder_is_found_from_a_session(home: Path) -> None:
    """It was started without a session: by cron, by ssh, in a container."""
    usual = socket_location()
    beside = home / ".local/state/memoryd/memoryd.sock"
    beside.parent.mkdir()
    with ScriptedDaemon(beside, {}):
        assert socket_location() == beside
        with ScriptedDaemon(usual, {}):
            assert socket_location() == usual


def test_a_daemon_of_the_session_is_found_without_one(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent starts its MCP servers with a handful of variables, and this is none of them."""
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setattr(hook, "USUAL_RUNTIME", os.fsencode(home / "run"))
    running = home / "run" / str(os.getuid()) / "memoryd.sock"
    running.parent.mkdir()
    with ScriptedDaemon(running, {}):
        assert socket_location() != running  # the home is not that of the user
        own = pwd.getpwuid(os.getuid()).pw_dir
        monkeypatch.setenv("HOME", own)
        monkeypatch.setenv("XDG_STATE_HOME", str(home / ".local/state"))
        assert socket_location() == running


def test_a_socket_that_was_asked_for_is_the_only_one(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORYD_SOCKET", str(home / "own.sock"))
    with ScriptedDaemon(home / "run/memoryd.sock", {}):
        assert socket_location() == home / "own.sock"


def test_a_home_that_is_not_named_is_looked_up() -> None:
    assert hook.home_folder({}, os.getuid()) == os.fsencode(pwd.getpwuid(os.getuid()).pw_dir)


@pytest.mark.parametrize("asked", ["relative.sock", "/" + "x" * 200])
def test_a_socket_that_cannot_be_is_refused(monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    monkeypatch.setenv("MEMORYD_SOCKET", asked)
    with pytest.raises(LocalFailure, match="MEMORYD_SOCKET") as caught:
        socket_location()
    assert "unset MEMORYD_SOCKET" in caught.value.hint
