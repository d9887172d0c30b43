"""Changes a JSON file that belongs to somebody else, and puts it back as it was.

Rules:
- Everything that is not ours stays: keys, their order, their values, the indentation, the mode. A
  file that is a link stays one; what it points to is changed.
- Before the first change the file is copied. Undoing gives back those very bytes if nobody has
  changed the file since; otherwise only what is ours is taken out.
- The file is replaced whole or not at all. One that is not a JSON object is refused, untouched.
"""

import json
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from memoryd_client.failures import LocalFailure

Settings = dict[str, object]
BACKUP = ".before-memoryd"
WRITTEN = ".by-memoryd"


def change(path: Path, edit: Callable[[Settings], None]) -> bool:
    """Lets `edit` work on the settings; whether the file changed."""
    real = path.resolve()
    before = real.read_bytes() if real.exists() else None
    settings = parsed(path, before)
    wanted = json.loads(json.dumps(settings))
    edit(wanted)
    if wanted == settings:
        return False
    after = rendered(wanted, before)
    keep(real, BACKUP, before)
    replace(real, after)
    keep_always(real, WRITTEN, after)
    return True


def undo(path: Path, edit: Callable[[Settings], None]) -> bool:
    """Takes out what is ours; the very bytes of before where nothing else was changed since."""
    real = path.resolve()
    backup, written = sibling(real, BACKUP), sibling(real, WRITTEN)
    now = real.read_bytes() if real.exists() else None
    untouched = now is not None and written.exists() and written.read_bytes() == now
    changed = False
    if untouched and backup.exists():
        replace(real, backup.read_bytes())
        changed = True
    elif untouched:
        real.unlink()
        changed = True
    elif now is not None:
        settings = parsed(path, now)
        wanted = json.loads(json.dumps(settings))
        edit(wanted)
        changed = wanted != settings
        if changed:
            replace(real, rendered(wanted, now))
    backup.unlink(missing_ok=True)
    written.unlink(missing_ok=True)
    return changed


def parsed(path: Path, data: bytes | None) -> Settings:
    if data is None or not data.strip():
        return {}
    hint = "mend the file by hand, then try again; it was left as it is"
    try:
        settings = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise LocalFailure(f"{path} is not valid JSON: {error}", hint) from error
    if not isinstance(settings, dict):
        raise LocalFailure(f"{path} does not hold a JSON object", hint)
    return settings


def rendered(settings: Settings, before: bytes | None) -> bytes:
    """The settings in the indentation that the file had."""
    found = re.search(rb"\n([ \t]+)\"", before or b"")
    indent = found[1].decode() if found else "  "
    end = "" if before and not before.endswith(b"\n") else "\n"
    return (json.dumps(settings, indent=indent, ensure_ascii=False) + end).encode(
        "utf-8", "surrogatepass"
    )


def replace(path: Path, data: bytes) -> None:
    """Puts the bytes there at once, with the mode that the file had."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    handle, name = tempfile.mkstemp(prefix=".memoryd-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), mode)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def keep(path: Path, suffix: str, data: bytes | None) -> None:
    """A copy beside the file, unless there is one already: the oldest is the true one."""
    if data is not None and not sibling(path, suffix).exists():
        replace(sibling(path, suffix), data)


def keep_always(path: Path, suffix: str, data: bytes) -> None:
    replace(sibling(path, suffix), data)


def sibling(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
