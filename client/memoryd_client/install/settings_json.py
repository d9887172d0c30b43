"""Edits a JSON file that belongs to another program, and undoes the edit.

Rules:
- The file is parsed, changed and written again. Key order, unknown keys, indentation, line endings,
  the BOM, the final newline, the mode and symbolic links stay. Spacing within a line may not.
- Before the first change the file is copied to `.before-memoryd`. Undoing restores that copy byte
  for byte if nothing else in the file changed since; otherwise it removes our entries only.
- A file with credentials in it is not copied: a copy would outlive a logout. One that an older
  version made is removed. Undoing then removes our entries only.
- The file is replaced whole or not at all, and only if it is still as we read it: its owner may
  write it at any time. A file that is read-only, is not a JSON object, or holds what a round trip
  would lose (a key twice, a number out of range) is left as it is, with an error.
"""

import codecs
import json
import math
import os
import re
import shlex
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from memoryd_client.connection.failures import LocalFailure

Settings = dict[str, object]
Edit = Callable[[Settings], None]  # changes the settings in place
BACKUP = ".before-memoryd"
TRIES = 5
LEFT = "it was left as it is"
DEFAULT_INDENT = "  "
Container = TypeVar("Container", dict[str, object], list[object])
INDENTATION = re.compile(r'\n([ \t]*)"')


def change(
    path: Path,
    add: Edit,
    remove: Edit,
    *,
    ours: tuple[Edit, Edit] | None = None,
    has_credentials: bool = False,
) -> bool:
    """Applies `add` to the file; False if that changes nothing. `remove` is its inverse.

    `ours` are the edits that add and remove everything we ever have in the file: the backup is of
    the file without any of it. There is none of a file with credentials.
    """
    real = Path(os.path.realpath(path))
    if has_credentials:
        keep_backup(real, None)
    for _ in range(TRIES):
        before = content_of(path, real)
        settings = parsed(path, before)
        unchanged = dumped(path, settings)
        add(settings)
        if dumped(path, settings) == unchanged:
            return False
        if not has_credentials:
            keep_backup(real, without_ours(path, real, before, *(ours or (add, remove))))
        if replaced(real, before, rendered(path, settings, before)):
            return True
    raise LocalFailure(f"{path} keeps changing; {LEFT}", "close the agent, then try again")


def undo(path: Path, add: Edit, remove: Edit, *, ours: tuple[Edit, Edit] | None = None) -> bool:
    """Restores the backup, or removes our entries; False if the file has none.

    While something else of `ours` is in the file, the backup is kept for it.
    """
    real = Path(os.path.realpath(path))
    for _ in range(TRIES):
        now = content_of(path, real)
        rest, is_last = without_part(path, now, remove, (ours or (add, remove))[1])
        wanted = without_ours(path, real, now, *(ours or (add, remove))) if is_last else rest
        if wanted == now or replaced(real, now, wanted):
            if is_last:
                keep_backup(real, None)
            return wanted != now
    raise LocalFailure(f"{path} keeps changing; {LEFT}", "close the agent, then try again")


def without_part(
    path: Path, now: bytes | None, remove: Edit, remove_all: Edit
) -> tuple[bytes | None, bool]:
    """The file without one of our parts, and whether nothing of ours is left in it then."""
    settings = parsed(path, now)
    before = dumped(path, settings)
    remove(settings)
    rest = dumped(path, settings)
    kept = now if rest == before else rendered(path, settings, now)
    remove_all(settings)
    return kept, dumped(path, settings) == rest


def has_backup(path: Path) -> bool:
    return backup_of(Path(os.path.realpath(path))).exists()


def without_ours(
    path: Path, real: Path, now: bytes | None, add: Edit, remove: Edit
) -> bytes | None:
    """The file without our entries: the backup, if nothing else changed since; None for no file."""
    settings = parsed(path, now)
    before = dumped(path, settings)
    remove(settings)
    rest = dumped(path, settings)
    if now is None or rest == before:
        return now
    backup = read(backup_of(real))
    if backup is None:  # we created the file, unless there is more in it
        return rendered(path, settings, now) if settings else None
    try:
        original = parsed(backup_of(real), backup)
        add(original)
        remove(original)  # drops the same empty containers as above
    except LocalFailure:  # the backup was edited
        return rendered(path, settings, now)
    return backup if dumped(path, original) == rest else rendered(path, settings, now)


