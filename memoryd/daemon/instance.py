"""One daemon per user, and a socket that belongs to it.

Own the socket before binding it: first take an OS lock in the state folder, then dial the socket,
and replace it only if nothing answers. Anything there that memoryd did not make is refused.
"""

import errno
import fcntl
import os
import socket
import stat
from contextlib import suppress
from typing import Final, Self

from memoryd.base.errors import AlreadyRunning, Refused, StorageError
from memoryd.system.folder import make_folder
from memoryd.system.plain_file import refuse_unless_plain

BACKLOG: Final = 1024
DIAL_SECONDS: Final = 1.0


class InstanceLock:
    """Held from start to end; the OS releases it when the process dies, however it dies."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    @classmethod
    def take(cls, state_dir: str) -> Self:
        try:
            make_folder(state_dir)
            check_folder(state_dir)
        except OSError as error:
            raise StorageError(state_dir, "use", error, _how_to_go_on(error)) from error
        path = f"{state_dir}/memoryd.lock"
        refuse_unless_plain(path)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            handle = os.open(path, flags, 0o600)
        except OSError as error:
            raise StorageError(path, "open", error, _how_to_go_on(error)) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(handle, 20).decode("ascii", "replace").strip()
            os.close(handle)
            raise AlreadyRunning(
                f"memoryd is already running (process {holder or 'unknown'})",
                hint="memoryd status shows it; memoryd stop ends it",
            ) from error
        with suppress(OSError):  # on a full disk nobody learns who holds it, that is all
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        return cls(handle)

    def release(self) -> None:
        os.close(self._handle)


def _how_to_go_on(error: OSError) -> str:
    if error.errno not in {errno.EROFS, errno.EACCES, errno.EPERM}:
        return ""
    return "make it writable, or set XDG_STATE_HOME to a folder that is, then try again"


def check_folder(path: str) -> None:
    """Refuses a folder that another user could write to."""
    link, target = os.lstat(path), os.stat(path)  # noqa: PTH116 - the daemon starts without pathlib
    if not stat.S_ISDIR(target.st_mode):
        raise Refused(f"{path} is not a folder", hint="move it away, or use another folder")
    if target.st_uid != os.getuid() or link.st_uid != os.getuid():
        raise Refused(
            f"{path} belongs to another user (uid {target.st_uid})",
            hint="set MEMORYD_SOCKET or XDG_RUNTIME_DIR to a folder of your own",
        )
    if target.st_mode & 0o022:
        hint = f"chmod 700 {path}, or use another folder"
        raise Refused(f"{path} is writable by other users", hint=hint)


def bind(path: str) -> socket.socket:
    """A listening socket at the path, with mode 0600 from the moment it exists."""
    folder = os.path.dirname(path)  # noqa: PTH120 - the daemon starts without pathlib
    make_folder(folder)
    check_folder(folder)
    remove_stale_socket(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    umask = os.umask(0o177)
    try:
        listening.bind(path)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise StorageError(path, "listen on", error) from error
    finally:
        os.umask(umask)
    listening.setblocking(False)
    return listening


def remove_stale_socket(path: str) -> None:
    """Removes a socket that no process answers; refuses anything else at the path."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    hint = f"look at it, then remove it: rm {path}"
    if stat.S_ISLNK(found.st_mode):
        raise Refused(f"{path} is a link that memoryd did not make", hint=hint)
    if not stat.S_ISSOCK(found.st_mode):
        raise Refused(f"{path} is not a socket", hint=hint)
    if found.st_uid != os.getuid():
        raise Refused(f"{path} belongs to another user (uid {found.st_uid})", hint=hint)
    if is_answered(path):
        raise AlreadyRunning(
            f"another memoryd is listening on {path}",
            hint="memoryd status shows it; memoryd stop ends it",
        )
    with suppress(FileNotFoundError):
        os.unlink(path)  # noqa: PTH108 - the daemon starts without pathlib


def is_answered(path: str) -> bool:
    """Whether a process listens on the socket; one too busy to accept counts too."""
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
    """Our socket file; removed at the end only if it is still ours."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.listening = bind(path)
        self._bound_to = self._identity()

    def is_in_place(self) -> bool:
        return self._bound_to == self._identity()

    def remove(self) -> None:
        self.listening.close()
        if self.is_in_place():
            with suppress(OSError):
                os.unlink(self.path)  # noqa: PTH108 - the daemon starts without pathlib

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = os.lstat(self.path)
        except OSError:  # it is gone, or its folder cannot be entered
            return None
        return found.st_dev, found.st_ino
