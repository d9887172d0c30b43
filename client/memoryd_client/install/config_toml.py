"""Changes a few values in memoryd's own config.toml, which people edit and comment.

Rules:
- Only the lines of those keys change (`toml_edit`); every other byte stays. Where that cannot be
  reached (a table in braces, a string over several lines), the file stays as it is, and the error
  says what to write by hand.
- The file is replaced whole or not at all, and only if it is still as it was read. One in which
  nothing is left is removed.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from memoryd_client import toml_edit
from memoryd_client.connection.failures import LocalFailure
from memoryd_client.install.settings_json import LEFT, TRIES, content_of, read, replaced

Value = str | bool | int | float


def value_in(path: Path, key: str) -> object:
    """The value as the file has it; None if it has none."""
    return value_at(path, text_of(path, read(real(path))), key)


def change(path: Path, values: Mapping[str, Value | None]) -> bool:
    """Gives each key its value, or removes it for None; False if the file already says so."""
    for _ in range(TRIES):
        data = content_of(path, real(path))
        before = after = text_of(path, data)
        for key, value in values.items():
            after = edited(path, after, key, value)
        if after == before:
            return False
        if replaced(real(path), data, after.encode() if after.strip() else None):
            return True
    raise LocalFailure(f"{path} keeps changing; {LEFT}", "close the editor, then try again")


def edited(path: Path, text: str, key: str, value: Value | None) -> str:
    if value_at(path, text, key) == value:
        return text
    section, _, name = key.rpartition(".")
    try:
        if value is None:
            return toml_edit.without_value(text, key)
        return toml_edit.with_value(text, key, value)
    except toml_edit.CannotEdit as error:
        by_hand = (
            f"remove {name}" if value is None else f"write {name} = {toml_edit.literal(value)}"
        )
        raise LocalFailure(
            f"{path} cannot be changed without touching more than {key}; {LEFT}",
            f"under [{section}], {by_hand}",
        ) from error


def value_at(path: Path, text: str, key: str) -> object:
    try:
        return toml_edit.value_at(text, key)
    except ValueError as error:
        raise LocalFailure(
            f"{path} is not valid TOML: {error}", f"fix the file by hand, then try again; {LEFT}"
        ) from error


def text_of(path: Path, data: bytes | None) -> str:
    try:
        return (data or b"").decode()
    except UnicodeDecodeError as error:
        raise LocalFailure(f"{path} is not UTF-8; {LEFT}", "save it as UTF-8") from error


def real(path: Path) -> Path:
    return Path(os.path.realpath(path))
