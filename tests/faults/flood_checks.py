"""Too much at once: files behind a frozen daemon, clients, starts, hostile lines."""

import os
import random
import signal
import socket
import subprocess
from contextlib import ExitStack
from pathlib import Path

from memoryd.base.errors import AlreadyRunning
from memoryd.daemon.instance import InstanceLock
from tests.faults.ground import Ground, eventually
from tests.scenarios.test_handles import PoorDaemon
from tests.security.tally import Tally
from tests.support.running import WAIT_SECONDS, Daemon
from tests.support.session_script import SessionScript
from tests.support.tail_fixtures import append, projects, session, write

FROZEN_FILES = 20_001
ROUNDS, STARTS = 60, 20
DAEMON_ROUNDS = 6


def files_behind_a_frozen_daemon(folder: Path, share: float) -> Tally:
    """More than the system's queue of events holds: all are found, by the next sweep."""
    ground, files = Ground(folder), max(6_000, round(FROZEN_FILES * share))
    settings = ground.home / ".config/memoryd/config.toml"
    settings.parent.mkdir()
    settings.write_text("[extraction]\nevery_turns = 1000\n")
    with ground.serving() as peer:
        peer.call("events/subscribe", kinds=["transcript/turn"])
        os.kill(ground.pid, signal.SIGSTOP)
        for number in range(files):
            write(ground.home, session(f"s{number}", "hello"), f"-p-{number % 50}")
        os.kill(ground.pid, signal.SIGCONT)
        peer.socket.settimeout(WAIT_SECONDS * 3)
        found: list[str] = []
        try:
            while len(set(found)) < files:
                found.append(str(peer.next_event()["session_id"]))
        except OSError:
            pass
    lost = files - len(set(found))
    wrong = [f"{lost} files were not found"] if lost else []
    wrong += [f"{len(found) - len(set(found))} turns came twice"] * (len(found) > len(set(found)))
    return Tally("transcripts made behind a frozen daemon", files, wrong)


def clients_without_handles(folder: Path, share: float) -> Tally:
    """64 handles and 100 clients: some are refused, none ends the daemon, nothing is lost."""
    ground, wrong, tried = Ground(folder), list[str](), 0
    ground.daemon = PoorDaemon(ground.home)
    with ground.serving() as peer:
        for number in range(max(1, round(10 * share))):
            with ExitStack() as stack:
                for _ in range(100):
                    tried += 1
                    one = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
                    one.settimeout(WAIT_SECONDS)
                    one.connect(ground.daemon.socket)
                if "error" in ground.save(peer, f"in a crowd {number}"):
                    wrong.append("a save fails while others wait")
                if b"too many clients" not in one.recv(1000):
                    wrong.append("the last one is not told why")
            if not ground.is_alive:
                return Tally("100 clients, 64 file handles", tried, [*wrong, "the daemon died"])
        if not eventually(lambda: _is_served(ground)):
            wrong.append("nobody is served after the crowd has gone")
    return Tally("100 clients, 64 file handles", tried, wrong)


def _is_served(ground: Ground) -> bool:
    try:
        with ground.daemon.peer() as peer:
            return bool(peer.ask("ping").get("result"))
    except (OSError, AttributeError, ValueError):
        return False


def many_starts_at_once(folder: Path, share: float) -> Tally:
    """Over a stale lock file with a pid in it: one wins, every time."""
    wrong: list[str] = []
    state = folder / "state"
    state.mkdir(mode=0o700)
    rounds = max(2, round(ROUNDS * share))
    for number in range(rounds):
        (state / "memoryd.lock").write_text("1\n")
        winners = _winners(state)
        if winners != 1:
            wrong.append(f"round {number}: {winners} hold the lock")
    daemon_rounds = max(1, round(DAEMON_ROUNDS * share))
    for number in range(daemon_rounds):
        ground = Ground(folder / f"d{number}")
        ground.state.mkdir(mode=0o700)
        (ground.state / "memoryd.lock").write_text("1\n")
        alive = _daemons_alive(ground)
        if alive != 1:
            wrong.append(f"{alive} daemons serve one home")
    return Tally(f"{STARTS} starts at once", (rounds + daemon_rounds) * STARTS, wrong)


