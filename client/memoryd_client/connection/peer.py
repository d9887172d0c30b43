"""Who is at the other end of the socket, and what an error of the system means there.

The client never connects to a socket of another user, nor asks a process of another user.
"""

import os
import socket
import sys

from memoryd_client import hook
from memoryd_client.connection.failures import Denied, NotRunning, ProtocolError, TimedOut

START_HINT = "start it with memoryd serve, or permanently with memoryd install --service"
DOCTOR_HINT = "find out why with: memoryd doctor"


def check_owner(path: str) -> None:
    if not hook.is_ours(os.fsencode(path), os.getuid()):
        raise Denied(
            f"{path} belongs to another user, so memoryd did not connect to it",
            "set MEMORYD_SOCKET to another path, for the daemon and for this command",
        )


def check_peer(connection: socket.socket, path: str) -> None:
    if not hook.peer_is_ours(connection, os.getuid(), sys.platform):
        raise Denied(
            f"a process of another user listens on {path}, so memoryd did not ask it",
            f"look at it: ls -l {path}",
        )


def failure_for(error: OSError, path: str) -> NotRunning | Denied | TimedOut | ProtocolError:
    """The kind of failure that an operating system error means here."""
    if isinstance(error, FileNotFoundError | ConnectionRefusedError | NotADirectoryError):
        return NotRunning(f"the daemon is not running: nothing listens on {path}", START_HINT)
    if isinstance(error, PermissionError):
        return Denied(f"this user may not open {path}", DOCTOR_HINT)
    if isinstance(error, TimeoutError):
        return TimedOut(f"the daemon did not answer in time on {path}", DOCTOR_HINT)
    reason = error.strerror or type(error).__name__
    return ProtocolError(f"the connection to the daemon broke: {reason}", DOCTOR_HINT)
