"""The only module that imports the daemon's package; the rest is standard library only."""

import os
import shutil
import sys

from memoryd_client.connection.failures import LocalFailure
from memoryd_client.version import __version__

INSTALL_AGAIN = "install memoryd again, with pip, pipx or uv"


def run() -> int:
    """Runs the daemon until it is stopped; returns its exit code."""
    try:
        from memoryd.daemon.main import main  # noqa: PLC0415 - only this command needs it
    except ImportError as error:
        raise LocalFailure(unloadable(error), INSTALL_AGAIN) from error
    if sys.stderr.isatty():
        print(greeting(), file=sys.stderr)
    return main(__version__)


def unloadable(error: ImportError) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f"the daemon cannot start here: {error.name} is not installed"
    return f"the daemon cannot start here: {error}"


def greeting() -> str:
    """For a person who starts it in a terminal, perhaps for the first time."""
    typed = "memoryd" if shutil.which("memoryd") else sys.argv[0]
    return (
        f"memoryd {__version__} is running in this terminal; Ctrl-C stops it."
        f" Its log is shown here. In another terminal, type: {typed}"
    )


def settings_error() -> tuple[str, str]:
    """The error, with its hint, that a daemon starting now would report; empty if it can start."""
    try:
        from memoryd.daemon.main import read_environment  # noqa: PLC0415 - only the doctor needs it

        problems = read_environment(dict(os.environ), __version__).problems
        if problems:
            message, _, hint = problems[0].rpartition("; ")
            return message, hint
    except ImportError as error:
        return unloadable(error), INSTALL_AGAIN
    except Exception as error:  # noqa: BLE001 - the client does not know the daemon's errors
        return str(error), str(getattr(error, "hint", ""))
    return "", ""
