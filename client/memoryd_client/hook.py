"""Passes the agent's hook JSON to the daemon and prints the answer. It runs at every prompt.

Rules:
- It stands alone: the launcher runs this file with `python -I -S -E`, which cannot import even its
  own package, and every module it loads delays the person at the prompt. For the same reason the
  status line without another one before it is asked for here: `hook.py statusline`.
- One deadline covers everything from reading standard input to writing the answer. The kernel's
  timer enforces it, so no call can block past it, not even a connect to a full backlog.
- A command that a person typed to memoryd itself gets a longer one: they want its answer.
- It fails open: on any failure it prints nothing and exits with 0.
- An answer is printed whole or not at all.
- Inside a client that memoryd itself has started (MEMORYD_CHILD=1) it does nothing: a request of
  memoryd is nobody's prompt, and must not lead to another one.
- A prompt goes only to a daemon of this user: the socket's owner is checked before connecting, and
  the process behind it afterwards.
- The socket's path is decided here only; `locations` calls this module. `memoryd.base.paths` has
  the same rule for the daemon; change both together. If nothing is there, the other usual path is
  tried: agents start their servers, and cron its jobs, with few variables set.
"""

import _signal  # type: ignore[import-not-found]  # built in, no stub; signal would load enum
import posix
import sys

try:
    import _socket
except ImportError:  # not CPython; there the public module loads quickly
    import socket as _socket  # type: ignore[no-redef]

# A prompt may lose 300 ms, and the start of the interpreter comes on top of this.
DEADLINE_SECONDS = 0.22
# The client asks for its status line often, and shows the last one meanwhile.
LINE_SECONDS = 0.15
# For a prompt that is a command to memoryd; still less than the client waits.
COMMAND_SECONDS = 3.0
COMMANDS = (b'"prompt":"/memoryd:', b'"prompt": "/memoryd:')
REQUEST_BYTES = 8 * 1024 * 1024
ANSWER_BYTES = 1024 * 1024
CHUNK_BYTES = 64 * 1024
PATH_BYTES = 4096
USUAL_RUNTIME = b"/run/user"
# What a session's own variables say and the daemon cannot see; `memories/rules/session_marks`.
MARKS = (
    b"CLAUDE_CODE_DISABLE_AUTO_MEMORY",
    b"CLAUDE_CODE_SIMPLE",
    b"CLAUDE_CODE_REMOTE",
    b"CLAUDE_CODE_REMOTE_MEMORY_DIR",
    b"CLAUDE_COWORK_MEMORY_PATH_OVERRIDE",
)
UNSAFE = {*range(32), 34, 92, 127}  # would need escaping in JSON


def marks_in(environ: dict[bytes, bytes]) -> bytes:
    """The members of a JSON object: what the session's own environment says about memory."""
    found = []
    for name in MARKS:
        value = environ.get(name, b"")
        if value and len(value) <= PATH_BYTES and value.isascii() and not set(value) & UNSAFE:
            found.append(b'"%b":"%b"' % (name, value))
    return b",".join(found)


def request_for(payload: bytes, method: bytes = b"hook", marks: bytes = b"") -> bytes | None:
    """The one-line request for the agent's JSON object; None when the payload is not an object.

    The method comes last, so a key in the payload cannot replace it.
    """
    flat = payload.replace(b"\r", b" ").replace(b"\n", b" ").strip()
    if not (flat.startswith(b"{") and flat.endswith(b"}")):
        return None
    if marks:
        inner = flat[1:-1].strip()
        flat = b"{" + inner + (b"," if inner else b"") + b'"session_env":{' + marks + b"}}"
    request = b'{"jsonrpc":"2.0","params":' + flat + b',"id":1,"method":"%b"}\n' % method
    return request if len(request) <= REQUEST_BYTES else None


def output_in(answer: bytes) -> bytes:
    """What the hook must print, from a whole answer line; empty for anything else.

    A quote inside a JSON string is always escaped, so the quoted key cannot be part of a value.
    """
    _, result, rest = answer.partition(b'"result"')
    _, key, rest = rest.partition(b'"stdout"')
    value = rest.lstrip(b" \t:")
    if not (result and key and answer.endswith(b"\n")):
        return b""
    if not value.startswith(b'"') or value.startswith(b'""'):
        return b""
    return unescaped(value.decode("utf-8")).encode("utf-8", "replace")


def unescaped(quoted: str) -> str:
    """The text of the JSON string at the start of `quoted`."""
    try:
        from _json import scanstring  # noqa: PLC0415 - all of json would cost more than the call
    except ImportError:
        from json import JSONDecoder  # noqa: PLC0415 - an interpreter without the C module

        return str(JSONDecoder().raw_decode(quoted)[0])
    return scanstring(quoted, 1, True)[0]


def folder_in(environ: dict[bytes, bytes], name: bytes) -> bytes:
    """The normalised folder that a variable names; empty unless it is an absolute path."""
    value = environ.get(name, b"")
    if not value.startswith(b"/") or len(value) > PATH_BYTES:
        return b""
    return b"/" + b"/".join(part for part in value.split(b"/") if part not in {b"", b"."})


def within(folder: bytes, name: bytes) -> bytes:
    return folder.rstrip(b"/") + b"/" + name


def home_folder(environ: dict[bytes, bytes], uid: int) -> bytes:
    home = folder_in(environ, b"HOME")
    if home:
        return home
    import pwd  # noqa: PLC0415 - only a stripped environment needs it

    return pwd.getpwuid(uid).pw_dir.encode("utf-8", "surrogateescape")


