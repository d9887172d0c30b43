"""Disks that are full, broken, slow or read-only: nothing is torn, recall answers, work goes on."""

import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.ground import Ground, eventually, fill_up, small_disk
from tests.scenarios.test_extraction import TABS, Session, configure, states
from tests.security.tally import Tally
from tests.support.running import Daemon, Peer
from tests.support.scripted_model import Reply, ScriptedModel, SeenRequest, asks, says

KILOBYTES = 2048
RECOVERY_SECONDS = 60
CALLS = ("fsync", "fdatasync", "rename", "renameat2", "openat2", "write", "pwrite64", "ftruncate")
ERRORS = ("ENOSPC", "EIO", "EDQUOT", "EROFS")
POINTS_EACH = 3
NO_MOUNT = " (not tried: cannot mount here)"
NO_STRACE = " (not tried: strace is missing or may not attach)"


def a_full_memory_disk(folder: Path, share: float) -> Tally:
    """A save is refused in words, what was there stays, and it goes on once there is space."""
    name = "memory folder on a full disk"
    ground, wrong, tried = Ground(folder), list[str](), 0
    with small_disk(ground.memory, KILOBYTES) as is_mounted:
        if not is_mounted:
            return Tally(name + NO_MOUNT, 0, [])
        with ground.serving() as peer:
            kept = ground.save(peer, "kept")["result"]["path"]
            before = Path(kept).read_bytes()
            for number in range(max(1, round(20 * share))):
                tried += 1
                filling = fill_up(ground.memory)
                answer = ground.save(peer, f"refused {number}", "x" * 9000)
                if "No space left" not in str(answer.get("error")):
                    wrong.append(f"a save on a full disk: {str(answer)[:200]}")
                if ground.recalled(peer, "kept") != [Path(kept).name]:
                    wrong.append("recall does not answer")
                if Path(kept).read_bytes() != before:
                    wrong.append("what was there has changed")
                if ground.temporary_files():
                    wrong.append(f"left over: {ground.temporary_files()}")
                filling.unlink()
                if "error" in ground.save(peer, f"taken {number}"):
                    wrong.append("a save is refused although there is space again")
    return Tally(name, tried, wrong)


def a_turn_on_a_full_disk(folder: Path, share: float) -> Tally:
    """With a model: it is not asked again and again in vain, and the turn waits for space."""
    name = "extraction with a model on a full disk"
    wrong: list[str] = []
    with ScriptedModel(_tabs_once) as model:
        ground = Ground(folder, **_with(model))
        configure(ground.home, "")
        session = Session(ground.home)
        session.memory.parent.mkdir(parents=True, exist_ok=True)
        with small_disk(session.memory, KILOBYTES) as is_mounted:
            if not is_mounted:
                return Tally(name + NO_MOUNT, 0, [])
            with ground.serving() as peer:
                filling = fill_up(session.memory)
                turn = session.turn("Use tabs", "Fine.")
                eventually(lambda: len(model.requests) > 0, 10)
                eventually(lambda: states(ground.home).get(turn, ("",))[0] == "done", 10)
                asked = len(model.requests)
                if states(ground.home).get(turn, ("",))[0] == "done":
                    wrong.append("the turn counts as done, and nothing was written")
                if asked > 3:
                    wrong.append(f"{asked} requests whose result cannot be stored")
                if not peer.call("status"):
                    wrong.append("status does not answer")
                filling.unlink()
                if not eventually(lambda: "tabs" in _texts(session), RECOVERY_SECONDS * 2):
                    wrong.append(f"not written after there was space: {states(ground.home)}")
    return Tally(name, 1, wrong)


def _tabs_once(request: SeenRequest) -> Reply:
    return asks(TABS) if len(request.body["messages"]) == 1 else says("Done.")


def _texts(session: Session) -> str:
    return "".join(path.read_text() for path in session.memory.rglob("*.md"))


def _with(model: ScriptedModel) -> dict[str, str]:
    return {"ANTHROPIC_API_KEY": "made-up", "ANTHROPIC_BASE_URL": model.base_url}


