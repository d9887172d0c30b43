"""Changes a JSON file that belongs to somebody else, and puts it back as it was.

Rules:
- Every byte that is not ours stays, the order of keys, the mode and a mark at the beginning of the
  file (BOM) too. A file that is a link stays one; what it points to is changed.
- Before a change the file is copied, without what is ours. Undoing gives back those very bytes if
  nobody has changed the file since; otherwise only what is ours is taken out.
- The file is replaced whole or not at all, and never over something unread: its owner may write it
  at any time. One that is read-only, or not a JSON object, is refused and left as it is.
"""

import codecs
import json
import os
import shlex
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

from memoryd_client.connection.failures import LocalFailure
from memoryd_client.install.json_text import Twice

Settings = dict[str, object]
Edit = Callable[[str], str]
BACKUP = ".before-memoryd"
WRITTEN = ".by-memoryd"
NOTHING = "{\n}\n"
TRIES = 5
LEFT = "it was left as it is"


def change(path: Path, add: Edit, remove: Edit) -> bool:
    """Lets `add` work on the text of the file; whether it changed. `remove` takes ours out."""
    real = Path(os.path.realpath(path))
    for _ in range(TRIES):
        before = content_of(path, real)
        after = edited(path, before, add)
        if after == before:
            return False
        keep(sibling(real, BACKUP), base_of(path, real, before, remove))
        if replaced(real, before, after):
            keep(sibling(real, WRITTEN), after)
            return True
    raise LocalFailure(f"{path} changes all the time; {LEFT}", "close the agent, then try again")


def undo(path: Path, remove: Edit) -> bool:
    """Takes out what is ours; the very bytes of before where nothing else was changed since."""
    real = Path(os.path.realpath(path))
    for _ in range(TRIES):
        now = content_of(path, real)
        wanted = None if now is None else base_of(path, real, now, remove)
        if wanted == now or replaced(real, now, wanted):
            keep(sibling(real, BACKUP), None)
            keep(sibling(real, WRITTEN), None)
            return wanted != now
    raise LocalFailure(f"{path} changes all the time; {LEFT}", "close the agent, then try again")


def has_traces(path: Path) -> bool:
    """Whether we keep anything beside the file."""
    real = Path(os.path.realpath(path))
    return any(sibling(real, suffix).exists() for suffix in (BACKUP, WRITTEN))


def base_of(path: Path, real: Path, now: bytes | None, remove: Edit) -> bytes | None:
    """The file without what is ours; None when there was no file before us."""
    written = read(sibling(real, WRITTEN))
    if now is not None and written == now:
        return read(sibling(real, BACKUP))
    return None if now is None else edited(path, now, remove)


def content_of(path: Path, real: Path) -> bytes | None:
    """What the file holds, if there is one; raises LocalFailure for one that is not to be written.

    A mode is asked, not the system: whoever made a file read-only meant it, and root may anything.
    """
    try:
        found = real.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise no_plain_file(path)
    if not found.st_mode & stat.S_IWUSR:
        mend = f"allow it with chmod u+w {quoted(real)}, then try again"
        raise LocalFailure(f"{path} is read-only; {LEFT}", mend)
    return real.read_bytes()


def edited(path: Path, data: bytes | None, edit: Edit) -> bytes:
    """The bytes with the text of the file changed; raises LocalFailure when that is no settings."""
    parsed(path, data)
    mark = codecs.BOM_UTF8 if data and data.startswith(codecs.BOM_UTF8) else b""
    text = (data or b"")[len(mark) :].decode("utf-8")
    whole = text if text.strip() else NOTHING
    try:
        changed = edit(whole)
    except Twice as error:
        raise LocalFailure(
            f"{path} has the key {str(error)!r} twice in one place; {LEFT}",
            "keep one of the two, then try again",
        ) from error
    if changed == whole:
        return data or b""
    # What has no UTF-8 is escaped, and as JSON escapes it.
    result = mark + changed.encode("utf-8", "backslashreplace")
    parsed(path, result)
    return result


def parsed(path: Path, data: bytes | None) -> Settings:
    """What a settings file says; raises LocalFailure when it is none."""
    hint = f"mend the file by hand, then try again; {LEFT}"
    try:
        text = (data or b"").decode("utf-8-sig")
        settings = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise LocalFailure(f"{path} is not valid JSON: {error}", hint) from error
    if not isinstance(settings, dict):
        raise LocalFailure(f"{path} does not hold a JSON object", hint)
    return settings


def replaced(path: Path, before: bytes | None, after: bytes | None) -> bool:
    """Puts the bytes there at once, or removes the file; False when it is not as it was read."""
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


def keep(path: Path, data: bytes | None) -> None:
    """Makes a file of ours beside the settings hold this, or be gone."""
    if data is None:
        path.unlink(missing_ok=True)
    else:
        replaced(path, read(path), data)


def read(path: Path) -> bytes | None:
    """What the file holds, if there is one; a FIFO would be waited for, a device never ends."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise no_plain_file(path)
        return path.read_bytes()
    except FileNotFoundError:
        return None


def no_plain_file(path: Path) -> LocalFailure:
    return LocalFailure(f"{path} is not a plain file", f"look at it: ls -l {quoted(path)}")


def sibling(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def quoted(path: Path) -> str:
    return shlex.quote(str(path))
