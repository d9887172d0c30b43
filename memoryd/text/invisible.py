"""Removes invisible characters, except where a script or an emoji needs them.

Text that looks empty or harmless to a person can carry orders to a model: tag letters, variation
selectors as a byte channel, letters that look like blanks, marks that change the reading direction.
Rules:

1. Always removed: controls except tab and newline (so also the ESC of a terminal sequence),
   direction overrides, embeddings and isolates, zero-width spaces, byte order marks, soft hyphens,
   fillers, annotation marks, noncharacters and lone surrogates (which cannot be encoded).
2. Other line ends (a lone CR, NEL, U+2028, U+2029) become newlines, as they are displayed; CR LF
   stays. The blank Braille cell becomes the space that it looks like.
3. Joiners, presentation selectors, direction marks and tags stay where a script or an emoji needs
   them. A run of such marks is judged as one by the visible characters beside it and kept or
   removed as a whole, so that a second pass changes nothing.
4. Of the flags spelled in tags, the three that Unicode recommends stay (England, Scotland, Wales);
   any other spelling is hidden text behind a black flag.
"""

import re
from functools import cache
from typing import NamedTuple

from memoryd.text.lazy_regex import late

_CONTROLS = bytes({*range(0x20), 0x7F} - {0x09, 0x0A, 0x0D})

# Invisible characters that no text needs.
_NEVER = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f"
    "\xad\u034f\u115f\u1160\u17b4\u17b5"
    "\u200b\u202a-\u202e\u2060-\u206f\u3164"
    "\ufdd0-\ufdef\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\ud800-\udfff"
    "\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a"
    "\U000e0000-\U000e001f\U000e0080-\U000e0fff"
    + "".join(
        f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0x110000, 0x10000)
    )
)
_LINE_ENDS = "\x85\u2028\u2029"
_BRAILLE_BLANK = "\u2800"

# Invisible characters that some text needs.
_ZWNJ, _ZWJ = "\u200c", "\u200d"
_DIRECTION_MARKS = "\u061c\u200e\u200f"
_MONGOLIAN_SELECTORS = "\u180b-\u180f"
_TEXT_OR_EMOJI = "\ufe0e\ufe0f"
_TAGS = "\U000e0020-\U000e007f"
_MARKS = f"{_ZWNJ}{_ZWJ}{_DIRECTION_MARKS}{_MONGOLIAN_SELECTORS}{_TEXT_OR_EMOJI}"

_RIGHT_TO_LEFT = (
    "\u0590-\u08ff\ufb1d-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
)
_MONGOLIAN = "\u1800-\u180a\u1810-\u18af"
# Scripts whose letters change shape next to others.
_JOINING = (
    f"{_MONGOLIAN}\u0600-\u061b\u061d-\u08ff\ufb50-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc"
    "\u0900-\u0dff\u0f00-\u109f\u1780-\u17b3\u17b6-\u17ff\u1900-\u1cff"
    "\ua800-\ua8ff\ua930-\uaaff\uabc0-\uabff"
    "\U00010a00-\U00010fff\U00011000-\U00011fff\U0001e900-\U0001e95f"
)
_EMOJI = (
    "\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_SELECTABLE = f"{_EMOJI}\xa9\xae\u203c\u2049\u2122\u2139"
_FLAGS = "|".join(
    "".join(chr(0xE0000 + ord(letter)) for letter in region) + "\U000e007f"
    for region in ("gbeng", "gbsct", "gbwls")
)

_MARK_IN_ITS_PLACE = late(
    rf"""(?:
      (?<=[{_JOINING}]) [{_ZWNJ}{_ZWJ}]
    | {_ZWNJ} (?=[{_JOINING}])
    | (?<=[{_EMOJI}]) \ufe0f? {_ZWJ} (?=[{_EMOJI}])
    | (?<=[{_SELECTABLE}]) [{_TEXT_OR_EMOJI}]
    | (?<=[0-9#*]) \ufe0f (?=\u20e3)
    | (?<=[{_RIGHT_TO_LEFT}]) [{_DIRECTION_MARKS}]
    | [{_DIRECTION_MARKS}] (?=[{_RIGHT_TO_LEFT}])
    | (?<=[{_MONGOLIAN}]) [{_MONGOLIAN_SELECTORS}]
    ) (?![{_MARKS}])""",
    re.VERBOSE,
)
# "[x][x]*" rather than "[x]+": only then does the engine skip ahead to the first match.
_GONE = late(f"[{_NEVER}][{_NEVER}]*")
_LONE_CR = late(r"\r(?!\n)")
_MARK_RUN = late(f"[{_MARKS}][{_MARKS}]*")
_TAG_RUN = late(f"[{_TAGS}][{_TAGS}]*")
_FLAG_TAGS = late(f"(?<=\U0001f3f4)(?:{_FLAGS})(?![{_TAGS}])")


def _members(ranges: str) -> frozenset[str]:
    pairs = re.findall("(.)-(.)|(.)", ranges, re.DOTALL)
    return frozenset(
        chr(code)
        for first, last, single in pairs
        for code in range(ord(first or single), ord(last or single) + 1)
    )


class _Invisible(NamedTuple):
    gone: frozenset[str]
    tags: frozenset[str]
    marks: frozenset[str]
    all: frozenset[str]


@cache
def _invisible() -> _Invisible:
    """A set is ten times as fast as a pattern with ranges beyond the BMP."""
    gone, tags, marks = _members(_NEVER), _members(_TAGS), _members(_MARKS)
    rest = frozenset({*_LINE_ENDS, "\r", _BRAILLE_BLANK})
    return _Invisible(gone, tags, marks, gone | tags | marks | rest)


def strip_invisible(text: str) -> str:
    """The text without invisible characters; idempotent, and the result can be encoded."""
    if text.isascii() and "\r" not in text:
        return text.encode().translate(None, _CONTROLS).decode()
    invisible = _invisible()
    found = invisible.all.intersection(text)
    if "\r" in found:
        text = _LONE_CR.sub("\n", text)
    for line_end in found.intersection(_LINE_ENDS):
        text = text.replace(line_end, "\n")
    if _BRAILLE_BLANK in found:
        text = text.replace(_BRAILLE_BLANK, " ")
    if not invisible.gone.isdisjoint(found):
        text = _GONE.sub("", text)
    if not invisible.tags.isdisjoint(found):
        text = _TAG_RUN.sub(_kept_if_a_flag, text)
    return text if invisible.marks.isdisjoint(found) else _MARK_RUN.sub(_kept_if_needed, text)


def _kept_if_a_flag(run: re.Match[str]) -> str:
    return run[0] if _FLAG_TAGS.match(run.string, run.start()) else ""


def _kept_if_needed(run: re.Match[str]) -> str:
    return run[0] if _MARK_IN_ITS_PLACE.match(run.string, run.start()) else ""
