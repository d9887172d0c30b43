"""What memoryd leaves on a machine besides memories, and how that goes again.

Rules:
- Installing writes down which folders it had to make. When everything else of ours is gone, those
  of them that are empty go too, so that a home is as it was.
- The state goes only after the daemon: one that still writes would make it again.
"""

import fcntl
import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from memoryd_client.connection.call import call
from memoryd_client.connection.failures import Failure, LocalFailure
from memoryd_client.connection.locations import Locations
from memoryd_client.doctor import hints
from memoryd_client.install.service import Report

RECORD = "made-by-install"
END_SECONDS = 20.0
LOOK_SECONDS = 0.05


def missing_folders(places: Locations) -> list[Path]:
    """The folders that installing may have to make, outermost first."""
    wanted = (places.claude, places.service.parent, places.state, places.log.parent)
    everything = {folder for one in wanted for folder in (one, *one.parents)}
    return sorted(folder for folder in everything if not folder.exists())


def record(places: Locations, missing: Iterable[Path]) -> None:
    """Writes down those folders that were missing and are there now."""
    folders = list(missing)
    if not any(folder.is_dir() for folder in folders):
        return
    places.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = {str(folder) for folder in folders if folder.is_dir()}
    lines = sorted(made.union(recorded(places)))
    (places.state / RECORD).touch(mode=0o600)
    (places.state / RECORD).write_text("\n".join(lines) + "\n", "utf-8", "surrogateescape")


def recorded(places: Locations) -> Sequence[str]:
    try:
        return (places.state / RECORD).read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ()


def tidy(places: Locations) -> None:
    """Removes the folders that installing made; for when nothing of ours is left in them."""
    folders = recorded(places)
    (places.state / RECORD).unlink(missing_ok=True)
    for folder in sorted(folders, reverse=True):
        remove_if_empty(Path(folder))


def remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:  # somebody uses it, or it is gone
        return


def has_state(places: Locations) -> bool:
    return places.state.exists() and any(path.name != RECORD for path in places.state.iterdir())


def remove_state(places: Locations) -> Report:
    """Ends the daemon and removes what it keeps for itself; memories are not in there."""
    if places.service.exists():
        raise LocalFailure("the service still needs it", "first: memoryd uninstall --service")
    notes = ["the daemon was stopped"] if end_daemon(places) else []
    folders = [folder for folder in (places.state, places.log.parent) if folder.exists()]
    for folder in dict.fromkeys(folders):
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name != RECORD:
                path.unlink()
        remove_if_empty(folder)
    return Report(removed=folders[:1], notes=notes)


def end_daemon(places: Locations) -> bool:
    """Whether there was a daemon; it is gone when this returns."""
    if not is_running(places):
        return False
    stuck = LocalFailure("the daemon does not end", hints.end_it(places))
    try:
        call("shutdown", timeout_seconds=END_SECONDS)
    except Failure as failure:
        raise stuck from failure
    deadline = time.monotonic() + END_SECONDS
    while is_running(places):
        if time.monotonic() > deadline:
            raise stuck
        time.sleep(LOOK_SECONDS)
    return True


def is_running(places: Locations) -> bool:
    """Whether a process holds the daemon's lock, the last thing that it lets go of."""
    try:
        with (places.state / "memoryd.lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
