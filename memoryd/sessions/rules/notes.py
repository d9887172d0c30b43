"""Session notes as text: when they are due, their ten sections, and their limits.

- Due when the context of a session first reaches 10,000 tokens, then whenever it has grown by 5,000
  and either three tool calls happened or the last answer asked for no tool. A compaction makes the
  context small again: growth counts from there.
- A section has at most 2,000 tokens, all of them 12,000. Over that the least important is cut
  first, oldest lines first, and says how many lines were left out.
- The user's own template replaces the ten sections; its `# Headings` are the sections.
"""

import json
import re
from collections.abc import Sequence
from typing import Final

import msgspec

from memoryd.base.paths import path_is_usable
from memoryd.text.lazy_regex import late
from memoryd.transcripts.rules.turns import Turn

FIRST_TOKENS: Final = 10_000
GROWTH_TOKENS: Final = 5_000
TOOL_CALLS: Final = 3
SECTION_TOKENS: Final = 2_000
TOTAL_TOKENS: Final = 12_000
CHARACTERS_PER_TOKEN: Final = 4

_CWD = re.compile(rb'"cwd":\s*("(?:[^"\\]|\\.)*+")')

SECTIONS: Final = (
    ("Session Title", "A few words that tell this session from all others."),
    ("Current State", "What is being done right now, what is left, and the next step."),
    ("Task specification", "What the person asked for, and every decision about it."),
    ("Files and Functions", "Which files matter, what is in them, and why they matter."),
    ("Workflow", "Which commands are run, in which order, and how to read what they say."),
    ("Errors & Corrections", "What went wrong, how it was fixed, what not to try again."),
    ("Codebase and System Documentation", "How the parts work together."),
    ("Learnings", "What worked well, what did not, and what to avoid."),
    ("Key results", "Answers, tables or texts that the person asked for, word for word."),
    ("Worklog", "Step by step what was done, one short line each."),
)
# Which section is cut first if the whole is too long.
LEAST_IMPORTANT_FIRST: Final = (
    "Worklog",
    "Codebase and System Documentation",
    "Workflow",
    "Files and Functions",
    "Learnings",
    "Key results",
    "Errors & Corrections",
    "Task specification",
    "Current State",
    "Session Title",
)

_HEADING = late(r"^#\s+(.+?)\s*$", re.MULTILINE)


class NotesProgress(msgspec.Struct, frozen=True):
    """How far a session is, and how far it was when its notes were last written."""

    context_tokens: int
    tool_calls: int
    noted_tokens: int | None = None
    noted_tool_calls: int = 0
    asks_for_tools: bool = False


class NotesSection(msgspec.Struct, frozen=True):
    title: str
    text: str


def notes_are_due(progress: NotesProgress) -> bool:
    if progress.noted_tokens is None:
        return progress.context_tokens >= FIRST_TOKENS
    # After a compaction the context is smaller than at the last notes: growth counts from zero.
    base = progress.noted_tokens if progress.context_tokens >= progress.noted_tokens else 0
    if progress.context_tokens - base < GROWTH_TOKENS:
        return False
    is_busy = progress.tool_calls - progress.noted_tool_calls >= TOOL_CALLS
    return is_busy or not progress.asks_for_tools


def unread_of(turn: Turn, covered: str) -> Turn:
    """A turn without what notes up to `covered` have in them; what a person said stays."""
    if not covered or turn.started > covered:
        return turn
    parts = [
        part for part in turn.parts if part.kind == "prompt" or not part.at or part.at > covered
    ]
    return msgspec.structs.replace(turn, parts=tuple(parts))


def template() -> str:
    """The ten sections, each with a line that says what belongs there."""
    return "\n".join(f"# {title}\n_{hint}_\n" for title, hint in SECTIONS)


def titles_of(text: str) -> tuple[str, ...]:
    return tuple(_HEADING.findall(text))


def sections_of(text: str) -> list[NotesSection]:
    """The text by its headings; what precedes the first one is left out."""
    pieces = _HEADING.split(text)
    return [
        NotesSection(title, body.strip())
        for title, body in zip(pieces[1::2], pieces[2::2], strict=True)
    ]


def has_shape_of(text: str, template_text: str) -> bool:
    """Whether it has exactly the template's sections, in the same order."""
    return titles_of(text) == titles_of(template_text)


def render(sections: Sequence[NotesSection], preface: str = "") -> str:
    """The notes within their limits."""
    bounded = [cut_section(one, SECTION_TOKENS) for one in sections]
    fitted = fit(bounded, TOTAL_TOKENS)
    head = f"{preface}\n\n" if preface else ""
    return head + "\n".join(f"# {one.title}\n\n{one.text}\n" for one in fitted)


def tokens_in(text: str) -> int:
    """An estimate that is good enough for a limit: four characters per token."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def cut_section(section: NotesSection, limit_tokens: int) -> NotesSection:
    """Cuts the section to so many tokens: the newest lines stay."""
    if tokens_in(section.text) <= limit_tokens:
        return section
    lines = section.text.split("\n")
    room = limit_tokens * CHARACTERS_PER_TOKEN - 40
    kept: list[str] = []
    for line in reversed(lines):
        if len(line) + 1 > room:
            break
        room -= len(line) + 1
        kept.insert(0, line)
    if not kept:
        return NotesSection(section.title, lines[-1][: max(0, room)].rstrip() + " […]")
    gone = len(lines) - len(kept)
    return NotesSection(section.title, "\n".join([f"[{gone} older lines left out]", *kept]))


def fit(sections: Sequence[NotesSection], limit_tokens: int) -> list[NotesSection]:
    """Cuts sections until all fit into the limit, the least important first."""
    fitted = list(sections)
    order = {title: place for place, title in enumerate(LEAST_IMPORTANT_FIRST)}
    places = sorted(range(len(fitted)), key=lambda at: order.get(fitted[at].title, len(order)))
    for at in places:
        over = sum(tokens_in(one.text) for one in fitted) - limit_tokens
        if over <= 0:
            break
        fitted[at] = cut_section(fitted[at], max(50, tokens_in(fitted[at].text) - over))
    return fitted


def where_it_stopped(text: str, limit_characters: int = 1500) -> str:
    """The title and the current state from the notes, for the next session; empty without them."""
    wanted = {"Session Title", "Current State"}
    found = [one for one in sections_of(text) if one.title in wanted and one.text]
    return "\n".join(one.text for one in found)[:limit_characters].strip()


def cwd_in(head: bytes) -> str:
    """The first working directory that a transcript names; empty if there is none."""
    found = _CWD.search(head)
    try:
        cwd = json.loads(found[1]) if found else ""
    except ValueError:
        return ""
    return cwd if isinstance(cwd, str) and path_is_usable(cwd) else ""