def state_folder(environ: dict[bytes, bytes], uid: int, platform: str) -> bytes:
    named = folder_in(environ, b"XDG_STATE_HOME")
    usual = b"Library/Application Support" if platform == "darwin" else b".local/state"
    return within(named or within(home_folder(environ, uid), usual), b"memoryd")


def socket_path(environ: dict[bytes, bytes], uid: int, platform: str) -> bytes:
    """Where the daemon of this user listens; raises ValueError when MEMORYD_SOCKET cannot be used.

    The kernel limits the length of a socket's path. A derived path that is too long is replaced by
    a folder in /tmp named after the user and a hash of the path; `is_ours` checks its owner.
    """
    limit_bytes = 107 if platform == "linux" else 103
    if asked := environ.get(b"MEMORYD_SOCKET"):
        if not asked.startswith(b"/") or len(asked) > limit_bytes:
            raise ValueError(f"MEMORYD_SOCKET must be a full path of at most {limit_bytes} bytes")
        return asked
    folder = folder_in(environ, b"XDG_RUNTIME_DIR") or state_folder(environ, uid, platform)
    path = within(folder, b"memoryd.sock")
    if len(path) <= limit_bytes:
        return path
    from hashlib import sha256  # noqa: PLC0415 - only a long path needs it

    return b"/tmp/memoryd-%d-%b/memoryd.sock" % (uid, sha256(path).hexdigest()[:12].encode())


def found_socket(environ: dict[bytes, bytes], uid: int, platform: str) -> bytes:
    """Where the daemon really listens: it may have other variables; raises as `socket_path`."""
    path = socket_path(environ, uid, platform)
    if environ.get(b"MEMORYD_SOCKET") or is_there(path):
        return path
    if folder_in(environ, b"XDG_RUNTIME_DIR"):
        other = within(state_folder(environ, uid, platform), b"memoryd.sock")
        return other if is_there(other) else path
    other = within(USUAL_RUNTIME, b"%d/memoryd.sock" % uid)
    return other if is_there(other) and is_own_home(environ, uid) else path


def is_there(path: bytes) -> bool:
    try:
        posix.stat(path)
    except OSError:
        return False
    return True


def is_own_home(environ: dict[bytes, bytes], uid: int) -> bool:
    """Whether HOME is the user's real one; a throwaway home has a daemon of its own."""
    return home_folder(environ, uid) == home_folder({}, uid)


def is_ours(path: bytes, uid: int) -> bool:
    """Whether the socket is this user's, in a folder where no other user can replace it."""
    folder = path.rpartition(b"/")[0] or b"/"
    return posix.stat(path).st_uid == uid and posix.stat(folder).st_uid in {uid, 0}


def peer_is_ours(connection: _socket.socket, uid: int, platform: str) -> bool:
    """Whether this user, or root, listens at the other end: launchd's own sockets are root's."""
    if platform == "linux":
        peer = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    else:  # SOL_LOCAL and LOCAL_PEERCRED, which Python has no names for
        peer = connection.getsockopt(0, 1, 76)
    return int.from_bytes(peer[4:8], sys.byteorder) in {uid, 0}


def read_payload() -> bytes:
    """Standard input to its end; empty when it is over the limit."""
    chunks, size = [], 0
    while chunk := posix.read(0, CHUNK_BYTES):
        size += len(chunk)
        if size <= REQUEST_BYTES:
            chunks.append(chunk)
    return b"".join(chunks) if size <= REQUEST_BYTES else b""


def ask(
    path: bytes, request: bytes, seconds: float | None = None, most_bytes: int = ANSWER_BYTES
) -> bytes:
    """The daemon's answer line, or the part of it that came before the connection closed.

    No step may take longer than this many seconds; a hook has a timer for all of them instead.
    """
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.settimeout(seconds)
    connection.connect(path)
    if not peer_is_ours(connection, posix.getuid(), sys.platform):
        return b""
    connection.sendall(request)
    answer = b""
    while not answer.endswith(b"\n") and len(answer) <= most_bytes:
        chunk = connection.recv(CHUNK_BYTES)
        if not chunk:
            break
        answer += chunk
    return answer


def leave() -> None:
    """Exits with 0 at once; the kernel cleans up faster than the interpreter."""
    posix._exit(0)  # noqa: SLF001 - os._exit without loading os


def start_timer(seconds: float) -> None:
    """From now on the process exits silently at the deadline."""
    _signal.signal(_signal.SIGALRM, lambda *_: leave())
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, (_signal.SIGALRM,))
    _signal.setitimer(_signal.ITIMER_REAL, seconds)


def answer_to(payload: bytes, method: bytes) -> bytes:
    """What the daemon wants printed; empty when there is nothing, or nobody to ask."""
    request = request_for(payload, method, marks_in(posix.environ))
    path = found_socket(posix.environ, posix.getuid(), sys.platform)
    if request is None or not is_ours(path, posix.getuid()):
        return b""
    return output_in(ask(path, request))


def show_line() -> None:
    line = answer_to(read_payload(), b"statusline").strip()
    if line:
        posix.write(1, line + b"\n")


def relay() -> None:
    payload = read_payload()
    if COMMANDS[0] in payload or COMMANDS[1] in payload:
        _signal.setitimer(_signal.ITIMER_REAL, COMMAND_SECONDS)
    output = answer_to(payload, b"hook")
    if output:
        posix.write(1, output)


def main() -> None:
    try:
        if posix.environ.get(b"MEMORYD_CHILD") == b"1":
            return
        is_line = sys.argv[1:] == ["statusline"]
        start_timer(LINE_SECONDS if is_line else DEADLINE_SECONDS)
        show_line() if is_line else relay()
    finally:
        leave()


if __name__ == "__main__":
    main()
