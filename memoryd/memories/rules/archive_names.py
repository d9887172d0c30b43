"""What an archive of memories holds, and which names in it mean what.

Rules
- Known: the memories as Markdown with their index, `.retired/` and `logs/`, the history as JSON
  lines, checkpoints, and a manifest. Other plain files are passed over.
- Nothing is ever unpacked to disk, but a name that would leave the folder it is unpacked to shows
  that somebody means harm: then the whole archive is refused. So are links, devices, and more or
  larger files than memories ever are.
"""

import re
from typing import Final, Literal

import msgspec

from memoryd.base.errors import Refused
from memoryd.text.lazy_regex import late

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
HISTORY: Final = "history.jsonl"
README: Final = "README.txt"
MOST_FILES: Final = 20_000
FILE_BYTES: Final = 1024 * 1024
HISTORY_BYTES: Final = 128 * 1024 * 1024
TOTAL_BYTES: Final = 256 * 1024 * 1024
ARCHIVE_BYTES: Final = 40 * 1024 * 1024

Kind = Literal["memory", "retired", "index", "log", "checkpoint", "manifest", "other"]

_NAME: Final = r"[^/\x00-\x1f\x7f\\]{1,200}"
_KINDS: Final[tuple[tuple[Kind, re.Pattern[str]], ...]] = (
    ("manifest", late(re.escape(MANIFEST))),
    ("index", late(r"memory/MEMORY\.md")),
    ("retired", late(rf"memory/(\.retired/{_NAME}\.md)")),
    ("log", late(r"memory/(logs/\d{4}/\d\d/\d{4}-\d\d-\d\d\.md)")),
    ("memory", late(rf"memory/((?!logs/|team/|\.){_NAME}(?:/{_NAME}){{0,3}}\.md)")),
    ("checkpoint", late(r"checkpoints/([A-Za-z0-9][A-Za-z0-9 ._-]{0,63})\.md")),
)

MADE_OF: Final = """\
This archive holds the memories of one project, as memoryd keeps them.

memory/            one Markdown file for each memory, and MEMORY.md, their index
memory/.retired/   memories that were replaced or taken back
memory/logs/       daily logs, if the project keeps any
history.jsonl      every version of every memory: one JSON object a line, the oldest first
checkpoints/       named copies of session notes

To read it you need nothing else. To bring it back: memoryd import-archive FILE
"""


class Manifest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`project` is the name of the project's folder, not its path."""

    format: int = FORMAT
    memoryd: str = ""
    exported: str = ""
    project: str = ""
    remote: str = ""
    root_commit: str = ""


class VersionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the history; `content` is None where the file was removed."""

    file: str
    version: int
    at: str
    cause: str
    session_id: str
    sha256: str
    content: str | None


def kind_of(name: str) -> tuple[Kind, str]:
    """What a file of the archive is, and its name there; Refused for one that leads out of it."""
    plain = name.removeprefix("./")
    if plain.startswith(("/", "~")) or "\\" in plain or ".." in plain.split("/") or "\0" in plain:
        raise Refused(f"the archive is refused: {name[:100]!r} leads out of it")
    for kind, pattern in _KINDS:
        if found := pattern.fullmatch(plain):
            return kind, found[found.lastindex or 0]
    return "other", plain