def a_full_state_folder(folder: Path, share: float) -> Tally:
    """Recall needs no database to answer, with a model or without.

    The model may be asked all the same, where the last page of the database had room for its price:
    so it chooses what the index finds.
    """
    wrong, tried = list[str](), 0
    with ScriptedModel(lambda _: says('{"selected_memories": ["project_zero.md"]}')) as model:
        for env in ({}, _with(model)):
            ground = Ground(folder / f"{len(env)}", **env)
            ground.write("zero", "The heron stands at the pond.\n")
            with small_disk(ground.state, 1024) as is_mounted:
                if not is_mounted:
                    return Tally(f"state folder full{NO_MOUNT}", 0, [])
                with ground.serving() as peer:
                    ground.recalled(peer, "warm up")
                    fill_up(ground.state)
                    for _ in range(max(1, round(10 * share))):
                        tried += 1
                        wrong += _answers_without_state(ground, peer, f"s{tried}")
    return Tally("state folder full, with a model and without", tried, wrong)


def _answers_without_state(ground: Ground, peer: Peer, session_id: str) -> Iterator[str]:
    """In a session of its own: one that was given a memory is not given it again."""
    asked = {"hook_event_name": "UserPromptSubmit", "session_id": session_id, "cwd": ground.cwd}
    answer = peer.ask(
        "recall", query="where does the heron stand?", cwd=ground.cwd, session_id=session_id
    )
    if not answer.get("result", {}).get("memories"):
        yield f"recall: {str(answer)[:200]}"
    for method, more in (
        ("status", {}),
        ("memory/list", {"cwd": ground.cwd}),
        ("hook", asked | {"prompt": "where does the heron stand?"}),
    ):
        answer = peer.ask(method, **more)
        if "error" in answer:
            yield f"{method}: {str(answer)[:200]}"


def a_read_only_home(folder: Path, share: float) -> Tally:
    """The start says how to go on, and going on so works."""
    ground, wrong = Ground(folder), list[str]()
    ground.write("zero", "The heron stands at the pond.\n")
    with small_disk(ground.state.parent, 64) as is_mounted:
        if not is_mounted:
            return Tally(f"read-only home at the start{NO_MOUNT}", 0, [])
        where = str(ground.state.parent)
        subprocess.run(["mount", "-o", "remount,ro", where], check=True)
        words = ground.daemon.fails_to_start()
        if "XDG_STATE_HOME" not in words or "Traceback" in words:
            wrong.append(f"it does not say how to go on: {words[-300:]}")
        other = folder / "elsewhere"
        other.mkdir(mode=0o700)
        ground.daemon = Daemon(ground.home, XDG_STATE_HOME=str(other))
        with ground.serving() as peer:
            if not ground.recalled(peer, "heron"):
                wrong.append("with XDG_STATE_HOME elsewhere recall finds nothing")
    with small_disk(ground.memory, KILOBYTES):
        ground.write("zero", "The heron stands at the pond.\n")
        subprocess.run(["mount", "-o", "remount,ro", str(ground.memory)], check=True)
        with ground.serving() as peer:
            if not ground.recalled(peer, "heron"):
                wrong.append("recall of read-only memories finds nothing")
            if "Read-only" not in str(ground.save(peer, "refused").get("error")):
                wrong.append("a save into a read-only folder does not say why it fails")
    return Tally("read-only home at the start", 2, wrong)


