"""The turns of transcripts from before the first start, read again from the files when needed."""

import errno
from collections.abc import Iterator

from memoryd.transcripts.file import ALL_BYTES, open_transcript
from memoryd.transcripts.rules.assembler import Follower
from memoryd.transcripts.rules.cursor import Cursor
from memoryd.transcripts.rules.turns import Abandoned, Turn


def old_turns(root: str, cursor: Cursor, *, with_open: bool) -> Iterator[Turn | Abandoned]:
    """What began in the old part, to its end wherever that is.

    A last turn without an ending may still go on: it comes only `with_open`. Raises OSError where
    the file cannot be read, or where other content has taken its place.
    """
    follower = Follower()
    with open_transcript(root, cursor.path) as file:
        if not file.is_that_of(cursor):
            raise FileNotFoundError(errno.ENOENT, "replaced since the first start", cursor.path)
        for chunk in file.chunks(0, ALL_BYTES):
            for event in follower.feed(chunk):
                if isinstance(event, Turn) and event.first_offset >= cursor.old_until:
                    return
                if isinstance(event, Turn | Abandoned):
                    yield event
    for event in follower.finish() if with_open else follower.settle():
        if isinstance(event, Turn) and event.first_offset < cursor.old_until:
            yield event
