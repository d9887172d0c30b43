"""Installing and uninstalling around a running daemon."""

import json
import signal
from pathlib import Path

import pytest

from memoryd_client.cli.main import main
from memoryd_client.install import footprint
from tests.client.test_install import THEIRS, tree
from tests.support.running import WAIT_SECONDS, Daemon


@pytest.mark.parametrize("is_used_already", [True, False])
def test_everything_but_memories_goes_with_yes_and_state(
    home: Path, monkeypatch: pytest.MonkeyPatch, is_used_already: bool
) -> None:
    monkeypatch.setenv("PATH", str(home / "no-programs"))  # nothing that keeps services
    if is_used_already:
        (home / ".claude/settings.json").write_text(THEIRS)
        (home / ".claude.json").write_text('{"numStartups": 3}')
    else:
        for folder in (".claude/projects", ".claude", ".local/state", ".local"):
            (home / folder).rmdir()
    before = tree(home)
    assert main(["install", "--yes"]) == 0
    assert (home / ".claude/settings.json").exists()
    daemon = Daemon(home).start()
    try:
        saved = Path(json.loads(daemon.run("remember", "hello", "--json").stdout)["path"])
        assert main(["uninstall", "--yes", "--state"]) == 0
        assert daemon.process is not None
        assert daemon.process.wait(WAIT_SECONDS) == 0
    finally:
        daemon.end()
    memories = saved.parent.relative_to(home)
    left = {name: held for name, held in tree(home).items() if name not in before}
    assert set(left) == {
        *(str(folder) for folder in memories.parents if str(folder) not in {".", *before}),
        str(memories),
        str(memories / saved.name),
        str(memories / "MEMORY.md"),
    }
    assert {name: tree(home)[name] for name in before} == before


def test_a_daemon_that_hangs_keeps_its_state(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(footprint, "STOP_SECONDS", 0.2)
    daemon = Daemon(home).start()
    try:
        assert daemon.process is not None
        daemon.process.send_signal(signal.SIGSTOP)
        assert main(["uninstall", "--state"]) == 1
    finally:
        daemon.end()
    assert f"kill -9 {daemon.process.pid}" in capsys.readouterr().err
    assert (home / ".local/state/memoryd/state.db").exists()
    assert main(["uninstall", "--state"]) == 0
    assert not (home / ".local/state/memoryd").exists()


def test_history_and_checkpoints_stay_unless_asked_for(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(home / "no-programs"))
    assert main(["install", "--hooks", "claude-code"]) == 0
    daemon = Daemon(home).start()
    try:
        daemon.run("remember", "hello")
        capsys.readouterr()
        assert main(["uninstall", "--yes"]) == 0
        shown = capsys.readouterr().out
    finally:
        daemon.end()
    assert "memoryd uninstall --state" in shown
    assert "memoryd stop" in shown
    assert (home / ".local/state/memoryd/state.db").exists()
    assert not (home / ".claude/settings.json").exists()
