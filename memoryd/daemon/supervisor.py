"""The supervisor that started us, if any: sockets from systemd or launchd, and status to systemd.

Both protocols are a few lines, so they are implemented here. Without a supervisor nothing happens.
"""

import contextlib
import ctypes
import os
import socket
from collections.abc import MutableMapping
from typing import Final

FIRST_INHERITED: Final = 3
LAUNCHD_SOCKET_NAME: Final = "memoryd"

_libc = ctypes.CDLL(None, use_errno=True)


class Supervisor:
    """What the environment says about the supervisor; removed from it, so no child inherits it."""

    def __init__(self, env: MutableMapping[str, str], pid: int) -> None:
        self._notify = env.pop("NOTIFY_SOCKET", "")
        watchdog = env.pop("WATCHDOG_USEC", "")
        watched = env.pop("WATCHDOG_PID", str(pid))
        is_ours = watched == str(pid) and watchdog.isdigit()
        self.watchdog_seconds = int(watchdog) / 1e6 if is_ours else None
        count, for_whom = env.pop("LISTEN_FDS", "0"), env.pop("LISTEN_PID", "")
        env.pop("LISTEN_FDNAMES", "")
        self._inherited = int(count) if for_whom == str(pid) and count.isdigit() else 0

    def sockets(self) -> list[socket.socket]:
        """The listening sockets that systemd or launchd made for us; none when started by hand."""
        handles = [*range(FIRST_INHERITED, FIRST_INHERITED + self._inherited)]
        taken = [_adopted(handle) for handle in handles or _from_launchd()]
        return [one for one in taken if one is not None]

    def ready(self, status: str) -> None:
        self._send(f"READY=1\nSTATUS={status}\nMAINPID={os.getpid()}")

    def alive(self) -> None:
        self._send("WATCHDOG=1")

    def stopping(self) -> None:
        self._send("STOPPING=1")

    def _send(self, message: str) -> None:
        if not self._notify:
            return
        address = "\0" + self._notify[1:] if self._notify.startswith("@") else self._notify
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify,
        ):
            notify.sendto(message.encode(), address)


def _adopted(handle: int) -> socket.socket | None:
    """The handle as a listening Unix socket, or None if it is something else."""
    try:
        os.set_inheritable(handle, False)
        found = socket.socket(fileno=handle)
    except OSError:
        return None
    if found.family != socket.AF_UNIX or not found.getsockopt(
        socket.SOL_SOCKET, socket.SO_ACCEPTCONN
    ):
        found.detach()
        return None
    found.setblocking(False)
    return found


def _from_launchd() -> list[int]:
    activate = getattr(_libc, "launch_activate_socket", None)
    if activate is None:
        return []
    handles, count = ctypes.POINTER(ctypes.c_int)(), ctypes.c_size_t()
    name = LAUNCHD_SOCKET_NAME.encode()
    if activate(name, ctypes.byref(handles), ctypes.byref(count)) != 0:
        return []
    try:
        return [handles[place] for place in range(count.value)]
    finally:
        _libc.free(handles)
