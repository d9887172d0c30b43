"""What people pasted into the agent's terminal, from the history that the client keeps.

- `history.jsonl` in the client's folder has a line per prompt. Short pastes are in the line, longer
  ones in `paste-cache/HASH.txt`. All of it is undocumented: what is missing or unreadable was not
  pasted, as far as we know.
- Only the end of a long history is read, and only again when the file has changed.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from memoryd.base.file_stamp import FileStamp
from memoryd.extraction.rules.whose_words import pasted_block
from memoryd.system.plain_file import opened
from memoryd.text.decode import decoded
from memoryd.text.lazy_regex import late

HISTORY_BYTES_MAX: Final = 16 * 1024 * 1024
PASTE_BYTES_MAX: Final = 256 * 1024
PASTES_MAX: Final = 200  # of one session

_HASH: Final = late(r"[0-9A-Za-z_-]{4,128}")
_NONE_PASTED: Final = b'"pastedContents":{}'


class PastedText(msgspec.Struct, frozen=True, rename="camel"):
    """Its text, or the name under which the client keeps the text."""

    content: object = None
    content_hash: object = None


class _HistoryLine(msgspec.Struct, rename="camel"):
    pasted_contents: dict[str, PastedText]
    project: object = None
    session_id: object = None


class PasteHistory:
    """Safe from any thread."""

    def __init__(self, claude_dir: str) -> None:
        self._folder = claude_dir
        self._stamp: FileStamp | None = None
        self._by_owner: dict[str, list[PastedText]] = {}
        self._last: tuple[tuple[str, str], tuple[str, ...]] | None = None
        self._lock = threading.Lock()

    def of(self, session_id: str, cwd: str) -> tuple[str, ...]:
        """All that was pasted in a session, as turns hold it; blocking."""
        with self._lock:
            self._refresh()
            # An import asks for the same session turn after turn.
            if self._last is None or self._last[0] != (session_id, cwd):
                self._last = ((session_id, cwd), self._blocks(session_id, cwd))
            return self._last[1]

    def _blocks(self, session_id: str, cwd: str) -> tuple[str, ...]:
        # Older clients name the project only.
        known = [*self._by_owner.get(session_id, []), *self._by_owner.get(cwd, [])]
        found = (pasted_block(self._text(one)) for one in known[-PASTES_MAX:])
        return tuple(filter(None, found))

    def _refresh(self) -> None:
        path = f"{self._folder}/history.jsonl"
        try:
            stamp = FileStamp.of(Path(path).stat())
        except OSError:
            self._stamp, self._by_owner, self._last = None, {}, None
            return
        if stamp == self._stamp:
            return
        self._stamp, self._by_owner, self._last = stamp, {}, None
        for line in _lines(_last_bytes(path, HISTORY_BYTES_MAX)):
            owner = line.session_id or line.project
            if isinstance(owner, str):
                self._by_owner.setdefault(owner, []).extend(line.pasted_contents.values())

    def _text(self, pasted: PastedText) -> str:
        if isinstance(pasted.content, str):
            return pasted.content[:PASTE_BYTES_MAX]
        name = pasted.content_hash
        if not isinstance(name, str) or not _HASH.fullmatch(name):
            return ""
        return decoded(_last_bytes(f"{self._folder}/paste-cache/{name}.txt", PASTE_BYTES_MAX))


def _lines(data: bytes) -> Iterator[_HistoryLine]:
    for line in data.split(b"\n"):
        if line and _NONE_PASTED not in line:
            with suppress(ValueError, RecursionError):
                yield _HISTORY_LINE.decode(line)


_HISTORY_LINE: Final = msgspec.json.Decoder(_HistoryLine)


def _last_bytes(path: str, limit_bytes: int) -> bytes:
    """The end of a regular file; nothing if it cannot be read."""
    try:
        with opened(path) as handle:
            size = os.fstat(handle).st_size
            return os.pread(handle, limit_bytes, max(0, size - limit_bytes))
    except OSError:
        return b""
