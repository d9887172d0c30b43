"""The only module that imports the daemon's package; the rest is standard library only."""

import gc
import os
import sys

from memoryd_client import compiled_hook
from memoryd_client.connection.failures import LocalFailure
from memoryd_client.version import __version__

INSTALL_AGAIN = "install memoryd again, with pip, pipx or uv"


def run(*, shows_log: bool = False) -> int:
    """Runs the daemon until it is stopped; returns its exit code."""
    compiled_hook.renew()
    gc.disable()  # what is imported is never garbage; the daemon enables it again
    try:
        from memoryd.daemon.main import main  # noqa: PLC0415 - only this command needs it

        if sys.stderr.isatty():
            print(greeting(shows_log=shows_log), file=sys.stderr)
        return main(__version__, shows_log=shows_log)
    except ImportError as error:
        raise LocalFailure(unloadable(error), INSTALL_AGAIN) from error


def unloadable(error: ImportError) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f"the daemon cannot start here: {error.name} is not installed"
    return f"the daemon cannot start here: {error}"


def greeting(*, shows_log: bool) -> str:
    """For a person who starts it in a terminal, perhaps for the first time."""
    import shutil  # noqa: PLC0415 - a service greets nobody

    typed = "memoryd" if shutil.which("memoryd") else sys.argv[0]
    log = "Its log is shown here." if shows_log else "Problems are shown here; --log shows all."
    return (
        f"memoryd {__version__} starts in this terminal; Ctrl-C stops it. {log}"
        f" In another terminal, type: {typed}"
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


def setting_rows(text: str) -> list[dict[str, object]]:
    """Every setting with its value and its default, as a daemon with this file would use them."""
    try:
        from memoryd.base.config_listing import setting_lines  # noqa: PLC0415 - likewise
    except ImportError as error:
        raise LocalFailure(unloadable(error), INSTALL_AGAIN) from error
    return [
        {"key": one.key, "value": one.value, "default": one.default, "is_set": one.is_set}
        for one in setting_lines(text, os.environ)
    ]


def settings_problem(text: str) -> tuple[str, str]:
    """The first mistake in a file of settings, with its hint; empty if a daemon would take it."""
    try:
        from memoryd.base.config_listing import problem_in  # noqa: PLC0415 - likewise
    except ImportError as error:
        raise LocalFailure(unloadable(error), INSTALL_AGAIN) from error
    return problem_in(text, os.environ)
