"""Which of the four types a statement has: by its form, then by what it is about.

Rules
- Who somebody is makes a `user` memory; a place outside the code a `reference`; what the person
  wants of the agent `feedback`; every other fact is about the `project`.
"""

# ruff: noqa: RUF001 - quotation marks are what some patterns are about

import re
from typing import Final, Literal

from memoryd.extraction.rules.explicit_forms import Form
from memoryd.extraction.rules.memory_requests import LEAD
from memoryd.text.lazy_regex import late
from memoryd.text.prose import matchable

MemoryType = Literal["user", "feedback", "project", "reference"]

_PLACE = late(
    r"https?://|\b(?:[\w-]+\.)+(?:com|org|net|io|dev|internal|example|local|cloud|app)\b"
    r"|\b(?:jira|linear|notion|slack|grafana|confluence|airtable|datadog|sentry|figma|wiki"
    r"|dashboard|runbook|sharepoint|trello|asana|github|gitlab|discord|bucket|drive|channel"
    r"|(?:kanban|sprint|project|team) board)"
    r"\b.*\b(?:in|at|on|under|is|are|lives?|filed|tracked|kept|look|there)\b"
    r"|\b(?:is|are|in|on|under) (?:the |our |an? )?(?:\w+ ){0,2}(?:jira|linear|notion|slack|grafana"
    r"|confluence|airtable|datadog|sentry|figma|wiki|runbook|sharepoint|trello|asana)\b"
    r"|\b(?:lives?|filed|tracked|documented|described|explained|defined|kept|stored|hosted"
    r"|found|logged)"
    r" (?:in|at|on|under)\b"
    r"|\b(?:in|under|at|on|from) (?:the|our|a) (?!same|whole|main)[\w-]+ (?:repo|repository"
    r"|calendar"
    r"|spreadsheet|sheet|folder)\b"
)
# Where something is: at a proper name, in quotes, or in a channel. Judged on the text as written.
_NAMED_PLACE = late(
    r"(?:\b(?:is|are|comes?|lives?|sits?|liegt|liegen|steht|stehen|est|sont|está|están|fica"
    r"|ficam|sono|si trova"
    r"|staat|staan)\s+(?:all |now |kept )?"
    r"|\b(?:ends? up|goes|go|keep|managed|tracked|maintained|asked for|documented|found|stored"
    r"|hosted|reported|filed|look|reachable)\b[^.!?]{0,40}?\b)"
    r"(?:in|on|at|under|to|from|im|auf|dans|sur|en|no|na|su|nel|nella|op)\s+"
    r"(?:the |our |an? |der |dem |la |le |el )?"
    r"(?:\w+ ){0,2}?(?:[\"“«]|#\w|(?!(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|January|February"
    r"|March|April|May|June|July|August|September|October|November|December|English|German)"
    r"[A-Z][a-z]+[A-Za-z]*)"
    r"|(?<!\w)#[a-z][\w-]{2,}|\b(?:gs|s3|ftp|sftp|smb)://|(?<!\S)//\w|\b[\w-]+:/\w"
    r"|(?<!\S)/(?:\w+/){1,}\w"
)
_ABOUT_ME = late(
    r"\bi am\b|\babout me\b"
    r"|\bmy (?:name|background|time ?zone"
    r"|pronouns|native|first|role|job)\b|\bi (?:work|live|speak|come) (?:as|in|at|for|from|\w+$)"
    r"|\bi (?:only |dont |do not |mostly |also )?(?:know|speak|understand|type|lead|wrote|moved|use"
    r"|work|read code|can read|have an? )\b|\babout me\b|\bin meinem beruf\b|\bich\b.*\bbin\b"
    r"|\bsou\b"
    r"|\bsono un\w* \b"
    r"|\bive been\b|\bi have \d+ years\b|\bich bin (?:ein|neu)|\bsoy\b|\bje suis\b|我是|私は"
)
# As written, since "im" without its apostrophe is a German word too.
_I_AM = late(r"\b[Ii]['’]m\b|(?:^|[,;:(] ?|\b(?:that|so|btw|and|know) )[Ii]m (?=[a-z])")
# What the person wants of the agent, or how their team works; "must" and "never" alone also stand
# in facts.
_ORDERS = late(
    r"\b(?:your?|dont|do not|please|ask me|tell me|show me|let me|without asking|bitte)\b"
    r"|^(?:\W*\w+){0,2}?\W*\b(?:immer|niemals|nie(?! \w+a\b)|siempre|nunca|toujours|jamais"
    r"|sempre|mai)\b"
    r"|^(?:\W|that |always |never |must )*(?:always|never|must)\b"
    r"|\bi (?:always |never |really )?(?:want|prefer|like|love|hate|dislike|need|expect|review)\b"
    r"|\bwe (?:only |always |never )*(?:use|write|name|prefer|format|indent|call|avoid)\b"
    r"|\b(?:every|each|any|all) (?:\w+ ){1,3}(?:needs?|must|should|gets?|comes? with)\b"
    r"|\b(?:je veux|quiero|ich will|ich mochte|keine?\b)|\w(?:iere?|ez)-moi\b"
    rf"|^{LEAD}(?:from now on,? |next time,? |remember(?: that| to)?:?,? |to )*"
    r"(?:use|run|write|keep"
    r"|put|make|check|test|commit|push|answer|reply|explain|prefer|stick|avoid|stop|start|no \w+"
    r"|only|read|look|ask|add|call|name|format|leave|skip|do|bump|update|squash|split|tell|show)\b"
    r"(?! \S+ (?:is|are|was|were|has|have|can|will|gets?)\b)"
    r"|不要|请|してください|しないで|отвечай|пиши|используй"
)
_RULE_FORMS: Final = frozenset(
    {
        "from-now-on",
        "next-time",
        "always-here",
        "always",
        "standing-rule",
        "from-now-on-elsewhere",
    }
)


def type_by_form(
    form: Form | Literal["announced"] | None, words: str, written: str = ""
) -> MemoryType:
    """The type by its form and plain words; `written` is the text with its capitals."""
    if form == "who-i-am":
        return "user"
    if form in _RULE_FORMS:
        is_place = _PLACE.search(words) or _NAMED_PLACE.search(written)
        return "reference" if is_place and re.search(r"\blook\b", words) else "feedback"
    if re.search(r"\bremember (?:not )?to\b", words):
        return "feedback"
    if _ABOUT_ME.search(words) or _I_AM.search(written):
        return "user"
    if _PLACE.search(words) or _NAMED_PLACE.search(written):
        return "reference"
    if form == "no-longer":
        return "feedback" if re.search(r"\byou\b", words) else "project"
    return "feedback" if _ORDERS.search(words) else "project"


def type_of(text: str) -> MemoryType:
    """What kind of memory a text makes that a person wants kept as it is."""
    return type_by_form(None, matchable(text), text)
