"""Whether a message may hold somebody else's words, although nothing says that it was pasted.

Rules
- The marks are: a voice that is named ("my boss says", "it prints"), a text that is announced
  ("notes from the call:", "make this nicer:") or named behind it ("- Ole", "that is from their
  handbook"), a sign-off, a time stamp or a ticket number, a line of a log, a table, a change or a
  numbered task, several lines that the person then asks about, a line in capitals, many rules at
  once, and a long block in one go. Lines that were copied have marks of their own
  (`foreign_lines`).
- One mark is enough. What such a message states is likely at most, and waits in the inbox: it is
  better to ask than to take a stranger's order for the person's.
"""

import re
from typing import Final

from memoryd.extraction.rules.foreign_lines import is_object_of_the_task, stands_as_copied
from memoryd.text.lazy_regex import late

LONG_BLOCK_CHARACTERS: Final = 450
LONG_BLOCK_SENTENCES: Final = 7
# Nobody types so many rules in one go, but every handbook has them.
MANY_RULES: Final = 3

_FLAGS = re.IGNORECASE | re.MULTILINE
# Who says "do as the readme says" has made it their own.
_VOICE = late(
    r"(?<!\bas )(?<!\bas the )(?<!\bas our )(?<!\bwhat the )"
    r"\b(?:boss|manager|lead|cto|ceo|colleague|coworker|client|customer|intern|reviewer|vendor|he"
    r"|she|video|song|screen|linter|compiler|installer|toast|dialog|banner|sign"
    r"|sticker|label|poster|slide|book|manual|guide|tutorial|tweet|mail|email|letter|ticket|issue"
    r"|teacher|professor|doctor|mom|dad|wife|husband|friend|guy"
    r"|they|someone|somebody|bot|docs?|readme|note|popup|blog|article|post|comment|coderabbit"
    r"|copilot"
    r"|chatgpt|gemini|sonar|chef|kollege|kunde|il|elle|ella)\b(?:[^.:?!\n]|\d:\d){0,30}?"
    r"(?<!\byou )(?<!\bi )(?<!\bwe )\b(?:says?|said|writes?|wrote|told|tells|reads|states?|stated"
    r"|commented|comments|insists?|left"
    r"|asks|asked|claims?|recommends?|suggests?|prints?|printed|displays|pops up|goes(?! (?:in|to"
    r"|into|live|through|on|under|over|down|up)\b)|demands?|demanded|orders?|ordered|posted|posts"
    r"|replied|replies|answered|warns?|warned|wants(?= (?:us|me|you|to|everyone))|sings?"
    r"|sagt|schreibt|schrieb|meint|dit|dice)\b",
    _FLAGS,
)
_PRINTS = late(r"\bit (?:prints|printed|displays|outputs|pops up|reads|goes like)\b", _FLAGS)
_ANNOUNCED = late(
    r"(?<!to )\b(?:got|received|found|have|saw) (?:this|that|it)\b[^.\n]{0,40}:"
    r"|\b(?:notes?|minutes|transcript|summary|excerpt|quote|rules|copy|clause|message)"
    r" (?:from|of|by)\b"
    r"|^(?:from|in) (?:the|a|an|this|their) [\w -]{2,30}:"
    r"|\bcomment(?:ed)? by\b|\bhere (?:are|is) (?:some|the|our|their|what|a few)\b"
    r"|^(?:please |pls )?(?:make(?! a (?:quick |mental )?note)|rephrase"
    r"|reword|rewrite|proofread|translate|shorten|improve|polish"
    r"|summari[sz]e|implement|fix|address|answer|explain|continue"
    r"|write(?! (?:this |that |it )?down))\b[^.\n]{0,60}:(?:\s|$)"
    r"|^[^.\n:]{0,40}\b(?:please|pls) (?:format|tidy|clean|translate)\b[^.\n]{0,20}:"
    r"|\b(?:the following|as follows|see below|below)\b[^.\n]{0,20}:",
    _FLAGS,
)
# A rule behind a colon, and nothing before the colon announces it as the person's own.
_LED_IN = late(
    r"(?:^|[.!?]\s+)(?![^:\n]*\b(?:rules?|notes?|remember|reminders?|things?|now on|going forward"
    r"|generally|in general|before (?:we|i)|to know|fyi|btw|heads up|important|keep|wait|i|we"
    r"|preferences?|conventions?|remarks?|points?|please|pls|memory|future|later|next time"
    r"|merk\w*|bitte"
    r"|regel|recuerda|nota|retiens)\b)"
    r"(?=[^:\n]*[a-z])[^:\n!?]{1,60}:\s[^.!?\n]{0,80}?\b(?:always|never|from now on|remember|immer"
    r"|nie|niemals|ab jetzt|toujours|jamais|d[eé]sormais|siempre|nunca)\b",
    _FLAGS,
)
_NAMED_BEHIND = late(
    r"[.!?;\"'”]\s*(?:—|\u2013|--?|~)\s*[A-ZÄÖÜ][\w.]+(?: [A-Z][\w.]+)?\s*$"
    r"|\((?:[A-Z]\w+|from|says|via|source|quoted?)\b[^()\n]{0,60}\)\s*$"
    r"|(?:<-+|←|\^+)\s*(?:this|that|these|from|is|what|they|he|she|the)\b"
    r"|\b(?:this|that|it|these|those)(?: is| are|'s) (?:what (?![Ii] |we |you )|from"
    r"|out of|copied|quoted)\b"
    r"|\bthat'?s (?:\w+'s|the \w+'s)|\brumou?r has it\b|\bthey say\b|^--\s*$"
    r"|\b(?:copied|quoted) from\b",
    re.MULTILINE,
)
_OF_A_FILE = late(
    r"^[+-](?! )\S|^\d+[,;]\S|^\s*(?:\w+ )?\d+\)\s|^\s{0,4}--?\w[\w-]*\s{2,}\S"
    r"|^[^\n>]{1,40} > [^\n>]{1,40} > \S|^(?:usage|synopsis|description|name|options):?\s*$",
    _FLAGS,
)
_REACTION = late(
    r"\b(?:can you believe|believe (?:it|that)|who (?:sings|sang|wrote|said) (?:that|this|it)"
    r"|funny,? right|(?:is|are) (?:this|that|it|they) (?:legit|real|serious|normal|a joke)"
    r"|how (?:do|should) i (?:decline|answer|respond|reply|react)|whats? the gist|the gist"
    r"|annoying|ridiculous|lmao|wtf|convert (?:it|this|that)? ?to|turn (?:it|this|that) into"
    r"|make (?:it|this|that) an?\b(?! (?:rule|habit)))\b",
    re.IGNORECASE,
)
_RULE = late(
    r"(?:^|[.!?\n,;]\s*)(?:please )?(?:and )?(?:always|never|from now on|remember to|immer|nie"
    r"|niemals|ab jetzt|toujours|jamais|siempre|nunca)\b",
    re.IGNORECASE,
)
_SHOUTED = late(
    r"^(?=[^a-z\n]*\b(?:ALWAYS|NEVER|FROM NOW ON|REMEMBER)\b)[^a-z\n]{8,}$", re.MULTILINE
)
_STAMPED = late(
    r"^\s*\[?(?:(?:[Yy]esterday|[Tt]oday|(?:[Mm]on|[Tt]ue|[Ww]ed|[Tt]hu|[Ff]ri|[Ss]at|[Ss]un)\w*)"
    r",? )?\d{1,2}:\d{2}(?: ?[ap]m)?\]"
    r"|^\s*\S[^\n]{0,30}[ \t]\d{1,2}:\d{2}(?: ?[ap]m)?\s*$|^\d\d:\d\d\S* --> "
    r"|^\s*[\w. ]{2,30}[,(\[] ?\d{1,2}:\d{2}(?: ?[ap]m)?[)\]]?:?\s"
    r"|^\s*\[?\d{1,4}[./-]\d{1,2}[./-]\d{1,4},? +\d{1,2}:\d{2}"
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
_FENCED = late(
    r"(?:^[^\n]*:[ \t]*\n+)?(?:^```.*?(?:^```|\Z)|^>[^\n]*(?:\n>[^\n]*)*)",
    re.MULTILINE | re.DOTALL,
)
_POINTS = late(r"\b(?:this|that|it|these|them|below|das|ceci|esto)\b", re.IGNORECASE)
_SENTENCE_END = late(r"[.!?](?:\s|$)")


# These lead another's words in, so they count for what is behind them.
_LEADING: Final = (_VOICE, _PRINTS, _ANNOUNCED, _LED_IN, _OF_A_FILE, _STAMPED)
# These are about the message as a whole.
_OF_ALL: Final = (_REACTION, _SHOUTED, _SIGN_OFF)


def may_be_anothers(message: str, end: int | None = None, next_end: int | None = None) -> bool:
    """Whether anything shows that a sentence need not be the person's own words.

    `end` is where it ends, and `next_end` where the one behind it does, which may name its source;
    without them it is asked of the whole message.
    """
    whole, up_to_it, and_next = (
        # What is fenced or quoted is not taken for theirs anyway.
        _FENCED.sub("", message[:upto]).strip()
        for upto in (None, end, next_end)
    )
    if any(mark.search(up_to_it) for mark in _LEADING) or _NAMED_BEHIND.search(and_next):
        return True
    if any(mark.search(whole) for mark in _OF_ALL) or len(_RULE.findall(whole)) >= MANY_RULES:
        return True
    lines = [line for line in whole.splitlines() if line.strip()]
    if stands_as_copied(whole, up_to_it) or is_object_of_the_task(whole, up_to_it):
        return True
    if len(lines) > 1 and (_ASKS_ABOUT_IT.search(lines[-1]) or _points_down(lines[0])):
        return True
    return any(map(_is_long_block, whole.split("\n\n")))


def _points_down(line: str) -> bool:
    return bool(_ASKS_ABOUT_IT.search(line) and _POINTS.search(line))


def _is_long_block(paragraph: str) -> bool:
    if len(paragraph) < LONG_BLOCK_CHARACTERS:
        return False
    return len(_SENTENCE_END.findall(paragraph)) >= LONG_BLOCK_SENTENCES
