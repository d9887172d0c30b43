"""Sets one key in a TOML text and keeps everything else: comments, order, spacing.

Rules:
- Only a value on one line is replaced; a key or a section that is missing is added.
- The result is read again: unless it says exactly what the old text said plus the new value, it is
  not used. What cannot be edited safely this way is left to the person's editor.
"""

import re
import tomllib
from collections.abc import Sequence

BARE = re.compile(r"[A-Za-z0-9_-]+")


class CannotEdit(Exception):
    """This text has to be edited by hand."""


def with_value(text: str, key: str, value: object) -> str:
    """The text with a key set; raises CannotEdit, or ValueError for a bad key or a bad text."""
    *section, name = key_parts(key)
    if not section:
        raise ValueError(f"{key} names no section")
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    new = edited(lines, section, name, literal(value))
    wanted = tomllib.loads(text)
    set_in(wanted, [*section, name], value)
    try:
        is_right = tomllib.loads(new) == wanted
    except ValueError:
        is_right = False
    if not is_right:
        raise CannotEdit(key)
    return new


def edited(lines: list[str], section: Sequence[str], name: str, value: str) -> str:
    start = next((at for at, line in enumerate(lines) if header_of(line) == section), None)
    if start is None:
        gap = "\n" if lines and lines[-1].strip() else ""
        return "".join([*lines, f"{gap}[{dotted(section)}]\n", f"{dotted([name])} = {value}\n"])
    end = next(
        (at for at in range(start + 1, len(lines)) if header_of(lines[at]) is not None), len(lines)
    )
    for at in range(start + 1, end):
        if key_of(lines[at]) == [name]:
            lines[at] = replaced_value(lines[at], value)
            return "".join(lines)
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    return "".join([*lines[:end], f"{dotted([name])} = {value}\n", *lines[end:]])


def replaced_value(line: str, value: str) -> str:
    """A line with another value; its comment stays."""
    head, _, rest = line.partition("=")
    comment = ""
    for match in re.finditer("#", rest):
        try:
            tomllib.loads(f"x = {rest[: match.start()]}")
        except ValueError:
            continue
        before = rest[: match.start()]
        gap = before[len(before.rstrip()) :]
        comment = f"{gap}{rest[match.start() :].rstrip()}"
        break
    return f"{head.rstrip()} = {value}{comment}\n"


def header_of(line: str) -> list[str] | None:
    """The name of the section that a line begins, part by part; None for any other line."""
    stripped = line.strip()
    if not stripped.startswith("[") or stripped.startswith("[["):
        return None
    try:
        return path_in(tomllib.loads(stripped))
    except ValueError:
        return None


def key_of(line: str) -> list[str] | None:
    """The key that a line sets; None for a comment or a line of a longer value."""
    head, equals, _ = line.partition("=")
    if not equals:
        return None
    try:
        return key_parts(head.strip())
    except ValueError:
        return None


def key_parts(key: str) -> list[str]:
    """A dotted key in its parts, as TOML reads it; raises ValueError for anything else."""
    return path_in(tomllib.loads(f"{key} = 0"))


def path_in(document: object) -> list[str]:
    """The only path through nested tables of one key each."""
    parts = []
    while isinstance(document, dict) and document:
        if len(document) > 1:
            raise ValueError("more than one key")
        ((part, document),) = document.items()
        parts.append(part)
    return parts


def set_in(document: dict[str, object], parts: Sequence[str], value: object) -> None:
    for part in parts[:-1]:
        inner = document.setdefault(part, {})
        if not isinstance(inner, dict):
            raise CannotEdit(part)
        document = inner
    document[parts[-1]] = value


def value_of(text: str) -> object:
    """What a person typed as a value: TOML if it is that, otherwise plain text."""
    try:
        document = tomllib.loads(f"x = {text}")
    except ValueError:
        return text
    return document["x"] if list(document) == ["x"] else text


def literal(value: object) -> str:
    """A value as TOML on one line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    raise CannotEdit(str(value))


def quoted(text: str) -> str:
    escapes = {"\\": "\\\\", '"': '\\"'}
    return '"' + "".join(escapes.get(char) or escaped(char) for char in text) + '"'


def escaped(char: str) -> str:
    return char if char.isprintable() else f"\\U{ord(char):08x}"


def dotted(parts: Sequence[str]) -> str:
    return ".".join(part if BARE.fullmatch(part) else quoted(part) for part in parts)
