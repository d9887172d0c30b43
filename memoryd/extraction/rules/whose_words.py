"""A turn as its person said it: scripts and pasted blocks are not their words.

Rules
- A prompt that a script gave (`sdk`: `-p`, what is piped into it, a program that runs the client)
  is a notice, unless the settings count scripts as the person.
- What the client's history says was pasted is cut out of a prompt and stays as printed text behind
  it; a mark stands in its place. The typed rest is the person's.
- A pasted block is found as a whole, or else by its lines: white space, a masked secret or a cut
  may have changed part of it.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from memoryd.text.masking.mask import mask
from memoryd.transcripts.rules.turns import Turn, TurnPart

PASTE_MARK: Final = "[pasted text]"
LINE_CHARS_LEAST: Final = 12
LINES_LEAST: Final = 2


def as_said(turn: Turn, pasted: Sequence[str], *, counts_scripts: bool) -> Turn:
    """The turn with only the person's own words as prompts."""
    parts = tuple(
        one for part in turn.parts for one in _parts(part, pasted, counts_scripts=counts_scripts)
    )
    return turn if parts == turn.parts else msgspec.structs.replace(turn, parts=parts)


def is_scripted(turn: Turn) -> bool:
    """Whether a script, and no person, speaks in the turn."""
    sources = {part.source for part in turn.prompts}
    return sources == {"sdk"}


def _parts(part: TurnPart, pasted: Sequence[str], *, counts_scripts: bool) -> Iterator[TurnPart]:
    if part.kind != "prompt":
        yield part
    elif part.source == "sdk" and not counts_scripts:
        yield msgspec.structs.replace(part, kind="notice", source="notice")
    elif pasted and part.source not in {"command", "bash"}:
        text, cut = without_pasted(part.text, pasted)
        yield msgspec.structs.replace(part, text=text) if cut else part
        for block in cut:
            yield TurnPart("printed", block, part.at)
    else:
        yield part


def pasted_block(raw: str) -> str:
    """What was pasted, as it is in a turn; empty if it is too short to be told from typed words."""
    block = mask(raw.replace("\r\n", "\n").replace("\r", "\n")).strip()
    return block if len(block) >= LINE_CHARS_LEAST else ""


def without_pasted(text: str, pasted: Sequence[str]) -> tuple[str, list[str]]:
    """The text without the pasted blocks in it, and these blocks."""
    cut: list[str] = []
    for block in sorted(set(pasted), key=len, reverse=True):
        if block in text:
            text = text.replace(block, PASTE_MARK)
            cut.append(block)
            continue
        text, lines = _without_lines(text, block)
        if lines:
            cut.append("\n".join(lines))
    return text, cut


def _without_lines(text: str, block: str) -> tuple[str, list[str]]:
    known = {line.strip() for line in block.split("\n")}
    known = {line for line in known if len(line) >= LINE_CHARS_LEAST}
    if len(known) < LINES_LEAST:
        return text, []
    lines = text.split("\n")
    found = [line for line in lines if line.strip() in known]
    if len(found) < LINES_LEAST:
        return text, []
    first = next(number for number, line in enumerate(lines) if line.strip() in known)
    lines[first] = PASTE_MARK
    return "\n".join(line for line in lines if line.strip() not in known), found