def _winners(state: Path) -> int:
    """How many of so many processes get the lock, while all of them live."""
    begin, report, end = os.pipe(), os.pipe(), os.pipe()
    children = []
    for _ in range(STARTS):
        child = os.fork()
        if child == 0:
            try:
                os.close(begin[1])
                os.close(end[1])
                os.read(begin[0], 1)  # all go when the pipe is closed
                try:
                    InstanceLock.take(str(state))
                    os.write(report[1], b"1")
                except AlreadyRunning:
                    os.write(report[1], b"0")
                os.read(end[0], 1)
            finally:
                os._exit(0)
        children.append(child)
    os.close(begin[1])
    told = b""
    while len(told) < STARTS:
        told += os.read(report[0], STARTS)
    os.close(end[1])
    for child in children:
        os.waitpid(child, 0)
    for handle in (begin[0], end[0], *report):
        os.close(handle)
    return told.count(b"1")


def _daemons_alive(ground: Ground) -> int:
    """How many of so many real daemons are left once one of them answers."""
    started = [
        subprocess.Popen(
            Daemon.serve_command,
            env=ground.daemon.env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(STARTS)
    ]
    try:
        eventually(lambda: sum(one.poll() is None for one in started) <= 1)
        eventually(lambda: _is_served(ground), 30)
        return sum(one.poll() is None for one in started)
    finally:
        for one in started:
            one.kill()
            one.wait()


def hostile_lines(folder: Path, share: float) -> Tally:
    """Lines of 22 kinds between good ones, in any order: each good turn is found, once."""
    ground, wrong = Ground(folder), list[str]()
    settings = ground.home / ".config/memoryd/config.toml"
    settings.parent.mkdir()
    settings.write_text("[extraction]\nevery_turns = 1000\n")
    dice, turns = random.Random(16), max(10, round(220 * share))
    script = SessionScript("hostile", ground.cwd)
    path = projects(ground.home) / "-app" / "hostile.jsonl"
    path.parent.mkdir()
    with ground.serving() as peer:
        peer.call("events/subscribe", kinds=["transcript/turn"])
        path.write_bytes(b"")
        wanted = []
        for number in range(turns):
            seen = len(script.data)
            wanted.append(script.turn(f"question {number}", "answer"))
            script.system("turn_duration")
            line = HOSTILE[number % len(HOSTILE)] if number % 3 else dice.choice(HOSTILE)
            append(path, line + b"\n" + script.data[seen:])
        found: list[str] = []
        try:
            while not set(wanted) <= set(found):
                found.append(str(peer.next_event()["turn_id"]))
        except OSError:
            wrong.append(f"{len(set(wanted) - set(found))} turns were not found")
        if len(found) != len(set(found)):
            wrong.append("a turn came twice")
        if not ground.is_alive:
            wrong.append("the daemon died")
    return Tally("hostile lines between good ones", turns, wrong)


HOSTILE: tuple[bytes, ...] = (
    b"",
    b"\x00" * 100,
    b"\xff\xfe\xfd",
    b"{",
    b"[]",
    b"null",
    b'"text"',
    b"1e999",
    b"NaN",
    b"\xef\xbb\xbf{}",
    b'{"type": "user"}',
    b'{"type": "user", "message": null}',
    b'{"type": "user", "message": {"content": 7}}',
    b'{"type": 7, "uuid": []}',
    b'{"type": "user", "uuid": "\\ud800", "message": {"content": "\\ud800"}}',
    b'{"type": "assistant", "message": {"content": [{"type": "tool_use"}]}}',
    b'{"type": "user", "timestamp": "yesterday", "message": {"content": "x"}}',
    b'{"a": ' * 50_000,
    b"[" * 100_000,
    b'{"type": "user", "message": {"content": "' + b"x" * 3_000_000,
    b'{"type": "user", "type": "assistant", "uuid": "a", "uuid": "b"}',
    b'{"parentUuid": "self", "uuid": "self", "type": "user", "message": {"content": "loop"}}',
)

CHECKS = (
    files_behind_a_frozen_daemon,
    clients_without_handles,
    many_starts_at_once,
    hostile_lines,
)
