"""The doctor says what is wrong, and how to fix it."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from memoryd_client.cli.main import main
from memoryd_client.connection.locations import locations
from memoryd_client.doctor import checks, fixes, local_checks
from memoryd_client.doctor.findings import Finding
from memoryd_client.install import claude_code
from memoryd_client.version import __version__
from tests.support.fake_programs import SYSTEMCTL, FakePrograms
from tests.support.scripted_daemon import Raw, Result, ScriptedDaemon

STATUS: dict[str, object] = {
    "version": __version__,
    "provider": "embedded",
    "memory": {"enabled": True, "reason": ""},
    "spending": {"today_usd": 0.5, "month_usd": 2.0, "paused": False},
    "errors": [],
}
HEALTH = [
    {"check": "index", "verdict": "ok", "reason": "whole"},
    {"check": "memories", "verdict": "ok", "reason": "all can be read"},
]
RUNNING = {"is-system-running": (0, "running"), "is-active": (0, "active")}


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePrograms:
    return FakePrograms(tmp_path / "programs", monkeypatch)


@pytest.fixture
def well(home: Path) -> Path:
    """A home in which everything is right, except that no daemon runs."""
    places = locations()
    places.state.mkdir(mode=0o700)
    places.log.touch(0o600)
    claude_code.install_hooks(places)
    claude_code.install_mcp(places)
    return home


def examined(status: dict[str, object] | None = None) -> dict[str, Finding]:
    """The findings by name, for a daemon with this status or without one."""
    if status is None:
        return {finding.check: finding for finding in checks.examine("/project")}
    answers = {"status": Result(status), "health": Result({"findings": HEALTH})}
    with ScriptedDaemon(locations().socket, answers):
        return {finding.check: finding for finding in checks.examine("/project")}


def install_unit_file() -> None:
    unit = locations().service
    unit.parent.mkdir(parents=True)
    unit.touch()


def test_a_healthy_service_needs_no_fix(well: Path, programs: FakePrograms) -> None:
    install_unit_file()
    programs.add("systemctl", RUNNING, SYSTEMCTL)
    programs.add("loginctl", {"show-user": (0, "yes")})
    found = examined(STATUS | {"fences": {"landlock": "abi 7", "openat2": True}})
    assert {name: finding.verdict for name, finding in found.items()} == dict.fromkeys(found, "ok")
    assert found["fences"].reason == "active: landlock, openat2"
    assert found["log"].reason == str(locations().log)


def test_a_fresh_machine_has_one_failure_and_it_is_the_daemon(home: Path) -> None:
    found = examined()
    assert [name for name, one in found.items() if one.verdict == "fail"] == ["daemon"]


def test_a_daemon_that_does_not_answer_is_to_be_killed(well: Path) -> None:
    (locations().state / "memoryd.lock").write_text("4711\n")
    with ScriptedDaemon(locations().socket, {"status": Raw(b"")}):
        found = {finding.check: finding for finding in checks.examine("/project")}["daemon"]
    assert (found.verdict, found.fix) == (
        "fail",
        "kill -9 4711, then run memoryd serve; nothing is lost",
    )
    install_unit_file()
    assert fixes.kill(locations()) == "systemctl --user restart memoryd"


def test_no_daemon_is_a_failure_and_what_it_knows_is_skipped(well: Path) -> None:
    found = examined()
    assert found["daemon"].verdict == "fail"
    assert "memoryd serve" in found["daemon"].fix
    for name in checks.INNER_CHECKS:
        assert found[name] == Finding(name, "skipped", "the daemon does not answer")


@pytest.mark.parametrize(("is_service", "fix"), [(False, "memoryd stop"), (True, "systemctl")])
def test_another_version_is_a_warning_with_the_restart(
    well: Path, is_service: bool, fix: str
) -> None:
    if is_service:
        install_unit_file()
    found = examined(STATUS | {"version": "0.0.1"})["daemon"]
    assert found.verdict == "warn"
    assert fix in found.fix


def test_a_service_that_is_down_is_a_failure(well: Path, programs: FakePrograms) -> None:
    install_unit_file()
    programs.add("systemctl", RUNNING | {"is-active": (3, "failed")}, SYSTEMCTL)
    found = examined(STATUS)["service"]
    assert (found.verdict, found.fix) == ("fail", "memoryd install --service")
    assert "memoryd.service is failed" in found.reason


def test_what_cannot_be_asked_is_skipped_with_the_reason(well: Path) -> None:
    install_unit_file()
    found = examined(STATUS)
    assert found["service"] == Finding("service", "skipped", "this system has no systemd")
    assert found["lingering"] == Finding("lingering", "skipped", "loginctl is not installed")
    assert found["fences"].verdict == "skipped"


def test_a_service_of_another_memoryd_is_a_warning(well: Path, programs: FakePrograms) -> None:
    programs.add("systemctl", RUNNING, SYSTEMCTL)
    install_unit_file()
    locations().service.write_text("[Service]\nExecStart=/old/bin/memoryd serve\n")
    found = examined(STATUS)["service"]
    assert (found.verdict, found.fix) == ("warn", "memoryd install --service")
    assert "/old/bin/memoryd" in found.reason
    assert examined(STATUS | {"version": "0.0.1"})["daemon"].fix == "memoryd install --service"


def test_no_service_is_a_warning(well: Path) -> None:
    found = examined(STATUS)
    assert (found["service"].verdict, found["lingering"].verdict) == ("warn", "skipped")


def test_a_service_that_does_not_linger_is_a_warning(well: Path, programs: FakePrograms) -> None:
    install_unit_file()
    programs.add("loginctl", {"show-user": (0, "no")})
    assert examined(STATUS)["lingering"].fix == "loginctl enable-linger"


def test_an_agent_that_is_not_loaded_is_a_failure(
    well: Path, programs: FakePrograms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    install_unit_file()
    programs.add("launchctl", {"print": (113, "")})
    assert checks.service_finding(locations()).verdict == "fail"
    programs.add("launchctl", {})
    assert checks.service_finding(locations()).verdict == "ok"


@pytest.mark.parametrize(
    ("mode", "verdict"), [(0o700, "ok"), (0o755, "warn"), (0o770, "fail"), (0o702, "fail")]
)
def test_folders_must_be_private(tmp_path: Path, mode: int, verdict: str) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    folder.chmod(mode)
    found = local_checks.folder_finding("state folder", folder)
    assert found.verdict == verdict
    if verdict != "ok":
        assert found.fix == f"chmod 700 '{folder}'"


def test_a_missing_folder_is_a_failure(tmp_path: Path) -> None:
    found = local_checks.folder_finding("state folder", tmp_path / "none")
    assert (found.verdict, found.fix) == ("fail", f"mkdir -p -m 700 {tmp_path}/none")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files to another user")
def test_what_belongs_to_another_user_is_a_failure(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir(0o700)
    os.chown(folder, 12345, 12345)
    assert "belongs to user 12345" in local_checks.folder_finding("state folder", folder).reason
    path = home / "run" / "memoryd.sock"
    with ScriptedDaemon(path, {}):
        os.chown(path, 12345, 12345)
        assert "belongs to user 12345" in local_checks.socket_finding(path).reason


def test_a_socket_is_judged_by_its_kind_mode_and_folder(home: Path) -> None:
    path = home / "run" / "memoryd.sock"
    assert local_checks.socket_finding(path).verdict == "skipped"
    path.touch()
    assert "is not a socket" in local_checks.socket_finding(path).reason
    path.unlink()
    with ScriptedDaemon(path, {}):
        assert local_checks.socket_finding(path).verdict == "ok"
        path.chmod(0o666)
        assert local_checks.socket_finding(path).fix == f"chmod 600 {path}"
        path.chmod(0o600)
        path.parent.chmod(0o777)
        assert local_checks.socket_finding(path).fix == f"chmod go-w {path.parent}"


def test_a_shell_without_a_runtime_folder_is_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert local_checks.runtime_finding().verdict == "ok"


@pytest.mark.parametrize(
    ("content", "verdict"),
    [(None, "ok"), (b"[model]\n", "ok"), (b"[mod", "fail"), (b"\xff", "fail")],
)
def test_settings_must_be_readable(tmp_path: Path, content: bytes | None, verdict: str) -> None:
    path = tmp_path / "config.toml"
    if content is not None:
        path.write_bytes(content)
    assert local_checks.config_finding(path).verdict == verdict


def test_a_key_that_the_daemon_does_not_know_is_named(home: Path) -> None:
    path = locations().config
    path.parent.mkdir(parents=True)
    path.write_text("[budget]\nusd_per_dya = 1\n")
    found = local_checks.config_finding(path)
    assert found.verdict == "fail"
    assert "did you mean budget.usd_per_day?" in found.reason
    assert found.fix


def test_a_daemon_that_cannot_be_loaded_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "memoryd.daemon.main", None)
    found = local_checks.config_finding(tmp_path / "none")
    assert (found.verdict, found.fix) == ("fail", "install memoryd again, with pip, pipx or uv")
    assert "memoryd.daemon.main is not installed" in found.reason


def test_settings_that_keep_the_daemon_from_starting_are_to_be_fixed_first(well: Path) -> None:
    path = locations().config
    path.parent.mkdir(parents=True)
    path.write_text("[budgt]\n")
    assert examined()["daemon"].fix.startswith("fix the settings first (see below); then start")


def test_settings_that_are_a_folder_are_a_failure(tmp_path: Path) -> None:
    assert local_checks.config_finding(tmp_path).verdict == "fail"


def test_settings_that_are_a_fifo_do_not_block(home: Path) -> None:
    config, agents = locations().config, claude_code.settings_file(locations())
    for path in (config, agents):
        path.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(path)
    assert local_checks.config_finding(config).fix == f"mv {config} {config}.old"
    assert "is not a regular file" in local_checks.hooks_finding(locations()).reason
    assert claude_code.installed_commands(locations()) == []


def test_an_agent_that_never_ran_is_a_warning(tmp_path: Path) -> None:
    assert local_checks.transcripts_finding(tmp_path).verdict == "warn"


def test_what_the_daemon_finds_itself_is_shown(well: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finding = {"check": "index", "verdict": "warn", "reason": "cut", "fix": "memoryd dream --now"}
    monkeypatch.setattr("tests.client.test_doctor.HEALTH", [finding])
    assert examined(STATUS)["index"] == Finding("index", "warn", "cut", "memoryd dream --now")


@pytest.mark.parametrize("is_asked", [True, False])
def test_the_provider_is_tried_only_when_asked_for(well: Path, is_asked: bool) -> None:
    answers = {"status": Result(STATUS), "health": Result({"findings": []})}
    with ScriptedDaemon(locations().socket, answers) as daemon:
        main(["doctor", "--project", "/p", *(["--provider"] if is_asked else [])])
    assert daemon.asked("health") == [{"cwd": "/p", "provider": is_asked}]


def test_a_daemon_without_the_health_method_is_not_a_failure(well: Path) -> None:
    with ScriptedDaemon(locations().socket, {"status": Result(STATUS)}):
        found = {finding.check: finding for finding in checks.examine("/project")}
    assert found["health"].verdict == "skipped"


def test_hooks_of_another_memoryd_are_a_warning(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = locations()
    fix = "memoryd install --hooks claude-code"
    assert (
        local_checks.hooks_finding(places).verdict,
        local_checks.hooks_finding(places).fix,
    ) == (
        "warn",
        fix,
    )
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("sys.executable", "/old/bin/python")
        claude_code.install_hooks(places)
    found = local_checks.hooks_finding(places)
    assert (found.verdict, found.fix) == ("warn", fix)
    assert "/old/bin/python" in found.reason
    claude_code.install_hooks(places)
    assert local_checks.hooks_finding(places).verdict == "ok"


def test_settings_of_the_agent_that_cannot_be_read_are_a_failure(home: Path) -> None:
    path = claude_code.settings_file(locations())
    path.write_text("{")
    found = local_checks.hooks_finding(locations())
    assert (found.verdict, found.fix) == ("fail", f"fix {path} by hand")
    assert "is not valid JSON" in found.reason


def test_a_server_of_another_memoryd_is_a_warning(home: Path) -> None:
    places = locations()
    assert local_checks.server_finding(places).verdict == "skipped"
    claude_code.servers_file(places).write_text(
        '{"mcpServers": {"memoryd": {"command": "/old/bin/memoryd", "args": ["mcp"]}}}'
    )
    found = local_checks.server_finding(places)
    assert (found.verdict, found.fix) == ("warn", "memoryd install --mcp")
    claude_code.install_mcp(places)
    assert local_checks.server_finding(places).verdict == "ok"


def as_a_person(work: Callable[[], None]) -> None:
    """Runs something as a user other than root, who ignores file modes."""
    if os.getuid():
        return work()
    child = os.fork()
    if not child:
        os.setuid(12345)
        try:
            work()
        except BaseException:  # noqa: BLE001 - the child ends here, whatever happens
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return None


def test_memories_that_cannot_be_read_are_named_with_the_command_that_opens_them() -> None:
    place = Path(tempfile.mkdtemp())
    place.chmod(0o777)

    def look() -> None:
        claude = place / "person"
        shop, bank = (claude / "projects" / name / "memory" for name in ("shop", "bank"))
        for folder in (shop, bank):
            folder.mkdir(parents=True, mode=0o700)
            (folder / "one.md").touch(0o600)
        assert local_checks.memory_files_finding(claude).verdict == "ok"
        (shop / "one.md").chmod(0)
        bank.chmod(0o500)
        found = local_checks.memory_files_finding(claude)
        assert found.verdict == "fail"
        assert {str(shop / "one.md"), str(bank)} < set(found.fix.split())
        path = {"PATH": "/usr/bin:/bin"}
        subprocess.run(found.fix, shell=True, check=True, env=path)  # noqa: S602 - as typed
        assert local_checks.memory_files_finding(claude).verdict == "ok"
        bank.chmod(0o770)
        found = local_checks.memory_files_finding(claude)
        assert (found.verdict, found.fix) == ("warn", f"chmod -R go-w {bank}")

    try:
        as_a_person(look)
    finally:
        shutil.rmtree(place)


def test_an_event_without_our_hook_is_a_warning(home: Path) -> None:
    places = locations()
    claude_code.install_hooks(places)
    path = claude_code.settings_file(places)
    settings = json.loads(path.read_bytes())
    del settings["hooks"]["PreCompact"]
    path.write_text(json.dumps(settings))
    assert local_checks.hooks_finding(places).reason == "7 of 8 events have our hook"


@pytest.mark.parametrize(
    ("limit", "verdict"), [("100", "ok"), ("6", "warn"), ("none", "skipped"), (None, "skipped")]
)
def test_too_few_watches_are_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str | None, verdict: str
) -> None:
    file = tmp_path / "limit"
    if limit is not None:
        file.write_text(limit)
    monkeypatch.setattr("memoryd_client.doctor.local_checks.WATCH_LIMIT", file)
    for name in ("a", "b"):
        (tmp_path / "projects" / name).mkdir(parents=True)
    found = local_checks.watch_finding(tmp_path / "projects")
    assert found.verdict == verdict
    assert bool(found.fix) == (verdict == "warn")


def test_problems_that_the_daemon_reports_are_shown(well: Path) -> None:
    found = examined(
        STATUS
        | {
            "memory": {"enabled": False, "reason": "autoMemoryEnabled is false"},
            "spending": {"today_usd": 1.0, "paused": True},
            "errors": ["first", {"message": "disk full", "at": 5}],
            "fences": {"landlock": None, "openat2": True},
        }
    )
    verdicts = {name: found[name].verdict for name in checks.INNER_CHECKS}
    assert verdicts == dict.fromkeys(checks.INNER_CHECKS, "warn") | {"provider": "ok"}
    assert "autoMemoryEnabled is false" in found["memory"].reason
    assert "autoMemoryEnabled" in found["memory"].fix
    assert "disk full" in found["errors"].reason
    assert found["fences"].reason == "active: openat2; missing: landlock"


@pytest.mark.parametrize(
    ("reason", "fix"),
    [
        ("switched off for this project by memoryd off", "memoryd on"),
        ("switched off for all projects by memoryd off", "memoryd on --all"),
        ("CLAUDE_CODE_DISABLE_AUTO_MEMORY is set", "unset CLAUDE_CODE_DISABLE_AUTO_MEMORY, "),
    ],
)
def test_each_reason_for_memory_off_has_its_fix(reason: str, fix: str) -> None:
    assert fixes.turn_on(reason).startswith(fix)


@pytest.mark.parametrize(
    ("reason", "fix"),
    [
        ("day-cap", "budget.usd_per_day"),
        ("month-cap", "budget.usd_per_month"),
        ("provider-refused", "fix the key"),
        ("breaker-open", "by itself"),
    ],
)
def test_each_pause_has_its_fix(reason: str, fix: str) -> None:
    assert fix in fixes.end_pause(reason, Path("config.toml"))


def test_fences_that_a_system_cannot_have_are_not_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    down = {"landlock": 0, "openat2": False}
    monkeypatch.setattr("sys.platform", "linux")
    assert checks.fences_finding(down).verdict == "warn"
    assert checks.fences_finding(down).fix
    monkeypatch.setattr("sys.platform", "darwin")
    assert checks.fences_finding(down).verdict == "skipped"


@pytest.mark.parametrize("status", [{}, {"memory": 1, "spending": [], "errors": {}, "fences": 3}])
def test_a_daemon_of_another_version_breaks_nothing(well: Path, status: dict[str, object]) -> None:
    assert {"daemon", *checks.INNER_CHECKS} <= set(examined(status))


def test_the_exit_code_and_both_forms_agree(well: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 1
    findings = json.loads(capsys.readouterr().out)
    assert {"check", "verdict", "reason", "fix"} == set(findings[0])
    assert main(["doctor"]) == 1
    shown = capsys.readouterr().out
    assert all(finding["reason"] in shown and finding["fix"] in shown for finding in findings)
    with ScriptedDaemon(locations().socket, {"status": Result(STATUS)}):
        assert main(["doctor"]) == 0
