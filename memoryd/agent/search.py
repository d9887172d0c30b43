"""Grep and Glob: search what a run may see, within limits of time, depth and size.

- Files are walked and opened here, by handles. The pattern of a Grep runs in a child process that
  gets their text, since a pattern can be made to run forever.
- The text is masked before the pattern sees it, in that child, which is slow (some megabytes a
  second): a search of a large tree says that there is more.
- In transcripts, only narrow excerpts are shown.
- Files that look like credentials are not searched; their names may be listed.
"""

import os
import sys
import time
from collections.abc import Iterator
from itertools import groupby, islice
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from memoryd.agent.grep_child import GrepAnswer, GrepQuery, frame
from memoryd.agent.rules import access
from memoryd.agent.rules.access import Denied
from memoryd.agent.rules.globs import Glob, TooManyAlternatives, fixed_part
from memoryd.agent.view import (
    BINARY_PROBE_BYTES,
    WALK_SECONDS,
    ResolvedPath,
    View,
    Walk,
    Walked,
    is_binary,
    open_plain,
)
from memoryd.system.landlock import Fence
from memoryd.system.subprocesses import run_child
from memoryd.text.masking.mask import presentable

PATTERN_LIMIT_CHARACTERS: Final = 1000
MATCHES_LIMIT: Final = 100
NAMES_LIMIT: Final = 300
LINE_CHARACTERS: Final = 500
TRANSCRIPT_CHARACTERS: Final = 300
PIECE_BYTES: Final = 1024 * 1024
OVERLAP_BYTES: Final = 16 * 1024
FILE_LIMIT_BYTES: Final = 4 * 1024 * 1024
SEARCH_LIMIT_BYTES: Final = 256 * 1024 * 1024
SEARCH_SECONDS: Final = 9.0
FEED_SECONDS: Final = 6.0
ANSWER_LIMIT_BYTES: Final = 1024 * 1024

# The path is an argument, since an isolated interpreter ignores the environment.
_PROGRAM: Final = "import sys; sys.path.insert(0, sys.argv[1]); \
from memoryd.agent.grep_child import main; main()"
_GREP_CHILD: Final = (sys.executable, "-IB", "-c", _PROGRAM, str(Path(__file__).parents[2]))


def grep(view: View, pattern: str, path: str | None, name_pattern: str | None) -> str:
    """The lines that match a regular expression, under the files they are in."""
    if not pattern or len(pattern) > PATTERN_LIMIT_CHARACTERS:
        raise Denied("bad-pattern", f"a pattern has 1 to {PATTERN_LIMIT_CHARACTERS} characters")
    start = view.start(path or None)
    search = _Search(view, start, glob_of(name_pattern) if name_pattern else None)
    width = TRANSCRIPT_CHARACTERS if start.root.kind == "transcripts" else LINE_CHARACTERS
    answer = search.ask(GrepQuery(pattern, width, MATCHES_LIMIT))
    lines = [
        text
        for file, matches in groupby(answer.matches, key=lambda match: match.file)
        for text in (search.paths[file], *(f"{one.line}: {one.text}" for one in matches))
    ]
    is_cut = answer.is_cut or search.is_cut
    return presentable("\n".join([*(lines or ["no matches"]), *_cut_note(is_cut=is_cut)]))


def glob(view: View, pattern: str, path: str | None) -> str:
    """The files whose path matches, one per line, under the folder they are in."""
    fixed, rest = fixed_part(pattern)
    if path and not fixed.startswith("/"):
        fixed = f"{path}/{fixed}"
    start = view.start(fixed or None)
    wanted = glob_of(rest)
    bounds = Walk(time.monotonic() + WALK_SECONDS)
    matching = (one.relative for one in view.walk(start, bounds) if wanted.matches(one.relative))
    names = list(islice(matching, NAMES_LIMIT + 1))
    is_cut = bounds.is_cut or len(names) > NAMES_LIMIT
    lines = [f"in {start.path}:", *names[:NAMES_LIMIT]] if names else ["no matches"]
    return presentable("\n".join([*lines, *_cut_note(is_cut=is_cut)]))


def glob_of(pattern: str) -> Glob:
    try:
        return Glob(pattern)
    except TooManyAlternatives:
        raise Denied("bad-pattern", "that pattern has too many alternatives or steps") from None


class _Search:
    """One query to the child process, and the files that it was given, by number."""

    def __init__(self, view: View, start: ResolvedPath, glob: Glob | None) -> None:
        self._view = view
        self._start = start
        self._glob = glob
        self._left_bytes = SEARCH_LIMIT_BYTES
        # The child needs time to answer after the last file.
        self._bounds = Walk(time.monotonic() + FEED_SECONDS)
        self.paths: list[str] = []

    @property
    def is_cut(self) -> bool:
        return self._bounds.is_cut

    def ask(self, query: GrepQuery) -> GrepAnswer:
        finished = run_child(
            _GREP_CHILD,
            fence=Fence(),
            cwd="/",
            seconds=SEARCH_SECONDS,
            output_limit_bytes=ANSWER_LIMIT_BYTES,
            feed=self._frames(query),
        )
        if finished.ended == "deadline":
            raise Denied(
                "too-slow", "the search took too long; use a simpler pattern or a narrower path"
            )
        if finished.status != 0:  # its memory is limited
            raise Denied("too-slow", "the search needs too much memory; use a simpler pattern")
        answer = msgspec.json.decode(finished.output, type=GrepAnswer)
        if not answer.is_pattern:
            raise Denied(
                "bad-pattern", "that is not a regular expression; escape what is meant literally"
            )
        return answer

    def _frames(self, query: GrepQuery) -> Iterator[bytes]:
        yield frame(msgspec.json.encode(query))
        for path, handle in self._files():
            number = len(self.paths)
            self.paths.append(path)
            with os.fdopen(handle, "rb") as file:
                for line, piece in _pieces(file):
                    yield frame(piece, number, line)
                    self._left_bytes -= len(piece)
                    if self._left_bytes <= 0 or not self._bounds.may_go_on():
                        self._bounds.is_cut = True
                        return

    def _files(self) -> Iterator[tuple[str, int]]:
        """Handles on the texts to search; files that cannot be opened are skipped."""
        for walked in self._view.walk(self._start, self._bounds):
            if self._glob is None or self._glob.matches(walked.relative):
                handle = _searchable(walked)
                if handle is not None:
                    yield walked.path, handle


def _searchable(walked: Walked) -> int | None:
    """A handle on a file that may be searched and is neither binary nor huge."""
    if access.looks_secret(walked.below_root, walked.root.kind):
        return None
    try:
        handle = open_plain(walked.folder, walked.name)
    except (Denied, OSError):
        return None
    is_huge = os.fstat(handle).st_size > FILE_LIMIT_BYTES and walked.root.kind != "transcripts"
    if is_huge or is_binary(os.pread(handle, BINARY_PROBE_BYTES, 0)):
        os.close(handle)
        return None
    return handle


def _pieces(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Whole lines with the number of the first; a very long line in overlapping parts."""
    line, rest = 1, b""
    while data := file.read(PIECE_BYTES):
        data = rest + data
        end = data.rfind(b"\n")
        if end < 0:
            yield line, data
            rest = data[-OVERLAP_BYTES:]
        else:
            yield line, data[:end]
            line += data.count(b"\n")
            rest = data[end + 1 :]
    if rest:
        yield line, rest


def _cut_note(*, is_cut: bool) -> list[str]:
    return ["[cut: there is more; ask for less with a narrower pattern or path]"] if is_cut else []
