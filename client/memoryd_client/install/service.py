"""What the services of systemd and launchd have in common.

Rules:
- Only files with our mark are replaced or removed; a person's own file is never touched.
- Files are written whole or not at all.
- The variables that say where things are go from the installing shell to the service, or the two
  would use different paths. Keys do not: a unit file must not hold a secret.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from memoryd_client.connection.call import call
from memoryd_client.connection.failures import Failure, LocalFailure
from memoryd_client.connection.locations import Locations
from memoryd_client.install import units

# The first start compiles the daemon's modules, which takes a while under load.
START_SECONDS = 30.0
PLACE_VARIABLES = ("CLAUDE_CONFIG_DIR", "MEMORYD_SOCKET", "XDG_CONFIG_HOME", "XDG_STATE_HOME")


class Fence(NamedTuple):
    """One limit, tried from inside the unit: `up`, `down` or `untried`."""

    name: str
    verdict: str


class Report(NamedTuple):
    """What an installation or removal did."""

    written: Sequence[Path] = ()
    removed: Sequence[Path] = ()
    fences: Sequence[Fence] = ()
    notes: Sequence[str] = ()


def values_for(places: Locations, writable: Sequence[str]) -> units.Values:
    """The values of this user for the templates."""
    return units.Values(
        command=str(command_path()),
        socket=str(places.socket),
        claude=str(places.claude),
        state=str(places.state),
        logs=str(places.log.parent),
        writable=[str(Path(folder).expanduser().absolute()) for folder in writable],
        environment={name: os.environ[name] for name in PLACE_VARIABLES if os.environ.get(name)},
    )


def command_path() -> Path:
    """The full path of the `memoryd` that belongs to this interpreter."""
    beside = Path(sys.executable).with_name("memoryd")
    found = str(beside) if beside.exists() else shutil.which("memoryd")
    if found is None:
        raise LocalFailure(
            "the memoryd command was not found", "install memoryd with pip, pipx or uv first"
        )
    return Path(found).absolute()


def template(folder: str, name: str) -> Path:
    """A service template, in the checkout or where a wheel puts it."""
    here = Path(__file__).resolve()
    installed = [Path(sys.prefix), *here.parents[5:6]]
    roots = [here.parents[3], *(prefix / "share" / "memoryd" for prefix in installed)]
    for root in roots:
        if (root / folder / name).is_file():
            return root / folder / name
    raise LocalFailure(f"the template {folder}/{name} is missing", "install memoryd again")


def make_folders(places: Locations) -> None:
    """Creates the folders that the service may write to: they must exist before it starts."""
    for folder in (places.claude, places.state, places.log.parent):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def refuse_if_served_by_hand(*, service_is_active: bool) -> None:
    """Raises LocalFailure if a daemon outside the service holds the socket: there would be two."""
    try:
        answer = call("ping", timeout_seconds=2)
    except Failure:
        return
    if not service_is_active:
        raise LocalFailure(
            f"memoryd is already running outside the service, as process {answer.get('pid')}",
            "stop it first: memoryd stop",
        )


def check() -> str:
    """Calls the service's daemon; raises Failure if it does not answer."""
    answer = call("ping", timeout_seconds=START_SECONDS)
    return f"the daemon answered, version {answer.get('version')}, process {answer.get('pid')}"


def write_whole(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Replaces a file in one step: a reader never sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".memoryd-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
