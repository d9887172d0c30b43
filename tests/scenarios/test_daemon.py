"""Start and stop of the daemon: one per user, its own socket, a clean end."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memoryd.daemon.instance import is_answered
from tests.support.running import COMMAND, ROOT, WAIT_SECONDS, Daemon, give_way, notifications
from tests.support.session_script import SessionScript
from tests.support.tail_fixtures import FOLDER, write
from tests.support.thinning import diagonal, hardest, thinned


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_cleanly_and_its_socket_goes(daemon: Daemon, number: int) -> None:
    daemon.start()
    assert daemon.stop(number) == 0
    assert not Path(daemon.socket).exists()
    assert daemon.lines()[-1]["event"] == "stopped"


def test_shutdown_is_answered_before_it_happens(daemon: Daemon) -> None:
    daemon.start()
    assert daemon.process is not None
    with daemon.peer() as peer:
        assert peer.call("shutdown") == {"stopping": True}
        assert peer.receive() is None or peer.receive() is None
    assert daemon.process.wait(WAIT_SECONDS) == 0
    assert not Path(daemon.socket).exists()


def test_subscribers_get_an_event_before_it_stops(daemon: Daemon) -> None:
    daemon.start()
    with daemon.peer() as one, daemon.peer("headers") as other:
        for peer in (one, other):
            peer.call("events/subscribe", kinds=["daemon/stopping"])
        assert daemon.stop() == 0
        assert one.next_event()["kind"] == "daemon/stopping"
        assert other.next_event()["kind"] == "daemon/stopping"


def test_an_idle_client_does_not_hold_up_the_end(daemon: Daemon) -> None:
    daemon.start()
    with daemon.peer() as idle:
        idle.socket.sendall(b'{"half')
        assert daemon.stop() == 0


def test_a_second_daemon_is_refused_and_the_first_lives_on(daemon: Daemon, home: Path) -> None:
    daemon.start()
    words = Daemon(home).fails_to_start()
    assert "is already running" in words
    assert "memoryd status" in words
    with daemon.peer() as peer:
        assert peer.call("ping")


def test_a_live_daemon_of_another_state_folder_is_not_replaced(
    daemon: Daemon, home: Path, tmp_path: Path
) -> None:
    daemon.start()
    other = Daemon(home, XDG_STATE_HOME=str(tmp_path / "other"))
    assert "another memoryd is listening" in other.fails_to_start()
    with daemon.peer() as peer:
        assert peer.call("ping")


def test_after_a_kill_the_dead_socket_is_replaced(daemon: Daemon) -> None:
    daemon.start()
    daemon.stop(signal.SIGKILL)
    assert Path(daemon.socket).exists()
    daemon.start()
    with daemon.peer() as peer:
        assert peer.call("ping")


def plant_file(path: Path) -> None:
    path.write_text("mine")


def plant_link(path: Path) -> None:
    path.symlink_to("/dev/null")


def plant_folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("plant", [plant_file, plant_link, plant_folder])
def test_something_else_at_the_socket_path_is_refused_and_left_alone(
    daemon: Daemon, plant: object
) -> None:
    path = Path(daemon.socket)
    assert callable(plant)
    plant(path)
    before = path.lstat()
    words = daemon.fails_to_start()
    assert str(path) in words
    assert f"rm {path}" in words
    assert path.lstat().st_ino == before.st_ino


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make another user's files")
def test_a_socket_or_folder_of_another_user_is_refused(daemon: Daemon) -> None:
    path = Path(daemon.socket)
    with socket.socket(socket.AF_UNIX) as foreign:
        foreign.bind(str(path))
    os.chown(path, 1234, 1234)
    assert "another user" in daemon.fails_to_start()
    path.unlink()
    os.chown(path.parent, 1234, 1234)
    assert "another user" in daemon.fails_to_start()


@pytest.mark.parametrize("mode", hardest([0o777, 0o770, 0o720]))
def test_a_folder_that_others_can_write_is_refused(daemon: Daemon, mode: int) -> None:
    folder = Path(daemon.socket).parent
    folder.chmod(mode)
    words = daemon.fails_to_start()
    assert "is writable by other users" in words
    assert f"chmod 700 {folder}" in words
    folder.chmod(0o700)


def test_its_files_are_private_under_any_umask(daemon: Daemon, home: Path) -> None:
    before = os.umask(0)
    try:
        daemon.start()
    finally:
        os.umask(before)
    with daemon.peer() as peer:
        new = {"name": "N", "description": "d", "type": "user", "body": "b"}
        peer.call("memory/save", cwd=str(home / "p"), **new)
    made = [Path(daemon.socket), *(home / ".local/state/memoryd").rglob("*")]
    made += list((home / ".claude/projects").rglob("*"))
    assert len(made) > 5
    for path in made:
        mode = stat.S_IMODE(path.lstat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_it_serves_the_socket_that_systemd_hands_over(daemon: Daemon, home: Path) -> None:
    path = home / "run/activated.sock"
    with socket.socket(socket.AF_UNIX) as listening, notifications(home) as notify:
        listening.bind(str(path))
        listening.listen(16)
        program = (
            "import os, sys; os.dup2(int(sys.argv[1]), 3); os.set_inheritable(3, True)\n"
            "os.environ['LISTEN_PID'] = str(os.getpid()); os.environ['LISTEN_FDS'] = '1'\n"
            "os.execv(sys.argv[2], sys.argv[2:])"
        )
        daemon.process = subprocess.Popen(
            [sys.executable, "-c", program, str(listening.fileno()), *COMMAND, "serve"],
            env=daemon.env
            | {"NOTIFY_SOCKET": str(notify.getsockname()), "WATCHDOG_USEC": "300000"},
            pass_fds=[listening.fileno()],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        daemon.socket = str(path)
        with daemon.peer() as peer:  # the connection waits in the backlog until it is up
            assert peer.call("ping")
        told = {notify.recv(4096).split(b"\n")[0] for _ in range(3)}
        assert told == {b"READY=1", b"WATCHDOG=1"}
        assert daemon.stop() == 0
        assert path.exists()  # it belongs to systemd


def test_a_typo_in_the_settings_is_named_with_the_right_word(daemon: Daemon, home: Path) -> None:
    folder = home / ".config/memoryd"
    folder.mkdir()
    (folder / "config.toml").write_text("[extraction]\nevery_turn = 2\n")
    daemon.start()
    with daemon.peer() as peer:
        (problem,) = peer.call("ping")["problems"]
        (error,) = peer.call("status")["errors"]
    assert "extraction.every_turn " in problem
    assert "extraction.every_turns" in problem
    assert error.startswith(problem)
    done = daemon.run("list")
    assert done.returncode == 0
    assert problem in done.stderr


def plant_fifo(path: Path) -> None:
    os.mkfifo(path)


def plant_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


IRREGULAR = [plant_fifo, plant_device, plant_folder]


@pytest.mark.parametrize(
    ("name", "plant"), diagonal([".config/memoryd/config.toml", "key"], IRREGULAR)
)
def test_settings_or_a_key_that_are_not_a_regular_file_are_named(
    daemon: Daemon, home: Path, name: str, plant: Callable[[Path], None]
) -> None:
    settings = home / ".config/memoryd/config.toml"
    settings.parent.mkdir()
    if name == "key":
        settings.write_text("[model]\nkey_file = '~/key'\n")
    plant(home / name)
    daemon.start()
    with daemon.peer() as peer:
        words = str(peer.call("ping")["problems"])
    assert "it is not a regular file" in words
    assert (str(settings) if name != "key" else "model.key_file ~/key") in words
    assert "fix the file" in words


@pytest.mark.parametrize(
    ("name", "plant"), diagonal(["memoryd.log", "memoryd.lock", "state.db"], IRREGULAR)
)
def test_a_log_lock_or_database_that_is_not_a_regular_file_is_refused(
    daemon: Daemon, home: Path, name: str, plant: Callable[[Path], None]
) -> None:
    path = home / ".local/state/memoryd" / name
    path.parent.mkdir(mode=0o700)
    plant(path)
    words = daemon.fails_to_start()
    assert str(path) in words
    assert f"mv {path}" in words


@pytest.mark.parametrize("plant", thinned(IRREGULAR))
def test_entries_of_the_agent_that_are_not_regular_files_block_nothing(
    daemon: Daemon, home: Path, plant: Callable[[Path], None]
) -> None:
    script = SessionScript("one", str(home))
    script.turn("Use tabs", "Fine.")
    write(home, script)
    for name in ("settings.json", "session-memory/config/template.md", "sessions/7.json"):
        path = home / ".claude" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        plant(path)
    summary = home / ".claude/projects" / FOLDER / "one/session-memory/summary.md"
    summary.parent.mkdir(parents=True)
    plant(summary)
    daemon.start()
    with daemon.peer() as peer:
        assert peer.call("status", cwd=str(home))["memory"]["enabled"]
        assert "Use tabs" in peer.call("session/notes", session_id="one")["text"]
        assert peer.call("dream/status", cwd=str(home))
        hook = {"hook_event_name": "SessionStart", "session_id": "two", "cwd": str(home)}
        assert "stdout" in peer.call("hook", **hook)
    assert daemon.stop() == 0


def test_a_damaged_database_is_moved_away_and_reported(daemon: Daemon, home: Path) -> None:
    folder = home / ".local/state/memoryd"
    folder.mkdir(mode=0o700)
    (folder / "state.db").write_bytes(b"not a database" * 400)
    daemon.start()
    with daemon.peer() as peer:
        assert "state.db was damaged" in peer.call("status")["errors"][0]
    assert len(list(folder.glob("state.db.damaged-*"))) == 1


def test_the_log_holds_no_secret_and_no_memory_text(daemon: Daemon, home: Path) -> None:
    daemon.start()
    token = "ghp_" + "x9Y8" * 9
    with daemon.peer() as peer:
        new = {"description": "d", "type": "user", "body": "Zebra crossing."}
        peer.call("memory/save", cwd=str(home), name=token, **new)
        peer.ask("memory/get", cwd=str(home / token), path=token)
        peer.ask(f"no/{token}")
    daemon.stop()
    text = daemon.log.read_text()
    assert token not in text
    assert "Zebra" not in text
    assert all(json.loads(line)["event"] for line in text.splitlines())


def test_each_change_that_is_asked_for_leaves_one_line(daemon: Daemon, home: Path) -> None:
    daemon.start()
    cwd = str(home)
    with daemon.peer() as peer:
        new = {"name": "Tabs", "description": "d", "type": "user", "body": "Zebra crossing."}
        saved = peer.call("memory/save", cwd=cwd, **new)
        gone = peer.call("memory/forget", cwd=cwd, path=saved["path"])
        back = peer.call("memory/restore", cwd=cwd, path=saved["path"])
        peer.ask("memory/forget", cwd=cwd, path="nothing-of-the-kind")
        peer.call("switch", cwd=cwd, enabled=False)
    daemon.stop()
    lines = [line for line in daemon.lines() if line["event"].startswith("memory-")]
    told = [(line["event"], line["path"], line["cause"], line["scope"]) for line in lines[:3]]
    assert told == [
        ("memory-saved", saved["path"], "user", "project"),
        ("memory-forgotten", gone["path"], "user", "project"),
        ("memory-saved", back["path"], "restore", "project"),
    ]
    refused, switched = lines[3:]
    assert (refused["event"], refused["action"]) == ("memory-write-failed", "forget")
    assert refused["reason"] == "not-found"
    assert (switched["project"], switched["enabled"]) == (cwd, False)
    assert "Zebra" not in daemon.log.read_text()


def test_the_log_is_rotated_by_size(daemon: Daemon, home: Path) -> None:
    folder = home / ".config/memoryd"
    folder.mkdir()
    (folder / "config.toml").write_text(
        "[log]\nlevel = 'debug'\nmax_bytes = 65536\nkeep_files = 2\n"
    )
    daemon.start()
    with daemon.peer() as peer:
        peer.send([{"jsonrpc": "2.0", "id": 1, "method": "ping"}] * 2000)
        assert peer.receive()
    daemon.stop()
    files = sorted(daemon.log.parent.glob("memoryd.log*"))
    assert [path.name for path in files] == ["memoryd.log", "memoryd.log.1", "memoryd.log.2"]
    assert all(path.stat().st_size <= 65536 for path in files)


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("main", ("memoryd.daemon.build", "memoryd.memories.store", "numpy", "watchfiles")),
        ("build", ("anthropic", "pydantic", "httpx2", "onnxruntime", "yaml", "pathspec")),
    ],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(module: str, heavy: tuple[str, ...]) -> None:
    program = (
        f"import sys; sys.path[:0] = sys.argv[1:]; import memoryd.daemon.{module}\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(ROOT), str(ROOT / "client")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"


def test_who_comes_before_the_daemon_is_ready_is_not_refused(daemon: Daemon) -> None:
    daemon.start()
    daemon.stop()
    daemon.process = subprocess.Popen(
        daemon.serve_command, env=daemon.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + WAIT_SECONDS
    while not is_answered(daemon.socket):
        assert time.monotonic() < deadline
        give_way()
    with daemon.peer() as peer:
        assert peer.call("ping")["pid"] == daemon.process.pid
        assert peer.call("memory/list", cwd=str(daemon.home)) == {"memories": []}
    assert daemon.stop() == 0


def test_a_list_is_whole_unless_a_page_is_asked_for(daemon: Daemon) -> None:
    daemon.start()
    cwd = str(daemon.home)
    new = {"description": "d", "type": "user", "body": "Yes.\n", "scope": "project"}
    with daemon.peer() as peer:
        for number in range(5):
            peer.call("memory/save", cwd=cwd, name=f"Memory {number}", **new)
        whole = peer.call("memory/list", cwd=cwd)
        assert len(whole["memories"]) == 5
        assert "total" not in whole
        paths = [one["path"] for one in whole["memories"]]
        pages = [
            peer.call("memory/list", cwd=cwd, limit=2, after=after)
            for after in ("", paths[1], paths[3], paths[4])
        ]
        assert [page["total"] for page in pages] == [5, 5, 5, 5]
        assert [one for page in pages for one in page["memories"]] == whole["memories"]
        rest = peer.call("memory/list", cwd=cwd, after=paths[1])
        assert rest["memories"] == whole["memories"][2:]
        peer.call("memory/forget", cwd=cwd, path=paths[1])
        lost = peer.ask("memory/list", cwd=cwd, limit=2, after=paths[1])["error"]
        assert lost["data"]["hint"] == "start again with the first page, without after"
        assert peer.ask("memory/list", cwd=cwd, limit=0)["error"]["code"] == -32602
    done = daemon.run("list", "--limit", "2", "--project", cwd)
    assert done.stdout.splitlines()[-1] == "... and 2 more"
    assert daemon.run("list", "--limit", "0").returncode != 0
