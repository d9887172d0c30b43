"""The turns of transcripts from before the first start, read again from the files when needed."""

from collections.abc import Callable, Iterator
from typing import Final

from memoryd.cursors import OldPart
from memoryd.transcript_file import open_transcript
from memoryd.transcript_turns import Abandoned, Turn
from memoryd.transcripts import Follower

ALL_BYTES: Final = 1 << 62


def old_turns(
    root: str, part: OldPart, *, with_open: bool, is_stopping: Callable[[], bool]
) -> Iterator[Turn | Abandoned]:
    """What began in the old part, to its end wherever that is; OSError where it cannot be read.

    A last turn without an ending may still go on: it comes only `with_open`.
    """
    follower = Follower()
    with open_transcript(root, part.path) as file:
        for chunk in file.chunks(0, ALL_BYTES):
            for event in follower.feed(chunk):
                if isinstance(event, Turn) and event.first_offset >= part.until:
                    return
                if isinstance(event, Turn | Abandoned):
                    yield event
            if is_stopping():
                return
    for event in follower.finish() if with_open else follower.settle():
        if isinstance(event, Turn) and event.first_offset < part.until:
            yield event
