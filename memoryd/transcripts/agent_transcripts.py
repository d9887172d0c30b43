"""Reads what a sub-agent did: its own transcript, beside that of the session that started it.

Rules
- Such a file is `<slug>/<session>/subagents/**/agent-<id>.jsonl` in the projects folder; no link is
  followed, and a file outside is refused.
- Nobody in it is the person: the task, and what other agents send, are notices.
- Its turns are filed under the id of the agent, so that they never mix with those of a session.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Final

import msgspec

from memoryd.base.errors import MemorydError
from memoryd.system.beneath import open_beneath
from memoryd.system.folder import Folder
from memoryd.transcripts.rules.assembler import living_history, read_agent_entries
from memoryd.transcripts.rules.turns import Turn
from memoryd.transcripts.tail import relative_path

LIMIT_BYTES: Final = 64 * 1024 * 1024
CHUNK_BYTES: Final = 1024 * 1024


def is_agent_transcript(relative: str) -> bool:
    """Whether this path in the projects folder is a sub-agent's transcript."""
    parts = PurePosixPath(relative).parts
    return (
        len(parts) >= 4
        and parts[2] == "subagents"
        and parts[-1].startswith("agent-")
        and parts[-1].endswith(".jsonl")
    )


def agent_turns(root: str, transcript: str, agent: str) -> list[Turn]:
    """The turns of an agent, blocking; none if the file is absent. Refused for one outside."""
    path = relative_path(root, transcript)
    if not is_agent_transcript(path):
        return []
    session_id = path.rpartition("/")[2].removesuffix(".jsonl")
    try:
        history = living_history(read_agent_entries(_chunks(root, path)))
    except (OSError, MemorydError):
        return []
    return [
        msgspec.structs.replace(one, session_id=session_id, agent=agent)
        for one in history
        if isinstance(one, Turn)
    ]


def _chunks(root: str, path: str) -> Iterator[bytes]:
    with Folder.open(root) as folder:
        handle = open_beneath(folder.handle, path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file, suppress(OSError):
        left = LIMIT_BYTES
        while left > 0 and (chunk := file.read(min(CHUNK_BYTES, left))):
            left -= len(chunk)
            yield chunk
