"""Whether a message may hold somebody else's words, although nothing says that it was pasted.

Rules
- The marks are: a voice that is named ("my boss says"), a text that is announced ("notes from the
  call:", "make this nicer:"), a sign-off, a time stamp or a ticket number, a line of a log, several
  lines that the person then asks about, and a long block in one go.
- One mark is enough. What such a message states is likely at most, and waits in the inbox: it is
  better to ask than to take a stranger's order for the person's.
"""

import re
from typing import Final

from memoryd.text.lazy_regex import late

LONG_BLOCK_CHARACTERS: Final = 450
LONG_BLOCK_SENTENCES: Final = 7

_FLAGS = re.IGNORECASE | re.MULTILINE
# Who says "do as the readme says" has made it their own.
_VOICE = late(
    r"(?<!\bas )(?<!\bas the )(?<!\bas our )(?<!\bwhat the )"
    r"\b(?:boss|manager|lead|cto|ceo|colleague|coworker|client|customer|intern|reviewer|vendor|he"
    r"|she"
    r"|they|someone|somebody|bot|docs?|readme|note|popup|blog|article|post|comment|coderabbit"
    r"|copilot"
    r"|chatgpt|gemini|sonar|chef|kollege|kunde|il|elle|ella)\b[^.:?!\n]{0,30}?"
    r"\b(?:says?|said|writes?|wrote|told|tells|reads|states?|stated|commented|comments|insists?"
    r"|left"
    r"|asks|asked|claims?|recommends?|suggests?|sagt|schreibt|schrieb|meint|dit|dice)\b",
    _FLAGS,
)
_ANNOUNCED = late(
    r"(?<!to )\b(?:got|received|found|have|saw) (?:this|that|it)\b[^.\n]{0,40}:"
    r"|\b(?:notes?|minutes|transcript|summary|excerpt|quote|rules|copy|clause|message)"
    r" (?:from|of|by)\b"
    r"|^(?:from|in) (?:the|a|an|this|their) [\w -]{2,30}:"
    r"|\bcomment(?:ed)? by\b|\bhere (?:are|is) (?:some|the|our|their|what|a few)\b"
    r"|^(?:please |pls )?(?:make|rephrase|reword|rewrite|proofread|translate|shorten|improve|polish"
    r"|summari[sz]e|implement|fix|address|answer|explain|continue|write(?! (?:this |that "
    r"|it )?down))\b[^.\n]{0,60}:(?:\s|$)"
    r"|\b(?:the following|as follows|see below|below)\b[^.\n]{0,20}:",
    _FLAGS,
)
_STAMPED = late(
    r"^\s*\[?\d{1,4}[./-]\d{1,2}[./-]\d{1,4},? +\d{1,2}:\d{2}"
    r"|^\s*\[?\d{1,2}:\d{2}(?: ?[ap]m)?\]?[ \t]+\S"
    r"|\b(?:today|yesterday) at \d|\b\d+ (?:minutes?|hours?|days?|weeks?) ago\b"
    r"|^\s*[A-Z][A-Z0-9]{1,9}-\d+\b[: ]|\b\d{1,2}:\d{2} ?[AP]M\b"
    r"|^\s*(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|npm (?:WARN|ERR)|Note:)[ \t]+\S",
    re.MULTILINE,
)
_SIGN_OFF = late(
    r"^\s*(?:best|(?:kind |best |warm )?regards|cheers|sincerely|gr(?:uß|uss|üße)|vg|lg|mfg"
    r"|viele gr\w+"
    r"|cordialement|saludos|saluti|abra[cç]os?)[,!]?\s*$",
    _FLAGS,
)
_ASKS_ABOUT_IT = late(
    r"\b(?:what do you (?:make|think)|do you agree|thoughts|should i (?:answer|reply)|what now"
    r"|is (?:it|this|that|he|she|any of (?:it|this)) (?:right|true|ok|any|good|correct|still)"
    r"|sum (?:it |this )?up|summari[sz]e|translate|[uü]bersetz\w*|compare|adapt"
    r"|turn (?:this|it) into|what did (?:they|he|she)|why does|explain|address|file it|improve it"
    r"|not sure about|looks weird"
    r"|what does (?:it|this|that)|shorten it|refactor)\b",
    re.IGNORECASE,
)
_FENCED = late(r"(?:^[^\n]*:[ \t]*\n+)?^```.*?(?:^```|\Z)", re.MULTILINE | re.DOTALL)
_POINTS = late(r"\b(?:this|that|it|these|them|below|das|ceci|esto)\b", re.IGNORECASE)
_SENTENCE_END = late(r"[.!?](?:\s|$)")


def may_be_anothers(message: str) -> bool:
    """Whether anything in the message shows that not all of it need be the person's own words."""
    text = _FENCED.sub("", message).strip()  # what is fenced is not taken for theirs anyway
    if any(mark.search(text) for mark in (_VOICE, _ANNOUNCED, _STAMPED, _SIGN_OFF)):
        return True
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and (_ASKS_ABOUT_IT.search(lines[-1]) or _points_down(lines[0])):
        return True
    return any(map(_is_long_block, text.split("\n\n")))


def _points_down(line: str) -> bool:
    return bool(_ASKS_ABOUT_IT.search(line) and _POINTS.search(line))


def _is_long_block(paragraph: str) -> bool:
    if len(paragraph) < LONG_BLOCK_CHARACTERS:
        return False
    return len(_SENTENCE_END.findall(paragraph)) >= LONG_BLOCK_SENTENCES
