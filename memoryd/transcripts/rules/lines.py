"""Splits growing bytes into whole lines, at a position that can be stored, and decodes the lines.

Rules of splitting
- A line ends with a newline. Bytes after the last newline are held back until theirs comes: the
  client writes whole lines, but a crash or a slow disk can cut one.
- A line longer than LINE_BYTES_MAX is dropped while it streams past, and counted; it is never
  whole in memory, and the offset stays exact.
- Blank lines are ignored. The client starts an append with a newline if it finds a torn line.
- `LinePosition` is all that has to survive a restart: feeding the bytes from `offset` on gives
  every line that was not handed out before, and none twice.

Rules of decoding
- Only the type is decoded first: most bytes of a transcript are the client's own records, which
  are skipped without building them.
- The format is undocumented and changes. Unknown keys are ignored, and a key whose value may be
  garbage is typed `object`: a line is rejected only if it is meaningless without the value.
- A lone surrogate, which JavaScript can escape and UTF-8 cannot hold, becomes `?`.
"""

import json

import msgspec

LINE_BYTES_MAX = 8 * 1024 * 1024


class Line(msgspec.Struct, frozen=True):
    """One line without its newline; `offset` is its first byte, `end` the first byte after it."""

    offset: int
    end: int
    data: bytes


class LinePosition(msgspec.Struct, frozen=True):
    """Where reading continues.

    `mid_line` means that `offset` is inside a line to be dropped: one that was too long, or one
    that began before the first read.
    """

    offset: int = 0
    mid_line: bool = False
    long_lines: int = 0


class LineSplitter:
    """Hands out the lines of a file whose bytes are fed in order, in chunks of any size."""

    def __init__(
        self, position: LinePosition | None = None, limit_bytes: int = LINE_BYTES_MAX
    ) -> None:
        start = position or LinePosition()
        self._offset = start.offset
        self._mid_line = start.mid_line
        self._long_lines = start.long_lines
        self._limit_bytes = limit_bytes
        self._held = bytearray()

    @property
    def position(self) -> LinePosition:
        """What to store: the start of the first line not handed out yet."""
        return LinePosition(self._offset, self._mid_line, self._long_lines)

    @property
    def next_offset(self) -> int:
        """The byte that the next call of `feed` must start with."""
        return self._offset + len(self._held)

    def feed(self, chunk: bytes) -> list[Line]:
        *ended, rest = chunk.split(b"\n")
        lines = [line for piece in ended if (line := self._end_line(piece)) is not None]
        self._hold(rest)
        return lines

    def _end_line(self, piece: bytes) -> Line | None:
        start = self._offset
        self._offset += len(self._held) + len(piece) + 1
        if self._mid_line:
            self._mid_line = False
            return None
        data = bytes(self._held) + piece if self._held else piece
        self._held.clear()
        if len(data) > self._limit_bytes:
            self._long_lines += 1
            return None
        if not data or data.isspace():
            return None
        return Line(start, self._offset, data)

    def _hold(self, rest: bytes) -> None:
        if self._mid_line:
            self._offset += len(rest)
            return
        self._held += rest
        if len(self._held) > self._limit_bytes:
            self._offset += len(self._held)
            self._held.clear()
            self._mid_line = True
            self._long_lines += 1


class _Head(msgspec.Struct, gc=False):
    type: str = ""


class _CommonKeys(msgspec.Struct, rename="camel"):
    uuid: object = None
    parent_uuid: object = msgspec.UNSET
    is_sidechain: object = False
    timestamp: object = None
    session_id: object = None
    cwd: object = None
    git_branch: object = None
    prompt_id: object = None
    entrypoint: object = None


class MessageBlock(msgspec.Struct):
    type: object = None
    text: object = None
    id: object = None
    name: object = None
    input: object = None
    tool_use_id: object = None
    content: object = None
    is_error: object = None


class LineUsage(msgspec.Struct):
    input_tokens: object = 0
    cache_creation_input_tokens: object = 0
    cache_read_input_tokens: object = 0
    output_tokens: object = 0


class Message(msgspec.Struct):
    content: str | list[MessageBlock]
    id: object = None
    model: object = None
    stop_reason: object = None
    usage: LineUsage | None = None


class UserLine(_CommonKeys, kw_only=True, rename="camel"):
    message: Message
    is_meta: object = False
    is_compact_summary: object = False
    is_visible_in_transcript_only: object = False
    prompt_source: object = None
    turn_origin: object = None
    origin: object = None
    tool_use_result: msgspec.Raw = msgspec.Raw(b"")
    tool_denial_kind: object = None


class AssistantLine(_CommonKeys, kw_only=True, rename="camel"):
    message: Message
    is_api_error_message: object = False


class SystemLine(_CommonKeys, rename="camel"):
    subtype: object = None
    content: object = None
    compact_metadata: object = None


class Attachment(msgspec.Struct, rename="camel"):
    type: object = None
    prompt: object = None
    human_turn: object = False
    command_mode: object = None
    origin: object = None


class AttachmentLine(_CommonKeys, kw_only=True, rename="camel"):
    attachment: Attachment


class QueueLine(msgspec.Struct, rename="camel"):
    """A side record: what went into or out of the queue of prompts."""

    operation: object = None
    content: object = None
    reason: object = None
    timestamp: object = None


TreeLine = UserLine | AssistantLine | SystemLine | AttachmentLine
ReadLine = TreeLine | QueueLine

_HEAD = msgspec.json.Decoder(_Head)
_SHAPES: dict[
    str,
    msgspec.json.Decoder[UserLine]
    | msgspec.json.Decoder[AssistantLine]
    | msgspec.json.Decoder[SystemLine]
    | msgspec.json.Decoder[AttachmentLine]
    | msgspec.json.Decoder[QueueLine],
] = {
    "user": msgspec.json.Decoder(UserLine),
    "assistant": msgspec.json.Decoder(AssistantLine),
    "system": msgspec.json.Decoder(SystemLine),
    "attachment": msgspec.json.Decoder(AttachmentLine),
    "queue-operation": msgspec.json.Decoder(QueueLine),
}


def decode_line(data: bytes) -> ReadLine | None:
    """The line, or None if its type is not one of ours; raises ValueError, RecursionError."""
    try:
        return _decode(data)
    except ValueError:
        if b"\\u" not in data:
            raise
    return _decode(json.dumps(json.loads(data), ensure_ascii=False).encode("utf-8", "replace"))


def _decode(data: bytes) -> ReadLine | None:
    shape = _SHAPES.get(_HEAD.decode(data).type)
    return None if shape is None else shape.decode(data)
