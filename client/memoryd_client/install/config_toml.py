"""Sets one value in memoryd's own config.toml, which people edit and comment.

Rules:
- Only the line of that key changes or is added; every other byte stays, comments included.
- The result is parsed before it is written: it must say the same as before, but for the one value.
  Where that cannot be reached (a table in braces, a string over several lines), the file stays as
  it is, and the error says what to write by hand.
- The file is replaced whole or not at all, and only if it is still as it was read.
"""

import json
import os
import re
import tomllib
from pathlib import Path

from memoryd_client.connection.failures import LocalFailure
from memoryd_client.install.settings_json import LEFT, TRIES, content_of, replaced

Value = str | bool | int | float
HEADER = re.compile(r"^[ \t]*\[")


def value_in(path: Path, table: str, key: str) -> object:
    """The value as the file has it; None if it has none."""
    section = parsed(path, text_of(path, content_of(path, real(path)))).get(table)
    return section.get(key) if isinstance(section, dict) else None


def set_value(path: Path, table: str, key: str, value: Value) -> bool:
    """Writes `key = value` into `[table]`; False if the file already says so."""
    for _ in range(TRIES):
        data = content_of(path, real(path))
        before = text_of(path, data)
        wanted = with_key(parsed(path, before), table, key, value)
        if wanted == parsed(path, before):
            return False
        after = with_value(before, table, key, value)
        if not says(after, wanted):
            raise LocalFailure(
                f"{path} cannot be changed without touching more than {table}.{key}; {LEFT}",
                f"under [{table}], write {key} = {literal(value)}",
            )
        if replaced(real(path), data, after.encode()):
            return True
    raise LocalFailure(f"{path} keeps changing; {LEFT}", "close the editor, then try again")


def with_value(text: str, table: str, key: str, value: Value) -> str:
    """The text with this value in its place: the key's line, its table, or a new table."""
    line = f"{key} = {literal(value)}"
    lines = text.splitlines(keepends=True)
    end = "\r\n" if "\r\n" in text else "\n"
    start = header_line(lines, table)
    if start is None:
        gap = "" if not text else (end if text.endswith("\n") else end + end)
        return f"{text}{gap}[{table}]{end}{line}{end}"
    for at in range(start + 1, len(lines)):
        if HEADER.match(lines[at]):
            break
        if found := re.match(rf"([ \t]*){re.escape(key)}[ \t]*=", lines[at]):
            lines[at] = f"{found[1]}{line}{comment_of(lines[at])}{end}"
            return "".join(lines)
    if not lines[start].endswith("\n"):
        lines[start] += end
    lines.insert(start + 1, f"{line}{end}")
    return "".join(lines)


def header_line(lines: list[str], table: str) -> int | None:
    header = re.compile(rf"[ \t]*\[[ \t]*{re.escape(table)}[ \t]*\][ \t]*(?:#.*)?\s*$")
    return next((at for at, line in enumerate(lines) if header.match(line)), None)


def comment_of(line: str) -> str:
    """What stands behind a value; a value that is a string may hold a hash."""
    found = re.search(r"=[ \t]*(?:\"[^\"\\]*\"|'[^']*'|[^\"'#\s]+)([ \t]*#[^\r\n]*)", line)
    return found[1] if found else ""


def literal(value: Value) -> str:
    return json.dumps(value, ensure_ascii=False)


def with_key(settings: dict[str, object], table: str, key: str, value: Value) -> dict[str, object]:
    section = settings.get(table)
    old = section if isinstance(section, dict) else {}
    return settings | {table: old | {key: value}}


def says(text: str, wanted: dict[str, object]) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except (tomllib.TOMLDecodeError, RecursionError):
        return False


def parsed(path: Path, text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
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
