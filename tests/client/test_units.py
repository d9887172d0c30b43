"""systemd and launchd accept the unit files and the agent, whatever a path looks like."""

import os
import plistlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memoryd_client.connection.failures import LocalFailure
from memoryd_client.install import probe, units

ROOT = Path(__file__).resolve().parents[2]
SERVICE = (ROOT / "systemd/memoryd.service").read_text("utf-8")
SOCKET = (ROOT / "systemd/memoryd.socket").read_text("utf-8")
AGENT = (ROOT / "launchd/memoryd.plist").read_bytes()

PLAIN = "/home/me"
STRANGE = "/home/ü & <b> \"q\" 'p' $HOME %h 100%/back\\slash;semi#hash"

# What systemd documents to need a namespace or a capability, and so to fail where users get none.
NEEDS_NAMESPACES = (
    "CapabilityBoundingSet",
    "InaccessiblePaths",
    "Private",
    "Protect",
    "ReadWritePaths",
    "ReadOnlyPaths",
    "BindPaths",
)
AGENT_KEYS = {
    "EnvironmentVariables",
    "HardResourceLimits",
    "KeepAlive",
    "Label",
    "ProcessType",
    "ProgramArguments",
    "RunAtLoad",
    "Sockets",
    "StandardErrorPath",
    "StandardOutPath",
    "Umask",
}


def values(home: str, command: str = sys.executable) -> units.Values:
    return units.Values(
        command=command,
        socket=f"{home}/memoryd.sock",
        claude=f"{home}/.claude",
        state=f"{home}/.local/state/memoryd",
        logs=f"{home}/Library/Logs/memoryd",
        writable=[f"{home}/src", f"{home}/work"],
        environment={"CLAUDE_CONFIG_DIR": f"{home}/.claude", "XDG_STATE_HOME": f"{home}/state"},
    )


def directives(unit: str) -> list[str]:
    """The settings of a unit in order, without comments, sections and empty lines."""
    return [line for line in unit.splitlines() if line and line[0] not in "#["]


