"""What memoryd leaves on a machine besides memories, and how to remove it.

Rules:
- Installing records which folders it created. When everything else of ours is gone, the empty ones
  among them are removed, so the home is as it was.
- The state is removed only after the daemon has stopped: a running one would create it again.
"""

import fcntl
import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from memoryd_client.connection.call import call
from memoryd_client.connection.failures import Failure, LocalFailure
from memoryd_client.connection.locations import Locations
from memoryd_client.doctor import fixes
from memoryd_client.install.service import Report

RECORD = "made-by-install"
MARKS = (".memoryd-root", ".memoryd-identity")  # beside the memories
STOP_SECONDS = 20.0
POLL_SECONDS = 0.05


def missing_folders(places: Locations) -> list[Path]:
    """The folders that installing may have to create, outermost first."""
    homes = (places.claude, places.service.parent, places.state, places.log.parent)
    wanted = (*homes, places.launcher.parent)
    everything = {folder for one in wanted for folder in (one, *one.parents)}
    return sorted(folder for folder in everything if not folder.exists())


def record(places: Locations, missing: Iterable[Path]) -> None:
    """Records the folders that were missing and exist now."""
    folders = list(missing)
    if not any(folder.is_dir() for folder in folders):
        return
    places.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    created = {str(folder) for folder in folders if folder.is_dir()}
    lines = sorted(created.union(recorded(places)))
    (places.state / RECORD).touch(mode=0o600)
    (places.state / RECORD).write_text("\n".join(lines) + "\n", "utf-8", "surrogateescape")


def recorded(places: Locations) -> Sequence[str]:
    try:
        return (places.state / RECORD).read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ()


def tidy(places: Locations) -> None:
    """Removes the folders that installing created, where they are empty."""
    folders = recorded(places)
    (places.state / RECORD).unlink(missing_ok=True)
    for folder in sorted(folders, reverse=True):
        remove_if_empty(Path(folder))


def remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:  # in use, or already gone
        return


def has_state(places: Locations) -> bool:
    return places.state.exists() and any(path.name != RECORD for path in places.state.iterdir())


def remove_state(places: Locations) -> Report:
    """Stops the daemon and removes its state and its marks; memories are not part of it."""
    if places.service.exists():
        raise LocalFailure(
            "the service still needs the state", "first: memoryd uninstall --service"
        )
    notes = ["the daemon was stopped"] if stop_daemon(places) else []
    folders = [folder for folder in (places.state, places.log.parent) if folder.exists()]
    for folder in dict.fromkeys(folders):
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name != RECORD:
                path.unlink()
        remove_if_empty(folder)
    for name in MARKS:
        for mark in places.claude.glob(f"projects/*/memory/{name}"):
            mark.unlink(missing_ok=True)
    return Report(removed=folders[:1], notes=notes)


def stop_daemon(places: Locations) -> bool:
    """Stops the daemon and waits for its end; whether there was one."""
    if not is_running(places):
        return False
    stuck = LocalFailure("the daemon does not stop", fixes.kill(places))
    try:
        call("shutdown", timeout_seconds=STOP_SECONDS)
    except Failure as failure:
        raise stuck from failure
    deadline = time.monotonic() + STOP_SECONDS
    while is_running(places):
        if time.monotonic() > deadline:
            raise stuck
        time.sleep(POLL_SECONDS)
    return True


def how_it_is_learned(places: Locations) -> str:
    """How a change of the settings takes effect."""
    if is_running(places):
        return f"the daemon reads it at its next start: {fixes.restart(places)}"
    return "no daemon is running; the next one reads it: memoryd serve"


def is_running(places: Locations) -> bool:
    """Whether a process holds the daemon's lock, which it releases last."""
    try:
        with (places.state / "memoryd.lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
