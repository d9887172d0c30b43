"""Runs programs of the system (systemctl, launchctl, loginctl) and returns their outcome."""

import os
import subprocess
from typing import NamedTuple

MISSING = 127


class Outcome(NamedTuple):
    """What a program printed; `code` is 127 if it is not installed, -1 if it took too long."""

    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """The first line of what went wrong."""
        lines = (self.err.strip() or self.out.strip()).splitlines()
        return lines[0] if lines else f"exit code {self.code}"


def run(*command: str, timeout_seconds: float = 60, given: str = "") -> Outcome:
    """Runs a program with this input; never raises for what the program does."""
    environ = dict(os.environ) | {"LC_ALL": "C", "SYSTEMD_PAGER": "", "SYSTEMD_COLORS": "0"}
    try:
        done = subprocess.run(  # noqa: S603 - fixed programs with our own arguments
            command,
            env=environ,
            input=given,
            capture_output=True,
            check=False,
            timeout=timeout_seconds,
            encoding="utf-8",
            errors="replace",
        )
    except FileNotFoundError:
        return Outcome(MISSING, "", f"{command[0]} is not installed")
    except subprocess.TimeoutExpired:
        return Outcome(-1, "", f"{command[0]} took longer than {timeout_seconds:.0f} s")
    return Outcome(done.returncode, done.stdout, done.stderr)
