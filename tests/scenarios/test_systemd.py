"""Installing, removing and living as a systemd user service."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd_client.cli.main import main
from memoryd_client.version import __version__
from tests.support import user_manager
from tests.support.fake_programs import SYSTEMCTL, FakePrograms
from tests.support.scripted_daemon import Result, ScriptedDaemon
from tests.support.thinning import Thinning
from tests.support.user_manager import HOME, RUNTIME, CannotStart, UserManager

WHY_NOT = user_manager.why_not()
ROOT = Path(__file__).resolve().parents[2]
MEMORYD = str(Path(sys.executable).with_name("memoryd"))
RUNNING = {"is-system-running": (0, "running"), "is-active": (3, "inactive")}


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePrograms:
    return FakePrograms(tmp_path / "programs", monkeypatch)


@pytest.fixture
def units(home: Path) -> Path:
    return home / ".config/systemd/user"


def test_install_writes_both_units_and_starts_them(
    programs: FakePrograms, units: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    programs.add("systemctl", RUNNING, SYSTEMCTL)
    assert main(["install", "--service", "--writable", "~/src", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)["service"]
    paths = [units / "memoryd.service", units / "memoryd.socket"]
    assert report["written"][:2] == [str(path) for path in paths]
    assert report["notes"] == []
    assert {"name": "the rest of the home is read-only", "verdict": "up"} in report["fences"]
    service, socket = (path.read_text("utf-8") for path in paths)
    assert f"ExecStart={MEMORYD} serve" in service
    assert f"-{home}/.claude -{home}/.local/state/memoryd %t -{home}/src" in service
    assert "ListenStream=%t/memoryd.sock" in socket
    assert sorted(path.name for path in units.iterdir()) == ["memoryd.service", "memoryd.socket"]
    started = [
        "systemctl --user enable memoryd.socket memoryd.service",
        "systemctl --user start memoryd.socket",
        "systemctl --user start memoryd.service",
    ]
    assert programs.calls[-3:] == started


def test_install_leaves_nothing_of_the_probe_behind(programs: FakePrograms, home: Path) -> None:
    programs.add("systemctl", RUNNING, SYSTEMCTL)
    assert main(["install", "--service"]) == 0
    assert [path for path in (home / "run").rglob("*") if path.is_file()] == []


def test_the_service_gets_the_path_variables_of_the_shell(
    programs: FakePrograms, units: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs.add("systemctl", RUNNING, SYSTEMCTL)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "my agent"))
    monkeypatch.setenv("MEMORYD_SOCKET", str(home / "100%.sock"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "never-in-a-unit")
    assert main(["install", "--service"]) == 0
    service = (units / "memoryd.service").read_text("utf-8")
    assert f'Environment="CLAUDE_CONFIG_DIR={home}/my agent"' in service
    assert f'"-{home}/my agent"' in service
    assert "never-in-a-unit" not in service
    assert f"ListenStream={home}/100%%.sock" in (units / "memoryd.socket").read_text("utf-8")
    assert (home / "my agent").is_dir()


def test_where_namespaces_are_refused_the_weaker_unit_is_installed_and_said_so(
    programs: FakePrograms, units: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    programs.add("systemctl", RUNNING | {"refuses": True, "show": (0, "218")}, SYSTEMCTL)
    assert main(["install", "--service"]) == 0
    shown = capsys.readouterr().out
    assert "refuses user namespaces" in shown
    assert "218" in shown
    assert "down    the rest of the home is read-only" in shown
    assert "PrivateUsers" not in (units / "memoryd.service").read_text("utf-8")


def test_a_failed_start_says_where_to_look(
    programs: FakePrograms, capsys: pytest.CaptureFixture[str]
) -> None:
    programs.add("systemctl", RUNNING | {"enable": (1, "Unit is masked.")}, SYSTEMCTL)
    assert main(["install", "--service"]) == 1
    errors = capsys.readouterr().err
    assert "enable failed: Unit is masked." in errors
    assert "journalctl" in errors


def test_without_systemd_nothing_is_written(
    programs: FakePrograms, units: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["install", "--service"]) == 1
    errors = capsys.readouterr().err
    assert "has no systemd" in errors
    assert "memoryd serve" in errors
    assert not units.exists()


def test_without_a_user_manager_nothing_is_written(
    programs: FakePrograms, units: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    programs.add("systemctl", {"is-system-running": (1, "offline")}, SYSTEMCTL)
    assert main(["install", "--service"]) == 1
    assert "is not running for this user" in capsys.readouterr().err
    assert not units.exists()


@pytest.mark.parametrize("name", ["memoryd.service", "memoryd.socket"])
@pytest.mark.parametrize("word", ["install", "uninstall"])
def test_a_unit_that_memoryd_did_not_write_is_never_touched(
    programs: FakePrograms, units: Path, word: str, name: str
) -> None:
    programs.add("systemctl", RUNNING, SYSTEMCTL)
    units.mkdir(parents=True)
    (units / name).write_text("[Unit]\nDescription=mine\n", encoding="utf-8")
    assert main([word, "--service"]) == 1
    assert [path.name for path in units.iterdir()] == [name]
    assert (units / name).read_text("utf-8") == "[Unit]\nDescription=mine\n"


def test_a_daemon_in_a_terminal_is_not_robbed_of_its_socket(
    programs: FakePrograms, units: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    programs.add("systemctl", RUNNING, SYSTEMCTL)
    pong = Result({"version": __version__, "pid": 77})
    with ScriptedDaemon(home / "run" / "memoryd.sock", {"ping": pong}):
        assert main(["install", "--service"]) == 1
    errors = capsys.readouterr().err
    assert "process 77" in errors
    assert "memoryd stop" in errors
    assert not units.exists()


def test_a_second_install_replaces_the_first(programs: FakePrograms, units: Path) -> None:
    programs.add("systemctl", RUNNING, SYSTEMCTL)
    assert main(["install", "--service", "--writable", "/one"]) == 0
    assert main(["install", "--service", "--writable", "/two"]) == 0
    service = (units / "memoryd.service").read_text("utf-8")
    assert "-/two" in service
    assert "-/one" not in service


def test_uninstall_removes_what_install_wrote_and_nothing_else(
    programs: FakePrograms, units: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    programs.add("systemctl", RUNNING, SYSTEMCTL)
    assert main(["install", "--service"]) == 0
    drop_in = units / "memoryd.service.d" / "mine.conf"
    drop_in.parent.mkdir()
    drop_in.touch()
    assert main(["uninstall", "--service"]) == 0
    assert "removed" in capsys.readouterr().out
    assert [path for path in units.rglob("*") if path.is_file()] == [drop_in]
    assert "systemctl --user disable --now memoryd.socket memoryd.service" in programs.calls
    assert (home / ".claude").is_dir()


def test_uninstall_without_a_service_is_done_at_once(
    programs: FakePrograms, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["uninstall", "--service"]) == 0
    assert "no service to remove" in capsys.readouterr().out


def test_uninstall_works_after_systemd_is_gone(programs: FakePrograms, units: Path) -> None:
    programs.add("systemctl", RUNNING, SYSTEMCTL)
    assert main(["install", "--service"]) == 0
    programs.add("systemctl", {"is-system-running": (1, "offline")}, SYSTEMCTL)
    assert main(["uninstall", "--service"]) == 0
    assert not units.exists()


# --- with a real user manager ---------------------------------------------------------------------

KILLS = 24 if Thinning.is_whole else 5
# Calls without a pause while the daemon is killed: each must be answered, by whichever daemon.
CALL_AND_KILL = """
import os, signal, sys
from memoryd_client.connection.call import call
from memoryd_client.connection.failures import Failure
kills, calls, refused, pids = int(sys.argv[1]), 0, [], set()
while len(pids) <= kills:
    try:
        calls += 1
        pid = call("ping", timeout_seconds=30)["pid"]
    except Failure as failure:
        refused.append(failure.message)
        continue
    if pid not in pids:
        pids.add(pid)
        if len(pids) <= kills:
            os.kill(pid, signal.SIGKILL)
