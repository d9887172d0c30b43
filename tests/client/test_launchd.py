"""Installing and removing the launchd agent, with a fake launchctl."""

import os
import plistlib
import sys
from pathlib import Path

import pytest

from memoryd_client.cli.main import main
from tests.support.fake_programs import FakePrograms

DOMAIN = f"gui/{os.getuid()}"
NOT_LOADED = {"print": (113, "Could not find service"), "bootout": (3, "No such process")}


@pytest.fixture(autouse=True)
def on_a_mac(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    for name in ("XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePrograms:
    return FakePrograms(tmp_path / "programs", monkeypatch)


@pytest.fixture
def agent(home: Path) -> Path:
    return home / "Library/LaunchAgents/local.memoryd.plist"


def test_install_writes_the_agent_and_loads_it(
    programs: FakePrograms, agent: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    programs.add("launchctl", NOT_LOADED)
    assert main(["install", "--service"]) == 0
    assert f"wrote {agent}" in capsys.readouterr().out
    written = plistlib.loads(agent.read_bytes())
    assert written["ProgramArguments"] == [str(Path(sys.executable).with_name("memoryd")), "serve"]
    socket = written["Sockets"]["memoryd"]["SockPathName"]
    assert socket.endswith("/memoryd.sock")
    assert len(os.fsencode(socket)) <= 103
    assert written["StandardErrorPath"] == f"{home}/Library/Logs/memoryd/memoryd.err"
    assert (home / "Library/Logs/memoryd").is_dir()
    assert programs.calls[-1] == f"launchctl bootstrap {DOMAIN} {agent}"


def test_an_error_of_launchd_is_shown(
    programs: FakePrograms, capsys: pytest.CaptureFixture[str]
) -> None:
    programs.add("launchctl", NOT_LOADED | {"bootstrap": (5, "Bootstrap failed: 5: I/O error")})
    assert main(["install", "--service"]) == 1
    errors = capsys.readouterr().err
    assert "Bootstrap failed: 5: I/O error" in errors
    assert f"launchctl print {DOMAIN}/local.memoryd" in errors


def test_without_launchd_nothing_is_written(
    programs: FakePrograms, agent: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["install", "--service"]) == 1
    assert "memoryd serve" in capsys.readouterr().err
    assert not agent.exists()


@pytest.mark.parametrize("content", [b"not a plist", b"<plist><dict/></plist>", b"\x00bplist00"])
@pytest.mark.parametrize("word", ["install", "uninstall"])
def test_an_agent_that_memoryd_did_not_write_is_never_touched(
    programs: FakePrograms, agent: Path, word: str, content: bytes
) -> None:
    programs.add("launchctl", NOT_LOADED)
    agent.parent.mkdir(parents=True)
    agent.write_bytes(content)
    assert main([word, "--service"]) == 1
    assert agent.read_bytes() == content


def test_uninstall_unloads_the_agent_and_removes_its_file(
    programs: FakePrograms, agent: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    programs.add("launchctl", NOT_LOADED)
    assert main(["install", "--service"]) == 0
    assert main(["uninstall", "--service"]) == 0
    assert f"service: removed {agent}" in capsys.readouterr().out
    assert not agent.exists()
    assert programs.calls[-1] == f"launchctl bootout {DOMAIN}/local.memoryd"
    assert main(["uninstall", "--service"]) == 0
    assert "no service to remove" in capsys.readouterr().out


def test_writable_folders_have_no_effect_and_a_note(
    programs: FakePrograms, capsys: pytest.CaptureFixture[str]
) -> None:
    programs.add("launchctl", NOT_LOADED)
    assert main(["install", "--service", "--writable", "/src"]) == 0
    assert "launchd has no fences" in capsys.readouterr().out
