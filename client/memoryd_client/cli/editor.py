"""Opens a text in the person's editor and returns what they made of it."""

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from memoryd_client.connection.failures import LocalFailure


def edited(text: str) -> str:
    """The text after the editor was closed; the file is private and removed afterwards."""
    command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    handle, name = tempfile.mkstemp(prefix="memoryd-", suffix=".md")
    path = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        run_editor(command, name)
        return path.read_text("utf-8", "replace")
    finally:
        path.unlink(missing_ok=True)


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