print(calls, len(pids) - 1, refused)
"""


@pytest.fixture(scope="module")
def manager() -> Iterator[UserManager]:
    if WHY_NOT:
        pytest.skip(WHY_NOT)
    try:
        with UserManager() as running:
            if running.run(sys.executable, "-c", "import memoryd_client").returncode:
                pytest.skip("another user cannot read this checkout or its interpreter")
            running.run("mkdir", "-p", "-m", "700", f"{HOME}/.ssh", f"{HOME}/src")
            yield running
    except CannotStart as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def installed(manager: UserManager) -> UserManager:
    """The service as its user installed it, fences proven; one for all tests that it survives."""
    done = manager.run(MEMORYD, "install", "--service", "--json", "--writable", f"{HOME}/src")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)["service"]
    fences = {fence["name"]: fence["verdict"] for fence in report["fences"]}
    assert "down" not in fences.values(), fences
    assert fences["keys and logins are hidden"] == "up"
    return manager


def test_the_service_lives_behind_fences_that_hold(installed: UserManager) -> None:
    assert installed.systemctl("is-active", "memoryd.service", "memoryd.socket") == "active\nactive"
    assert installed.run(MEMORYD, "remember", "hello").returncode == 0
    assert "feedback_hello.md" in installed.run(MEMORYD, "list").stdout
    modes = installed.run(
        "stat", "-c", "%a %F", f"{RUNTIME}/memoryd.sock", f"{HOME}/.claude"
    ).stdout
    assert modes.splitlines() == ["600 socket", "700 directory"]
    checks = {
        check["check"]: check
        for check in json.loads(installed.run(MEMORYD, "doctor", "--json").stdout)
    }
    assert checks["service"]["verdict"] == "ok"
    assert (checks["fences"]["verdict"], checks["fences"]["fix"]) == ("ok", "")
    assert [check for check in checks.values() if check["verdict"] == "fail"] == []


def test_a_stopped_daemon_starts_at_the_next_call(installed: UserManager) -> None:
    assert installed.run(MEMORYD, "stop").returncode == 0
    assert installed.run(MEMORYD, "status").returncode == 0


def test_no_call_is_refused_while_the_daemon_is_killed_again_and_again(
    installed: UserManager,
) -> None:
    done = installed.run(sys.executable, "-c", CALL_AND_KILL, str(KILLS))
    calls, kills, refused = done.stdout.split(maxsplit=2)
    assert (int(kills), refused.strip()) == (KILLS, "[]"), done.stderr
    assert int(calls) > KILLS


def test_a_frozen_daemon_is_replaced(installed: UserManager) -> None:
    drop_in = f"{HOME}/.config/systemd/user/memoryd.service.d/quick.conf"
    text = "[Service]\\nWatchdogSec=1\\n"
    write = f"mkdir -p $(dirname {drop_in}) && printf '{text}' > {drop_in}"
    assert installed.run("sh", "-c", write).returncode == 0
    installed.systemctl("daemon-reload")
    installed.systemctl("restart", "memoryd.service")
    pid = installed.systemctl("show", "-p", "MainPID", "--value", "memoryd.service")
    installed.run("kill", "-STOP", pid)
    assert installed.run(MEMORYD, "status").returncode == 0
    assert installed.systemctl("show", "-p", "MainPID", "--value", "memoryd.service") != pid
    installed.run("rm", "-r", f"{HOME}/.config/systemd/user/memoryd.service.d")


def test_a_typo_in_the_settings_leaves_the_service_up(installed: UserManager) -> None:
    folder = f"{HOME}/.config/memoryd"
    typo = f"mkdir -p {folder} && printf '[log]\nlevl = 1\n' >{folder}/config.toml"
    assert installed.run("sh", "-c", typo).returncode == 0
    installed.systemctl("restart", "memoryd.service")
    done = installed.run(MEMORYD, "list")
    assert done.returncode == 0, done.stderr
    assert "log.levl" in done.stderr
    assert installed.systemctl("is-active", "memoryd.service") == "active"
    installed.run("rm", "-r", folder)
    installed.systemctl("restart", "memoryd.service")
    assert installed.run(MEMORYD, "list").stderr == ""


def test_paths_with_strange_names_reach_the_service_unchanged(manager: UserManager) -> None:
    strange = f"{HOME}/my \"own\" 'agent' 100% $HOME %h"
    environ = {"CLAUDE_CONFIG_DIR": strange}
    done = manager.run(MEMORYD, "install", "--service", environ=environ)
    assert done.returncode == 0, done.stderr
    done = manager.run(MEMORYD, "remember", "hello", environ=environ)
    assert done.stdout.startswith(f"remembered in {strange}/projects/"), done.stderr


def test_a_fence_that_the_system_refuses_is_left_out(manager: UserManager) -> None:
    """A mount that cannot be made fails the start as a refused namespace does, with 226."""
    copy = f"{HOME}/copy"
    impossible = f"s:^PrivateUsers=yes:&\\nBindPaths={HOME}/nowhere:"
    prepare = (
        f"mkdir {copy} && cp -r {ROOT}/client {ROOT}/systemd {copy}"
        f" && sed -i '{impossible}' {copy}/systemd/memoryd.service"
    )
    assert manager.run("sh", "-c", prepare).returncode == 0
    code = "import sys; from memoryd_client.entry import main; sys.exit(main())"
    done = manager.run(
        *(sys.executable, "-c", code, "install", "--service"),
        environ={"PYTHONPATH": f"{copy}/client"},
    )
    assert done.returncode == 0, done.stderr
    assert "a test start ended with 226" in done.stdout
    assert "down    the rest of the home is read-only" in done.stdout
    assert "up      system calls are filtered" in done.stdout
    assert manager.run(MEMORYD, "status").returncode == 0


def test_uninstall_leaves_no_unit_no_process_and_no_socket(installed: UserManager) -> None:
    assert installed.run(MEMORYD, "uninstall", "--service").returncode == 0
    assert installed.run("find", f"{HOME}/.config/systemd", "-name", "memoryd*").stdout == ""
    assert installed.run("test", "-e", f"{RUNTIME}/memoryd.sock").returncode == 1
    assert installed.run(MEMORYD, "status").returncode == 69
    assert installed.systemctl("list-units", "--all", "memoryd*", "--no-legend", "--plain") == ""


EVERYTHING = "cd && find . -printf '%p %y %m %l\n' && find . -type f -exec sha256sum {} +"


def test_a_home_is_as_before_once_all_is_removed(manager: UserManager) -> None:
    manager.run("sh", "-c", "cd && rm -rf .claude .claude.json .config .local")
    before = manager.run("sh", "-c", EVERYTHING).stdout
    done = manager.run(MEMORYD, "install", "--yes")
    assert done.returncode == 0, done.stderr
    assert "checked: the daemon answered" in done.stdout
    done = manager.run(MEMORYD, "uninstall", "--yes", "--state")
    assert done.returncode == 0, done.stderr
    assert manager.run("sh", "-c", EVERYTHING).stdout == before
