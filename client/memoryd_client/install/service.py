"""Makes memoryd a service of this user, or undoes that; which system does it is decided here.

Rules:
- Only files that carry our own mark are replaced or removed; a person's file is never touched.
- Files are written whole or not at all.
- What the installing shell was told about places (variables) is told to the service too, or the two
  would talk past each other. Keys are not: a unit file is no place for a secret.
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

# A first start under load compiles the daemon's modules.
START_SECONDS = 30.0
PLACE_VARIABLES = ("CLAUDE_CONFIG_DIR", "MEMORYD_SOCKET", "XDG_CONFIG_HOME", "XDG_STATE_HOME")


class Fence(NamedTuple):
    """One thing that was tried from inside the unit: `up`, `down` or `untried`."""

    name: str
    verdict: str


class Report(NamedTuple):
    """What an installation or removal did."""

    written: Sequence[Path] = ()
    removed: Sequence[Path] = ()
    fences: Sequence[Fence] = ()
    notes: Sequence[str] = ()


def values_for(places: Locations, writable: Sequence[str]) -> units.Values:
    """What the templates need to know about this user."""
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
            "the memoryd command cannot be found", "install memoryd with pip, pipx or uv first"
        )
    return Path(found).absolute()


def template(folder: str, name: str) -> Path:
    """A service template, in the checkout that this code runs from or where a wheel puts it."""
    here = Path(__file__).resolve()
    installed = [Path(sys.prefix), *here.parents[5:6]]
    roots = [here.parents[3], *(prefix / "share" / "memoryd" for prefix in installed)]
    for root in roots:
        if (root / folder / name).is_file():
            return root / folder / name
    raise LocalFailure(f"the template {folder}/{name} is missing", "install memoryd again")


def make_folders(places: Locations) -> None:
    """The folders that a fenced service may write must be there before it starts."""
    for folder in (places.claude, places.state, places.log.parent):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def refuse_if_served_by_hand(*, service_is_active: bool) -> None:
    """A daemon outside the service holds the socket; taking that away would leave two of them."""
    try:
        answer = call("ping", timeout_seconds=2)
    except Failure:
        return
    if not service_is_active:
        raise LocalFailure(
            f"memoryd already runs outside the service, as process {answer.get('pid')}",
            "stop it first: memoryd stop",
        )


def trial() -> str:
    """What the daemon of the service says when it is asked; raises Failure when it does not."""
    answer = call("ping", timeout_seconds=START_SECONDS)
    return f"it answers, version {answer.get('version')}, process {answer.get('pid')}"


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file in one step, so that nobody ever reads half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".memoryd-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