def content_of(path: Path, real: Path) -> bytes | None:
    """The file's bytes, if it exists; raises LocalFailure if it must not be written.

    The mode is checked, not access: a person who made a file read-only meant it, even for root.
    """
    try:
        found = real.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise not_a_regular_file(path)
    if not found.st_mode & stat.S_IWUSR:
        fix = f"make it writable with chmod u+w {quoted(real)}, then try again"
        raise LocalFailure(f"{path} is read-only; {LEFT}", fix)
    return real.read_bytes()


def parsed(path: Path, data: bytes | None) -> Settings:
    """The settings in a file; raises LocalFailure if writing them again would lose something."""
    hint = f"fix the file by hand, then try again; {LEFT}"
    try:
        text = (data or b"").decode("utf-8-sig")
        settings = (
            json.loads(
                text,
                object_pairs_hook=unique_keys,
                parse_constant=not_json,
                parse_float=finite,
            )
            if text.strip()
            else {}
        )
    except (ValueError, RecursionError) as error:
        raise LocalFailure(f"{path} is not valid JSON: {error}", hint) from error
    if not isinstance(settings, dict):
        raise LocalFailure(f"{path} does not contain a JSON object", hint)
    return settings


def unique_keys(pairs: list[tuple[str, object]]) -> Settings:
    """An object; a key twice is an error, since readers disagree on which of the two counts."""
    settings = dict(pairs)
    if len(settings) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} appears twice in one object")
    return settings


def not_json(constant: str) -> object:
    """NaN and Infinity, which Python would read and other programs would not."""
    raise ValueError(f"{constant} is not JSON")


def finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"the number {text} is out of range")
    return number


def dumped(
    path: Path, settings: Settings, indent: str | None = None, *, ascii_only: bool = True
) -> str:
    try:
        return json.dumps(settings, indent=indent, ensure_ascii=ascii_only)
    except RecursionError as error:
        raise LocalFailure(f"{path} is nested too deeply; {LEFT}", "simplify it by hand") from error


def rendered(path: Path, settings: Settings, like: bytes | None) -> bytes:
    """The settings as bytes, laid out like the file was."""
    mark = codecs.BOM_UTF8 if like and like.startswith(codecs.BOM_UTF8) else b""
    text = (like or b"").decode("utf-8-sig")
    content = text.strip()
    end = text[len(text.rstrip()) :] if content else "\n"
    new = dumped(path, settings, indentation(content), ascii_only=content.isascii())
    if "\r\n" in text:
        new = new.replace("\n", "\r\n")
    # A lone surrogate has no UTF-8 form; it is escaped the way JSON escapes it.
    return mark + (new + end).encode("utf-8", "backslashreplace")


def indentation(content: str) -> str | None:
    """What one level is indented by; None for content on one line."""
    if "\n" not in content:
        return None if len(content) > len("{}") else DEFAULT_INDENT
    found = INDENTATION.search(content)
    return found[1] if found else DEFAULT_INDENT


def replaced(path: Path, before: bytes | None, after: bytes | None) -> bool:
    """Replaces the file in one step, or removes it; False if it is not as it was read."""
    if after is None:
        if read(path) != before:
            return False
        path.unlink()
        return True
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    handle, name = tempfile.mkstemp(prefix=".memoryd-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(after)
            os.fchmod(file.fileno(), mode)
            file.flush()
            os.fsync(file.fileno())
        is_as_read = read(path) == before
        if is_as_read:
            Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)
    return is_as_read


def keep_backup(real: Path, data: bytes | None) -> None:
    """Makes the backup hold this; None removes it."""
    path = backup_of(real)
    if data is None:
        path.unlink(missing_ok=True)
    else:
        replaced(path, read(path), data)


def backup_of(real: Path) -> Path:
    return real.with_name(real.name + BACKUP)


def read(path: Path) -> bytes | None:
    """The file's bytes, if it exists; a FIFO would block and a device never ends."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise not_a_regular_file(path)
        return path.read_bytes()
    except FileNotFoundError:
        return None


def not_a_regular_file(path: Path) -> LocalFailure:
    return LocalFailure(f"{path} is not a regular file", f"look at it: ls -l {quoted(path)}")


def quoted(path: Path) -> str:
    return shlex.quote(str(path))


def member(holder: Settings, key: str, empty: Container) -> Container:
    """The object or list under a key, created if missing; raises LocalFailure for anything else."""
    value = holder.setdefault(key, empty)
    if not isinstance(value, type(empty)):
        kind = "an object" if isinstance(empty, dict) else "a list"
        raise LocalFailure(
            f"{key} in the agent's settings is not {kind}",
            f"fix the file by hand, then try again; {LEFT}",
        )
    return value
