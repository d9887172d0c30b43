"""The command `statusline`: one line about memoryd for Claude Code's status line, which asks often.

It shares the hook's way to the daemon and its rules: few modules, one deadline, silence instead of
an error; where nothing is added to another line, the launcher asks by the hook alone. With
`--append-to COMMAND` it first runs the person's own status line with the same input and adds to its
last line; that line is printed whatever becomes of ours.
"""

import _signal  # type: ignore[import-not-found]  # built in, no stub; signal would load enum
import posix
import sys

from memoryd_client import hook

OWN_SECONDS = 5.0


class _Late(Exception):
    """The daemon did not answer in time."""


def main(words: list[str]) -> int:
    payload = hook.read_payload()
    theirs = their_output(words[1], payload) if words[:1] == ["--append-to"] and words[1:] else b""
    shown = joined(theirs, our_line(payload))
    if shown:
        posix.write(1, shown + b"\n")
    return 0


def joined(theirs: bytes, ours: bytes) -> bytes:
    """Our line at the end of theirs."""
    return b" | ".join(part for part in (theirs.rstrip(), ours.strip()) if part)


def our_line(payload: bytes) -> bytes:
    """What the daemon says; empty if it says nothing in time."""
    _signal.signal(_signal.SIGALRM, _give_up)
    _signal.setitimer(_signal.ITIMER_REAL, hook.LINE_SECONDS)
    try:
        return hook.answer_to(payload, b"statusline")
    except (_Late, OSError, ValueError, KeyError):
        return b""
    finally:
        _signal.setitimer(_signal.ITIMER_REAL, 0)


def _give_up(*_: object) -> None:
    raise _Late


def their_output(command: str, payload: bytes) -> bytes:
    """What another status line prints for the same input."""
    import subprocess  # noqa: PLC0415 - only a composed line needs it

    try:
        done = subprocess.run(  # noqa: S602 - the person's own command, as the client would run it
            command,
            shell=True,
            input=payload,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=OWN_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