def complaints(folder: Path, files: dict[str, str]) -> str:
    """What systemd reports about these units; a misspelt key is only a warning."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", *(str(folder / name) for name in files)],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ) | {"LC_ALL": "C"},
    )
    said = done.stdout + done.stderr
    return said if done.returncode == 0 else f"exit code {done.returncode}: {said}"


@pytest.mark.parametrize("place", [PLAIN, STRANGE], ids=["plain", "strange"])
def test_systemd_accepts_the_units(tmp_path: Path, place: str) -> None:
    service = units.service_unit(SERVICE, values(place))
    socket = units.socket_unit(SOCKET, "%t/memoryd.sock")
    assert complaints(tmp_path, {"memoryd.service": service, "memoryd.socket": socket}) == ""
    weaker = units.without_namespaces(service)
    assert complaints(tmp_path, {"memoryd.service": weaker, "memoryd.socket": socket}) == ""


def test_systemd_accepts_the_probe(tmp_path: Path) -> None:
    service = units.service_unit(SERVICE, values(STRANGE))
    unit = units.probe_unit(service, (sys.executable, "-I", STRANGE), f"{STRANGE}/out")
    assert complaints(tmp_path, {"memoryd-probe.service": unit}) == ""


def test_a_misspelt_key_would_be_seen(tmp_path: Path) -> None:
    wrong = units.service_unit(SERVICE, values(PLAIN)).replace("ProtectHome=", "ProtectHoem=")
    socket = units.socket_unit(SOCKET, "%t/memoryd.sock")
    said = complaints(tmp_path, {"memoryd.service": wrong, "memoryd.socket": socket})
    assert "ProtectHoem" in said


def test_the_weaker_unit_is_the_same_without_what_needs_namespaces() -> None:
    whole = directives(units.service_unit(SERVICE, values(PLAIN)))
    weaker = directives(units.without_namespaces(units.service_unit(SERVICE, values(PLAIN))))
    assert weaker == [line for line in whole if not line.startswith(NEEDS_NAMESPACES)]
    assert "PrivateUsers=yes" in whole
    assert any(line.startswith("SystemCallFilter=") for line in weaker)


def test_the_probe_runs_inside_the_same_fences() -> None:
    service = units.service_unit(SERVICE, values(PLAIN))
    unit = units.probe_unit(service, ("/bin/probe",), "/out")
    _, fences, _ = units.between(service, units.FENCES)
    assert directives(unit)[3:] == directives(fences)
    assert directives(unit)[:3] == [
        "Type=oneshot",
        "ExecStart=/bin/probe",
        "StandardOutput=file:/out",
    ]


def test_memories_state_runtime_and_what_was_asked_for_can_be_written() -> None:
    service = units.service_unit(SERVICE, values(PLAIN))
    (line,) = (each for each in directives(service) if each.startswith("ReadWritePaths="))
    assert line == (
        "ReadWritePaths=-/home/me/.claude -/home/me/.local/state/memoryd %t"
        " -/home/me/src -/home/me/work"
    )


def test_no_mark_is_left_in_anything() -> None:
    for text in (
        units.service_unit(SERVICE, values(PLAIN)._replace(writable=(), environment={})),
        units.socket_unit(SOCKET, "/x"),
        units.launch_agent(AGENT, values(PLAIN)).decode(),
    ):
        assert re.findall("@[A-Z]+@", text) == []


def test_both_units_carry_our_name() -> None:
    assert SERVICE.startswith(units.WRITTEN_BY)
    assert SOCKET.startswith(units.WRITTEN_BY)


@pytest.mark.parametrize("path", ["/a\nExecStart=/bin/evil", "/a\rb", "/a\0b"])
def test_a_path_cannot_add_a_line_to_a_unit(path: str) -> None:
    with pytest.raises(LocalFailure, match="line break"):
        units.service_unit(SERVICE, values(path))


@pytest.mark.parametrize("place", [PLAIN, STRANGE], ids=["plain", "strange"])
def test_the_agent_says_what_launchd_must_do(place: str) -> None:
    agent = plistlib.loads(units.launch_agent(AGENT, values(place, f"{place}/bin/memoryd")))
    assert set(agent) == AGENT_KEYS
    assert agent["Label"] == "local.memoryd"
    assert agent["ProgramArguments"] == [f"{place}/bin/memoryd", "serve"]
    assert agent["EnvironmentVariables"]["CLAUDE_CONFIG_DIR"] == f"{place}/.claude"
    assert agent["Sockets"] == {
        "memoryd": {
            "SockType": "stream",
            "SockPathName": f"{place}/memoryd.sock",
            "SockPathMode": 0o600,
        }
    }
    assert agent["KeepAlive"] == {"SuccessfulExit": False}
    assert agent["ProcessType"] == "Background"
    assert agent["Umask"] == 0o077
    assert agent["StandardErrorPath"] == f"{place}/Library/Logs/memoryd/memoryd.err"


def test_the_probe_sees_what_an_open_process_may_do(home: Path) -> None:
    """The control: outside every fence, each of them is down."""
    claude, state = home / ".claude", home / ".local/state"
    (home / ".ssh").mkdir()
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-E", probe.__file__, str(home), str(claude), str(state)],
        capture_output=True,
        text=True,
        check=True,
    )
    found = dict(line.split("\t")[::-1] for line in done.stdout.splitlines())
    assert found[probe.WRITES] == "up"
    assert found["the rest of the home is read-only"] == "down"
    assert found["the shared /tmp is read-only"] == "down"
    assert found["keys and logins are hidden"] == "down"
    assert not list(home.rglob(".memoryd-probe*"))


def test_the_probe_says_when_memories_cannot_be_written(home: Path) -> None:
    found = probe.verdicts(home, home / "missing", home)
    assert found[probe.WRITES] is False
    assert found["keys and logins are hidden"] is None
