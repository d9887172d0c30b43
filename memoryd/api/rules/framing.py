"""Splits a connection's bytes into JSON texts, and frames answers. The first byte shows which way.

- `{` or `[` first: one JSON text per line. Else `Content-Length` headers, as editors send them.
- A text is at most 8 MiB, a header block at most 8 KiB. Anything over a limit, or in neither
  framing (a browser's request, say), ends the connection.
"""

from typing import Final, Literal

Framing = Literal["lines", "headers"]

MESSAGE_LIMIT_BYTES: Final = 8 * 1024 * 1024
HEADER_LIMIT_BYTES: Final = 8 * 1024

_BLANK: Final = b" \t\r\n"


class FramingError(Exception):
    """The connection cannot continue; the message is sent to the peer."""


class Frames:
    """Takes bytes as they arrive and returns complete JSON texts."""

    def __init__(self) -> None:
        self.framing: Framing | None = None
        self._buffer = bytearray()
        self._scanned = 0
        self._body_bytes: int | None = None

    @property
    def is_waiting_for_more(self) -> bool:
        """Whether the peer has sent only part of a message."""
        return bool(self._buffer) or self._body_bytes is not None

    def feed(self, data: bytes) -> list[bytes]:
        self._buffer += data
        if self.framing is None and not self._recognise():
            return []
        found: list[bytes] = []
        while (text := self._next()) is not None:
            if text.strip(_BLANK):
                found.append(text)
        return found

    def _recognise(self) -> bool:
        start = self._buffer.lstrip(_BLANK)
        if not start:
            self._buffer.clear()
            return False
        self.framing = "lines" if start.startswith((b"{", b"[")) else "headers"
        self._buffer = start
        return True

    def _next(self) -> bytes | None:
        return self._next_line() if self.framing == "lines" else self._next_body()

    def _next_line(self) -> bytes | None:
        end = self._buffer.find(b"\n", self._scanned)
        if end < 0:
            self._scanned = len(self._buffer)
            if self._scanned > MESSAGE_LIMIT_BYTES:
                raise FramingError(f"a message may have at most {MESSAGE_LIMIT_BYTES} bytes")
            return None
        if end > MESSAGE_LIMIT_BYTES:
            raise FramingError(f"a message may have at most {MESSAGE_LIMIT_BYTES} bytes")
        self._scanned = 0
        return self._take(end + 1)

    def _next_body(self) -> bytes | None:
        if self._body_bytes is None:
            self._body_bytes = self._read_headers()
        if self._body_bytes is None or len(self._buffer) < self._body_bytes:
            return None
        size, self._body_bytes = self._body_bytes, None
        return self._take(size)

    def _read_headers(self) -> int | None:
        """The announced length, once the header block is complete."""
        end = self._buffer.find(b"\r\n\r\n", 0, HEADER_LIMIT_BYTES)
        if end < 0:
            _check_beginning(bytes(self._buffer[:HEADER_LIMIT_BYTES]))
            if len(self._buffer) >= HEADER_LIMIT_BYTES:
                raise FramingError(f"headers may have at most {HEADER_LIMIT_BYTES} bytes")
            return None
        length = _content_length(self._take(end + 4))
        if length > MESSAGE_LIMIT_BYTES:
            raise FramingError(f"a message may have at most {MESSAGE_LIMIT_BYTES} bytes")
        return length

    def _take(self, size: int) -> bytes:
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken


def framed(text: bytes, framing: Framing) -> bytes:
    if framing == "lines":
        return text + b"\n"
    return b"Content-Length: %d\r\n\r\n%b" % (len(text), text)


def _check_beginning(block: bytes) -> None:
    """Rejects at its first line what cannot be our headers."""
    line, newline, _ = block.partition(b"\n")
    if newline and b":" not in line:
        raise FramingError("expected JSON or Content-Length headers")


def _content_length(block: bytes) -> int:
    for line in block.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        if line and not colon:
            raise FramingError("expected JSON or Content-Length headers")
        if name.strip().lower() == b"content-length":
            if not value.strip().isdigit() or len(value.strip()) > 12:
                raise FramingError("Content-Length must be a number of bytes")
            return int(value)
    raise FramingError("headers without Content-Length")
