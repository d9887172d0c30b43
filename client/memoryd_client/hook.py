"""Hands the agent's hook JSON to the daemon and prints what comes back. It runs at every prompt.

Rules:
- It stands alone: an installed hook runs this file as `python -I -S -E .../hook.py`, where not even
  its own package can be imported, and every module that is loaded costs the person at the prompt.
- One deadline covers everything from reading standard input to writing the answer, by the kernel's
  own timer: no call in here can block past it, a connect to a full backlog included.
- It fails open: whatever goes wrong, nothing is printed and the exit code is 0.
- An answer is printed whole or not at all.
- The socket's place is decided here, once, and `locations` asks this module. `memoryd.paths` holds
  the daemon's half of the same rule; they change together. Where nothing is there, the other of the
  two usual places is tried: agents start their servers, and cron its jobs, with few variables.
"""

import _signal  # type: ignore[import-not-found]  # built in and without a stub; signal loads enum
import posix
import sys

try:
    import _socket
except ImportError:  # not CPython; there, the public module is the one that is quick to load
    import socket as _socket  # type: ignore[no-redef]

# Less than the 300 ms that a prompt may lose, because the interpreter's own start comes on top.
DEADLINE_SECONDS = 0.22
REQUEST_BYTES = 8 * 1024 * 1024
ANSWER_BYTES = 1024 * 1024
CHUNK_BYTES = 64 * 1024
PATH_BYTES = 4096
USUAL_RUNTIME = b"/run/user"


def request_for(payload: bytes) -> bytes | None:
    """The one-line request that carries a hook's JSON object; None when there is none to carry.

    The method stands last: a key repeated inside the payload cannot turn the call into another one.
    """
    flat = payload.replace(b"\r", b" ").replace(b"\n", b" ").strip()
    if not (flat.startswith(b"{") and flat.endswith(b"}")):
        return None
    request = b'{"jsonrpc":"2.0","params":' + flat + b',"id":1,"method":"hook"}\n'
    return request if len(request) <= REQUEST_BYTES else None


def output_in(answer: bytes) -> bytes:
    """What the hook must print according to a whole answer line; empty when it says nothing.

    A quote inside a JSON string is always escaped, so the bytes of the key are only ever the key.
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
    """The text of the JSON string that `quoted` begins with."""
    try:
        from _json import scanstring  # noqa: PLC0415 - all of json would cost more than the call
    except ImportError:
        from json import JSONDecoder  # noqa: PLC0415 - an interpreter without the C half

        return str(JSONDecoder().raw_decode(quoted)[0])
    return scanstring(quoted, 1, True)[0]


def folder_in(environ: dict[bytes, bytes], name: bytes) -> bytes:
    """The folder that a variable names, without idle parts; empty unless it is an absolute path."""
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
    import pwd  # noqa: PLC0415 - only a stripped environment pays for it

    return pwd.getpwuid(uid).pw_dir.encode("utf-8", "surrogateescape")


def state_folder(environ: dict[bytes, bytes], uid: int, platform: str) -> bytes:
    named = folder_in(environ, b"XDG_STATE_HOME")
    usual = b"Library/Application Support" if platform == "darwin" else b".local/state"
    return within(named or within(home_folder(environ, uid), usual), b"memoryd")


def socket_path(environ: dict[bytes, bytes], uid: int, platform: str) -> bytes:
    """Where the daemon of this user listens; raises ValueError when MEMORYD_SOCKET cannot be used.

    The kernel allows a socket only a short path: a derived one that is too long moves to a folder
    in /tmp, named after the user and the long path, whose owner `is_ours` checks.
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
    from hashlib import sha256  # noqa: PLC0415 - only a long path pays for it

    return b"/tmp/memoryd-%d-%b/memoryd.sock" % (uid, sha256(path).hexdigest()[:12].encode())


def found_socket(environ: dict[bytes, bytes], uid: int, platform: str) -> bytes:
    """Where the daemon listens, whatever it was started with; raises as `socket_path` does."""
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
    """Whether this is the user as they are; one with a throwaway home wants another daemon."""
    return home_folder(environ, uid) == home_folder({}, uid)


def is_ours(path: bytes, uid: int) -> bool:
    """Whether the socket is this user's, where nobody else could have planted or swapped it."""
    folder = path.rpartition(b"/")[0] or b"/"
    return posix.stat(path).st_uid == uid and posix.stat(folder).st_uid in {uid, 0}


def read_payload() -> bytes:
    """Standard input to its end; what is beyond the limit is read but not kept."""
    chunks, size = [], 0
    while chunk := posix.read(0, CHUNK_BYTES):
        size += len(chunk)
        if size <= REQUEST_BYTES:
            chunks.append(chunk)
    return b"".join(chunks) if size <= REQUEST_BYTES else b""


def ask(path: bytes, request: bytes) -> bytes:
    """The daemon's answer line, or whatever part of it came before the other side closed."""
    line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    line.connect(path)
    line.sendall(request)
    answer = b""
    while not answer.endswith(b"\n") and len(answer) <= ANSWER_BYTES:
        chunk = line.recv(CHUNK_BYTES)
        if not chunk:
            break
        answer += chunk
    return answer


def leave() -> None:
    """Success, at once: there is nothing to tidy that the kernel does not tidy faster."""
    posix._exit(0)  # noqa: SLF001 - os._exit under its first name; os would have to be loaded


def start_the_clock() -> None:
    """From here on the process ends by itself, quietly, when its time is up."""
    _signal.signal(_signal.SIGALRM, lambda *_: leave())
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, (_signal.SIGALRM,))
    _signal.setitimer(_signal.ITIMER_REAL, DEADLINE_SECONDS)


def relay() -> None:
    request = request_for(read_payload())
    path = found_socket(posix.environ, posix.getuid(), sys.platform)
    if request is None or not is_ours(path, posix.getuid()):
        return
    output = output_in(ask(path, request))
    if output:
        posix.write(1, output)


def main() -> None:
    try:
        start_the_clock()
        relay()
    finally:
        leave()


if __name__ == "__main__":
    main()
