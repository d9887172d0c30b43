"""One daemon per user, and a socket that is truly ours.

Own the socket before binding it: first an OS lock in the state folder, then a call to whoever may
still answer, and only then is a dead socket replaced. What somebody planted there is refused.
"""

import errno
import fcntl
import os
import socket
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from memoryd.base.errors import AlreadyRunning, Refused, StorageError
from memoryd.system.folder import make_folder
from memoryd.system.plain_file import refuse_unless_plain

BACKLOG: Final = 1024
DIAL_SECONDS: Final = 1.0


class InstanceLock:
    """Held from start to end; the OS lets go of it when the process dies, however it dies."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    @classmethod
    def take(cls, state_dir: str) -> Self:
        try:
            make_folder(state_dir)
            check_folder(state_dir)
        except OSError as error:
            raise StorageError(state_dir, "use", error) from error
        path = f"{state_dir}/memoryd.lock"
        refuse_unless_plain(path)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            handle = os.open(path, flags, 0o600)
        except OSError as error:
            raise StorageError(path, "open", error) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(handle, 20).decode("ascii", "replace").strip()
            os.close(handle)
            raise AlreadyRunning(
                f"memoryd runs already (process {holder or 'unknown'})",
                hint="memoryd status shows it; memoryd stop ends it",
            ) from error
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        return cls(handle)

    def release(self) -> None:
        os.close(self._handle)


def check_folder(path: str) -> None:
    """Refuses a folder in which somebody else could put things."""
    link, facts = os.lstat(path), Path(path).stat()
    mend = f"chmod 700 {path}, or name another folder"
    if not stat.S_ISDIR(facts.st_mode):
        raise Refused(f"{path} is not a folder", hint="move it away, or name another folder")
    if facts.st_uid != os.getuid() or link.st_uid != os.getuid():
        raise Refused(
            f"{path} belongs to another user (uid {facts.st_uid})",
            hint="set MEMORYD_SOCKET or XDG_RUNTIME_DIR to a folder of your own",
        )
    if facts.st_mode & 0o022:
        raise Refused(f"{path} can be written by others", hint=mend)


def bind(path: str) -> socket.socket:
    """A listening socket at the path, 0600 from its first instant."""
    folder = str(Path(path).parent)
    make_folder(folder)
    check_folder(folder)
    clear_way(path)
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        opened.bind(path)
        opened.listen(BACKLOG)
    except OSError as error:
        opened.close()
        raise StorageError(path, "listen on", error) from error
    finally:
        os.umask(before)
    opened.setblocking(False)
    return opened


def clear_way(path: str) -> None:
    """Removes a socket that nobody answers any more; refuses everything else that is there."""
    try:
        facts = os.lstat(path)
    except FileNotFoundError:
        return
    hint = f"look at it, then remove it: rm {path}"
    if stat.S_ISLNK(facts.st_mode):
        raise Refused(f"{path} is a link that memoryd did not make", hint=hint)
    if not stat.S_ISSOCK(facts.st_mode):
        raise Refused(f"{path} is not a socket", hint=hint)
    if facts.st_uid != os.getuid():
        raise Refused(f"{path} belongs to another user (uid {facts.st_uid})", hint=hint)
    if somebody_answers(path):
        raise AlreadyRunning(
            f"another memoryd answers at {path}",
            hint="memoryd status shows it; memoryd stop ends it",
        )
    with suppress(FileNotFoundError):
        Path(path).unlink()


def somebody_answers(path: str) -> bool:
    """Whether a process listens there; one too busy to accept counts as well."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.settimeout(DIAL_SECONDS)
        try:
            caller.connect(path)
        except (BlockingIOError, TimeoutError):
            return True
        except OSError as error:
            return error.errno not in {errno.ECONNREFUSED, errno.ENOENT}
    return True


class BoundSocket:
    """Our name in the file system, removed again only while it still is ours."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.listening = bind(path)
        self._facts = self._identity()

    def is_in_place(self) -> bool:
        return self._facts == self._identity()

    def remove(self) -> None:
        self.listening.close()
        if self.is_in_place():
            with suppress(OSError):
                Path(self.path).unlink()

    def _identity(self) -> tuple[int, int] | None:
        try:
            facts = os.lstat(self.path)
        except OSError:  # it is gone, or somebody has closed the folder that it is in
            return None
        return facts.st_dev, facts.st_ino