@contextmanager
def traced(ground: Ground, *options: str) -> Iterator[bool]:
    """Strace is attached to the daemon inside; False where it may not be."""
    if shutil.which("strace") is None:
        yield False
        return
    command = ["strace", "-f", "-o", "/dev/null", *options, "-p", str(ground.pid)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
        assert tracer.stderr is not None
        is_attached = "attached" in tracer.stderr.readline()
        try:
            yield is_attached
        finally:
            tracer.send_signal(signal.SIGINT)


def a_call_that_fails(folder: Path, share: float) -> Tally:
    """The n-th call of the daemon fails: old or new content, an error in words, still alive."""
    name = "ENOSPC, EIO, EDQUOT, EROFS at the n-th call of a save"
    ground, wrong, tried = Ground(folder), list[str](), 0
    points = [(c, e, n) for c in CALLS for e in ERRORS for n in range(1, POINTS_EACH + 1)]
    every = max(1, round(1 / share))
    with ground.serving() as peer:
        path = Path(ground.save(peer, "kept", "old " * 500)["result"]["path"])
        for number, (call, error, at) in enumerate(points[::every]):
            tried += 1
            before = path.read_bytes()
            inject = f"inject={call}:error={error}:when={at}"
            with traced(ground, "-e", f"trace={call}", "-e", inject) as is_attached:
                if not is_attached:
                    return Tally(name + NO_STRACE, 0, [])
                new = f"new{number} " * 500
                answer = _edit(ground, peer, path, _changed(before, new))
            wrong += (f"{call} {error} {at}: {w}" for w in _torn(ground, path, before, new, answer))
            if "error" in ground.save(peer, f"after {number}"):
                wrong.append(f"{call} {error} {at}: the next save fails")
            if not ground.is_alive:
                return Tally(name, tried, [*wrong, f"{call} {error} {at}: the daemon died"])
    return Tally(name, tried, wrong)


def _edit(ground: Ground, peer: Peer, path: Path, content: str) -> object:
    place = {"cwd": ground.cwd, "path": str(path)}
    got = peer.ask("memory/get", **place)
    if "result" not in got:  # reading failed, which is a fault of the disk like any other
        return got
    return peer.ask("memory/edit", **place, content=content, version=got["result"]["version"])


def _changed(before: bytes, new: str) -> str:
    head = before.decode().split("\n---\n")[0]
    return f"{head}\n---\n\n{new}\n"


def _torn(ground: Ground, path: Path, before: bytes, new: str, answer: object) -> Iterator[str]:
    found = path.read_bytes() if path.exists() else b""
    is_new = new.strip().encode() in found
    if found != before and not is_new:
        yield f"torn: {found[:80]!r}"
    if isinstance(answer, dict) and "result" in answer and not is_new:
        yield "acknowledged and not there"
    if not isinstance(answer, dict):
        yield f"no answer: {answer}"
    elif "error" in answer and re.search(r"Traceback|internal", str(answer)):
        yield f"not in words: {str(answer)[:200]}"
    if ground.temporary_files():
        yield f"left over: {ground.temporary_files()}"


def a_slow_disk(folder: Path, share: float) -> Tally:
    """While every fsync takes two seconds, recall does not wait for it."""
    name = "recall while each fsync takes two seconds"
    ground, wrong, tried = Ground(folder), list[str](), 0
    ground.write("zero", "The heron stands at the pond.\n")
    with ground.serving() as peer:
        ground.recalled(peer, "heron")
        delay = "inject=fsync,fdatasync:delay_enter=2000000"
        with traced(ground, "-e", "trace=fsync,fdatasync", "-e", delay) as is_attached:
            if not is_attached:
                return Tally(name + NO_STRACE, 0, [])
            for number in range(max(1, round(5 * share))):
                is_saved = threading.Event()
                saver = threading.Thread(target=_save_and_tell, args=(ground, number, is_saved))
                saver.start()
                time.sleep(0.3)
                for _ in range(20):
                    tried += 1
                    if not ground.recalled(peer, "heron"):
                        wrong.append("recall finds nothing")
                if is_saved.is_set():
                    wrong.append("twenty recalls took as long as a save with its slow syncs")
                saver.join()
    return Tally(name, tried, wrong)


def _save_and_tell(ground: Ground, number: int, is_saved: threading.Event) -> None:
    with ground.daemon.peer() as peer:
        ground.save(peer, f"slow {number}")
    is_saved.set()


CHECKS = (
    a_full_memory_disk,
    a_turn_on_a_full_disk,
    a_full_state_folder,
    a_read_only_home,
    a_call_that_fails,
    a_slow_disk,
)
