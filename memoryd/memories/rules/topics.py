"""What a memory is: a topic file with a name, a description and one of four types.

Reading is tolerant, since people, agents and editors write these files too: the type may be flat or
nested under `metadata`, a broken header makes a topic without metadata, unknown fields survive.
Writing is strict: one form, one place for each field, nothing invisible.
"""

import re
import unicodedata
from collections.abc import Container
from typing import Final, Literal, get_args

import msgspec

from memoryd.base.timestamps import iso_time
from memoryd.memories.rules import headers
from memoryd.text.invisible import strip_invisible
from memoryd.text.shorten import cut_at_line_bytes, one_line

TopicType = Literal["user", "feedback", "project", "reference"]
Scope = Literal["project", "group", "user", "team", "agent"]
Trust = Literal["user-said", "agent-concluded", "imported"]

TYPES: Final[tuple[TopicType, ...]] = get_args(TopicType)
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
TRUSTS: Final[tuple[Trust, ...]] = get_args(Trust)
# The trust of a memory that nobody is known to have written; a header cannot claim it.
FOUND: Final = "found"
# The trust of a memory that a teammate wrote; a header cannot claim it either.
TEAM: Final = "team"
SHOWN_TRUSTS: Final = frozenset({*TRUSTS, FOUND, TEAM})

# The source of a memory that follows the person and comes from no session.
TYPED: Final = "terminal"

INDEX_FILE: Final = "MEMORY.md"
# How a sentence begins that an agent concluded, in a memory of what the person said.
CONCLUDED: Final = "(concluded)"
SCAN_LINES: Final = 30
RECALL_LIMIT_BYTES: Final = 4096
MANIFEST_LIMIT: Final = 200
SECONDS_A_DAY: Final = 86_400
NAME_WORDS: Final = 5
STEM_CHARACTERS: Final = 56

# What a file name can do without. A negation is not in it: "no tabs" must not become "tabs".
_FILLERS: Final = frozenset(
    """
    a an the i im me my we our us you your he she his her it its they them their is are was were be
    been being am to of in on at for from with by and or that this these those there here as so do
    does did have has had will would can could shall should may please just now also very
    """.split()  # noqa: SIM905 - four lines instead of 70
)
_APOSTROPHE: Final = re.compile("['\u2019]")


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of one topic file; fields missing from the header are empty.

    `valid_until` is the last day on which it is true, `checked` when a dream last looked for what
    it cites, `gone` what was not there any more.
    """

    name: str = ""
    description: str = ""
    type: TopicType | None = None
    created: str = ""
    source: str = ""
    trust: str = ""
    supersedes: tuple[str, ...] = ()
    superseded_by: str = ""
    retired: str = ""
    valid_until: str = ""
    review_by: str = ""
    checked: str = ""
    gone: str = ""
    body: str = ""
    has_header: bool = False
    author: str = ""
    """The teammate who wrote it, by the journal; never from the header."""


def parse(text: str) -> Topic:
    """Reads any text; one without a header becomes a body without metadata."""
    fields, body = headers.read(text)
    nested = fields.get("metadata")
    inner = nested if isinstance(nested, dict) else {}

    def field(key: str) -> str:
        value = fields.get(key, inner.get(key, ""))
        return strip_invisible(value).strip() if value and isinstance(value, str) else ""

    return Topic(
        name=field("name"),
        description=one_line(field("description")),
        type=_type_named(field("type")),
        created=field("created"),
        source=field("source"),
        trust=field("trust"),
        supersedes=_file_names(fields.get("supersedes", "")),
        superseded_by=field("superseded_by"),
        retired=_day(field("retired")),
        valid_until=field("valid_until"),
        review_by=field("review_by"),
        checked=_day(field("checked")),
        gone=one_line(field("gone")),
        body=body,
        has_header=bool(fields),
    )


def render(topic: Topic) -> str:
    """The text of a new topic file."""
    fields = {
        "name": topic.name,
        "description": topic.description,
        "type": topic.type or "",
        "created": topic.created,
        "source": topic.source,
        "trust": topic.trust,
        "supersedes": ", ".join(topic.supersedes),
        "valid_until": topic.valid_until,
        "review_by": topic.review_by,
        "checked": topic.checked,
        "gone": topic.gone,
    }
    kept = {key: strip_invisible(value) for key, value in fields.items() if value}
    return headers.render(kept, strip_invisible(topic.body))


def title_of(topic: Topic, file: str) -> str:
    """The memory's name, or words from its file name."""
    return topic.name or file.rpartition("/")[2].removesuffix(".md").replace("_", " ")


