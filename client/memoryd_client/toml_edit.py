"""Sets or removes one key in a TOML text and keeps everything else: comments, order, spacing.

Rules:
- Only a value on one line is replaced or removed; a key or a section that is missing is added, and
  one in which nothing is left, not even a comment, goes with its last key.
- The result is read again: unless it says exactly what the old text said and the one change, it is
  not used. What cannot be edited safely this way is left to the person's editor.
"""

import re
import tomllib
from collections.abc import Sequence

BARE = re.compile(r"[A-Za-z0-9_-]+")
BYTE_ORDER_MARK = "\ufeff"


class CannotEdit(Exception):
    """This text has to be edited by hand."""


def with_value(text: str, key: str, value: object) -> str:
    """The text with a key set; raises CannotEdit, or ValueError for a bad key or a bad text."""
    *section, name = key_parts(key)
    if not section:
        raise ValueError(f"{key} names no section")
    wanted = parsed(text)
    set_in(wanted, [*section, name], value)
    return checked(text, edited(lines_of(text), section, name, literal(value)), wanted, key)


def without_value(text: str, key: str) -> str:
    """The text without a key; raises as `with_value` does."""
    *section, name = key_parts(key)
    if value_at(text, key) is None:
        return text
    wanted = parsed(text)
    set_in(wanted, [*section, name], None)
    return checked(text, shortened(lines_of(text), section, name), wanted, key)


def value_at(text: str, key: str) -> object:
    """The value of a key; None if there is none."""
    found: object = parsed(text)
    for part in key_parts(key):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def parsed(text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text.removeprefix(BYTE_ORDER_MARK))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def lines_of(text: str) -> list[str]:
    """Each line with its end, which the last one may lack."""
    lines = text.removeprefix(BYTE_ORDER_MARK).splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return lines


def checked(old: str, new: str, wanted: dict[str, object], key: str) -> str:
    """The new text, with the marks and line ends of the old one, if it says what is wanted."""
    if "\r\n" in old:
        new = re.sub(r"(?<!\r)\n", "\r\n", new)
    try:
        is_right = said_in(parsed(new)) == said_in(wanted)
    except ValueError:
        is_right = False
    if not is_right:
        raise CannotEdit(key)
    return BYTE_ORDER_MARK + new if old.startswith(BYTE_ORDER_MARK) else new


def said_in(document: dict[str, object]) -> dict[str, object]:
    """What a document says: a table without keys says nothing."""
    said = {}
    for key, value in document.items():
        kept = said_in(value) if isinstance(value, dict) else value
        if kept is not None and kept != {}:
            said[key] = kept
    return said


def edited(lines: list[str], section: Sequence[str], name: str, value: str) -> str:
    bounds = bounds_of(lines, section)
    if bounds is None:
        gap = "\n" if lines and lines[-1].strip() else ""
        return "".join([*lines, f"{gap}[{dotted(section)}]\n", f"{dotted([name])} = {value}\n"])
    start, end = bounds
    for at in range(start, end):
        if key_of(lines[at]) == [name]:
            lines[at] = replaced_value(lines[at], value)
            return "".join(lines)
    while end > start and not lines[end - 1].strip():
        end -= 1
    return "".join([*lines[:end], f"{dotted([name])} = {value}\n", *lines[end:]])


def shortened(lines: list[str], section: Sequence[str], name: str) -> str:
    bounds = bounds_of(lines, section)
    if bounds is None:
        raise CannotEdit(name)
    start, end = bounds
    head, tail = lines[:start], lines[end:]
    left = [line for line in lines[start:end] if key_of(line) != [name]]
    if not "".join(left).strip():
        head, left = head[:-1], []
        while not tail and head and not head[-1].strip():
            head.pop()
    return "".join([*head, *left, *tail])


def bounds_of(lines: Sequence[str], section: Sequence[str]) -> tuple[int, int] | None:
    """Where the lines of a section begin and end, its header left out."""
    headers = [at for at, line in enumerate(lines) if header_of(line) is not None]
    start = next((at for at in headers if header_of(lines[at]) == section), None)
    if start is None:
        return None
    return start + 1, next((at for at in headers if at > start), len(lines))


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
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(literal, value))}]"
    raise CannotEdit(str(value))


def quoted(text: str) -> str:
    escapes = {"\\": "\\\\", '"': '\\"'}
    return '"' + "".join(escapes.get(char) or escaped(char) for char in text) + '"'


def escaped(char: str) -> str:
    return char if char.isprintable() else f"\\U{ord(char):08x}"


def dotted(parts: Sequence[str]) -> str:
    return ".".join(part if BARE.fullmatch(part) else quoted(part) for part in parts)
