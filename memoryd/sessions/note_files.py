"""The files that notes are made of and written to: a session's transcript and its summary."""

import os
from pathlib import Path
from typing import Final

import msgspec

from memoryd.base import paths
from memoryd.base.timestamps import iso_time
from memoryd.system.folder import Folder
from memoryd.system.plain_file import modified_at, read_plain
from memoryd.text.decode import decoded
from memoryd.text.masking.mask import presentable
from memoryd.transcripts.file import ALL_BYTES, open_transcript
from memoryd.transcripts.rules.assembler import living_history, read_entries
from memoryd.transcripts.rules.turns import Turn

NOTES_BYTES: Final = 1024 * 1024
HEAD_BYTES: Final = 256 * 1024


class NotesAnswer(msgspec.Struct, frozen=True):
    text: str
    updated: str
    session_id: str = ""
    modified: float = 0.0


def turns_in(transcript: str) -> list[Turn]:
    """The turns of a session that are not on a dead branch, the current one included."""
    above, name = os.path.split(transcript)
    root, folder = os.path.split(above)
    try:
        with open_transcript(root, f"{folder}/{name}") as file:
            history = living_history(read_entries(file.chunks(0, ALL_BYTES)))
    except OSError:
        return []
    return [one for one in history if isinstance(one, Turn)]


def write_notes(transcript: str, text: str) -> None:
    """Writes the notes beside their transcript, durably and nowhere else."""
    notes_path, folder = paths.session_notes(transcript), str(Path(transcript).parent)
    inside = notes_path.removeprefix(f"{folder}/")
    with Folder.open(folder) as opened:
        current = opened.current(inside)
        opened.write(inside, text.encode(), over=current.version if current else None)


def notes_at(path: Path) -> NotesAnswer | None:
    """Notes as a model may see them; a person may have edited or removed them."""
    try:
        text = presentable(decoded(read_plain(path, NOTES_BYTES)))
    except OSError:
        return None
    modified = modified_at(path)
    return NotesAnswer(text, iso_time(modified), path.parent.parent.name, modified)


def head_of(transcript: Path) -> bytes:
    try:
        with transcript.open("rb") as file:
            return file.read(HEAD_BYTES)
    except OSError:
        return b""


def current_text(transcript: str) -> str:
    written = notes_at(Path(paths.session_notes(transcript)))
    return written.text if written else ""
