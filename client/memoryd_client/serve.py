"""The one door to the daemon's own package: everything else here is the standard library alone."""

import os
import shutil
import sys

from memoryd_client.connection.failures import LocalFailure
from memoryd_client.version import __version__

INSTALL_AGAIN = "install memoryd again, with pip, pipx or uv"


def run() -> int:
    """Be the daemon until it is told to stop; returns its exit code."""
    try:
        from memoryd.daemon.main import main  # noqa: PLC0415 - loaded for this command only
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
    """For a person who started it in a terminal, and may never have done so before."""
    typed = "memoryd" if shutil.which("memoryd") else sys.argv[0]
    return (
        f"memoryd {__version__} in this terminal; Ctrl-C ends it."
        f" What happens is shown here. In another terminal: {typed}"
    )


def complaint_about_settings() -> tuple[str, str]:
    """What a daemon that starts now would say of its settings, with its hint; empty for nothing."""
    try:
        from memoryd.daemon.main import read_environment  # noqa: PLC0415 - loaded when it is asked for only

        read_environment(dict(os.environ), __version__)
    except ImportError as error:
        return unloadable(error), INSTALL_AGAIN
    except Exception as error:  # noqa: BLE001 - the daemon's kinds of errors are not known on this side
        return str(error), str(getattr(error, "hint", ""))
    return "", ""