def is_retired(file: str, topic: Topic, superseded: frozenset[str], today: str) -> bool:
    """Whether recall skips this memory: it was replaced or taken back, or it has expired."""
    return file in superseded or topic.retired != "" or ("" < topic.valid_until < today)


def file_name_for(type_: TopicType, name: str, taken: Container[str]) -> str:
    """`<type>_<at most five telling words of the name>.md`, with a number if that is taken."""
    words = _ascii_words(name)
    if words and words[0] == type_:
        words = words[1:]
    telling = [word for word in words if word not in _FILLERS] or words
    stem = "_".join([type_, *telling[:NAME_WORDS]])[:STEM_CHARACTERS].rstrip("_-")
    candidate, number = f"{stem}.md", 1
    while candidate in taken:
        number += 1
        candidate = f"{stem}_{number}.md"
    return candidate


def _ascii_words(name: str) -> list[str]:
    """In lower case, accents folded; "don't" is one word."""
    bare = unicodedata.normalize("NFKD", _APOSTROPHE.sub("", name)).lower()
    letters = (c for c in bare if not unicodedata.combining(c))
    return "".join(c if c.isascii() and c.isalnum() else " " for c in letters).split()


def manifest_line(file: str, topic: Topic, modified: float) -> str:
    kind = f"[{topic.type}] " if topic.type else ""
    hook = topic.description or title_of(topic, file)
    return f"- {kind}{file} ({iso_time(modified)}): {hook}"


def days_old(modified: float, now: float) -> int:
    """Whole days since then; 0 for a time in the future."""
    return max(0, int((now - modified) // SECONDS_A_DAY))


def age_in_words(modified: float, now: float) -> str:
    days = days_old(modified, now)
    return ("today", "yesterday")[days] if days < 2 else f"{days} days ago"


def is_stale(modified: float, now: float) -> bool:
    """Older than one day, so shown with the caveat."""
    return now - modified > SECONDS_A_DAY


def cut_for_recall(
    content: str, path: str, limit_bytes: int = RECALL_LIMIT_BYTES
) -> tuple[str, bool]:
    """At most `limit_bytes`, cut at a line with a note that names the file; and if it was cut."""
    total_bytes = len(content.encode("utf-8", "replace"))
    if total_bytes <= limit_bytes:
        return content, False
    note = f"\n[cut: {total_bytes} bytes in all; read {path} for the rest]"
    room_bytes = max(0, limit_bytes - len(note.encode("utf-8", "replace")))
    return cut_at_line_bytes(content, room_bytes).removesuffix("\n") + note, True


def _day(text: str) -> str:
    """The text if it is an ISO date: a header of somebody else's may mean another thing."""
    digits = text.replace("-", "")
    return text if len(text) == 10 and text.count("-") == 2 and digits.isdecimal() else ""


def _type_named(text: str) -> TopicType | None:
    word = text.lower().partition(" ")[0]
    return next((known for known in TYPES if known == word), None)


def _file_names(value: headers.HeaderValue) -> tuple[str, ...]:
    if isinstance(value, dict):
        return ()
    names = value.strip("[]").split(",") if isinstance(value, str) else value
    return tuple(name.strip(" \"'") for name in names if name.strip(" \"'"))
