"""The one door to the daemon's own package: everything else here is the standard library alone."""

from memoryd_client import __version__
from memoryd_client.failures import LocalFailure


def run() -> int:
    """Be the daemon until it is told to stop; returns its exit code."""
    try:
        from memoryd.daemon import main  # noqa: PLC0415 - loaded for this command only
    except ModuleNotFoundError as error:
        raise LocalFailure(
            f"the daemon cannot start here: {error.name} is not installed",
            "install memoryd again, with pip, pipx or uv",
        ) from error
    return main(__version__)
