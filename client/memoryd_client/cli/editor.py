"""Opens a text in the person's editor, and loses nothing of what they wrote.

A file in the temporary folder holds the text, for the person alone. It is removed once the text
is saved; if it cannot be saved, it stays and the failure names it.
"""

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memoryd_client.connection.failures import Failure, LocalFailure


@contextmanager
def edited(text: str) -> Iterator[str]:
    """Gives the text after the editor was closed, to be saved in the `with` block."""
    command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    handle, name = tempfile.mkstemp(prefix="memoryd-", suffix=".md")
    path = Path(name)
    with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
    try:
        run_editor(command, name)
        yield content_of(path, "")
    except BaseException as error:
        if content_of(path, text) == text:
            path.unlink(missing_ok=True)
        elif isinstance(error, Failure):
            error.hint = f"{error.hint}; your text is in {name}".removeprefix("; ")
        else:
            print(f"your text is in {name}", file=sys.stderr)
        raise
    path.unlink(missing_ok=True)


def content_of(path: Path, missing: str) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except FileNotFoundError:
        return missing


def run_editor(command: list[str], name: str) -> None:
    try:
        code = subprocess.run([*command, name], check=False).returncode  # noqa: S603 - the person's own editor
    except OSError as error:
        raise LocalFailure(
            f"cannot start the editor {command[0]}: {error.strerror}",
            "set EDITOR, for example: EDITOR=nano",
        ) from error
    if code:
        raise LocalFailure(f"{command[0]} ended with {code}; nothing was changed", "try again")
