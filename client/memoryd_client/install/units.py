"""Fills in the service templates; pure text.

Rules:
- One systemd template has every fence. The part that needs user namespaces is between marks, so the
  weaker unit is the same text without it and the two cannot drift apart.
- Paths are quoted as systemd reads them: `%` is doubled everywhere, `$` too in a command line, and
  quotes are only used in settings that take several words.
"""

import plistlib
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from memoryd_client.connection.failures import LocalFailure

WRITTEN_BY = "# Written by `memoryd install --service`"
FENCES = ("# >>> fences\n", "# <<< fences\n")
NAMESPACE_FENCES = (
    "# >>> fences that need user namespaces\n",
    "# <<< fences that need user namespaces\n",
)


class Values(NamedTuple):
    """What differs from one user to the next."""

    command: str
    socket: str
    claude: str
    state: str
    logs: str
    writable: Sequence[str] = ()
    environment: Mapping[str, str] = {}


def unspecified(text: str) -> str:
    """The text, escaped so that systemd expands nothing in it."""
    if any(char in text for char in "\n\r\0"):
        raise LocalFailure("a path with a line break cannot be in a unit file", "rename the folder")
    return text.replace("%", "%%")


def quoted(text: str) -> str:
    """This text as one word of a unit file."""
    escaped = unspecified(text).replace("\\", "\\\\").replace('"', '\\"')
    return escaped if re.fullmatch(r"[\w@%+=:,./-]+", escaped, re.ASCII) else f'"{escaped}"'


def in_command(text: str) -> str:
    """One word of a command line in a unit file."""
    return quoted(text).replace("$", "$$")


def service_unit(template: str, values: Values) -> str:
    """The service with all fences."""
    environment = "\n".join(
        f"Environment={quoted(f'{name}={value}')}"
        for name, value in sorted(values.environment.items())
    )
    # The dashes let the daemon start even if a folder is gone.
    writable = " ".join(quoted(f"-{path}") for path in values.writable)
    filled = {
        "COMMAND": in_command(values.command),
        "CLAUDE": quoted(f"-{values.claude}"),
        "STATE": quoted(f"-{values.state}"),
        "WRITABLE": writable,
        "ENVIRONMENT": environment,
    }
    return filled_in(template, filled)


def socket_unit(template: str, socket: str) -> str:
    """The socket unit; its path may contain systemd's `%t`."""
    return filled_in(template, {"SOCKET": socket})


def filled_in(template: str, values: Mapping[str, str]) -> str:
    text = re.sub(r"@([A-Z]+)@", lambda mark: values[mark[1]], template)
    return re.sub(r"[ \t]+\n", "\n", text)


def between(text: str, marks: tuple[str, str]) -> tuple[str, str, str]:
    """The text before, between and after two marks."""
    before, _, rest = text.partition(marks[0])
    inside, _, after = rest.partition(marks[1])
    return before, inside, after


def without_namespaces(unit: str) -> str:
    """The same unit for a system that does not allow user namespaces."""
    before, _, after = between(unit, NAMESPACE_FENCES)
    return before.rstrip("\n") + "\n" + after


def probe_unit(unit: str, command: Sequence[str], output: str) -> str:
    """A unit that runs one command inside the fences of `unit`, with its output in a file."""
    _, fences, _ = between(unit, FENCES)
    line = " ".join(map(in_command, command))
    head = f"[Service]\nType=oneshot\nExecStart={line}\nStandardOutput=file:{unspecified(output)}\n"
    return f"{WRITTEN_BY}, temporarily, to test its fences.\n{head}{fences}"


def launch_agent(template: bytes, values: Values) -> bytes:
    """The launchd agent; plistlib does the escaping."""
    marks = {"@COMMAND@": values.command, "@SOCKET@": values.socket, "@LOGS@": values.logs}
    agent = replaced(plistlib.loads(template), marks)
    assert isinstance(agent, dict)  # noqa: S101 - the root of our template is a dict
    agent["EnvironmentVariables"] = dict(values.environment)
    return plistlib.dumps(agent, sort_keys=False)


def replaced(value: object, marks: Mapping[str, str]) -> object:
    """The values of a plist with the marks in its strings replaced."""
    if isinstance(value, dict):
        return {key: replaced(item, marks) for key, item in value.items()}
    if isinstance(value, list):
        return [replaced(item, marks) for item in value]
    if isinstance(value, str):
        for mark, text in marks.items():
            value = value.replace(mark, text)
    return value
