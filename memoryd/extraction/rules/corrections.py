"""How people take back what they said: which words end, forget or replace something.

Rules
- A correction is a sentence of the person's that says so outright: "forget what I said about",
  "we no longer", "you don't need to ... any more", "actually no", "not in Jira", "is now".
- It names what it is about; which memory that is decides `contradiction`.
- Never a correction: a question, a hypothesis, a report ("the linter never passes"), what holds for
  this file or this time, a bare "forget it".
- Matched on `prose.matchable` text, as the explicit forms are.
"""

# ruff: noqa: RUF001 - accents and apostrophes are folded before anything is matched

from typing import Final, Literal

import msgspec

from memoryd.base.remembered import remembered
from memoryd.extraction.rules.durable import is_for_the_moment, is_question
from memoryd.extraction.rules.forgetting import forgotten_in
from memoryd.extraction.rules.memory_requests import without_request
from memoryd.extraction.rules.withdrawals import withdrawal_in
from memoryd.text.lazy_regex import late

CorrectionKind = Literal["forgets", "ends", "replaces", "changes"]

_SENTENCES_KEPT: Final = 1024


class Correction(msgspec.Struct, frozen=True, kw_only=True):
    """What a sentence takes back.

    `about` are the words on its subject, `excludes` what it says no longer holds. `forgets` and
    `ends` name the old statement itself; `replaces` names the old value; `changes` only says what
    holds now. `is_strong` if it says outright that it takes something back. `successor` is what
    holds instead, if a sentence that forgets goes on to say it. The last three
    are those of a `Withdrawal`.
    """

    kind: CorrectionKind
    about: str
    excludes: str = ""
    is_strong: bool = False
    successor: str = ""
    is_lasting: bool = True
    is_inflected: bool = False
    is_report: bool = False


_GIVES_REASON: Final = late(
    r"^(?:i|we dont|nobody|not|no longer|its|it|that|this|thats|because|since|as|they|there|was"
    r"|im|sorry|please|thanks|thank)\b"
)
_STRONG: Final = late(
    r"^(?:\W|(?:hmm?|oh|wait|sorry|um|ok|please|so)\b)*"
    r"(?:actually,? no\b|no,? actually\b|correction\b|on second thoughts?\b|scratch that\b"
    r"|(?:that|this|it)(?:s| has| is)?(?: been)? (?:changed|wrong|different|outdated"
    r"|not true)(?: now)?(?=[:,;.])"
    r"|(?:update|correct|fix) (?:your|the) (?:memory|notes?)\b"
    r"|korrektur\b|doch anders\b|stimmt nicht(?: mehr)?\b|correccion\b|mejor no\b|correctif\b"
    r"|finalement\b|en fait,? non\b|correcao\b|na verdade,? nao\b|correzione\b|anzi\b"
    r"|actually,? (?=.*\bfrom now on\b))[\s,:.!-]*(?P<about>.+)$"
)
_OLD_VALUE: Final = (
    r"(?P<excludes>(?:in|on|at|into|with|to|from|the|via|through|en|em|auf|im|dans|le|el|nel) .+"
    r"|[\w./-]+(?: [\w./-]+)?)"
)
_INSTEAD: Final = tuple(
    late(pattern)
    for pattern in (
        r"^(?P<about>.+?),? (?:instead of|rather than|in place of) (?P<excludes>.+)$",
        (
            r"^(?P<about>.+?), (?:and )?(?:not|no longer|no|ya no|nicht(?: mehr)?|pas|plus"
            rf"|nao(?: mais)?|non(?: piu)?|niet(?: meer)?) {_OLD_VALUE}$"
        ),
        (
            r"^(?:\W|please |ok |so |and )*forget (?:about )?(?P<excludes>(?!it\b|that\b"
            r"|about\b)[\w./-]+(?: [\w./-]+)?),?"
            r" (?P<about>(?:from now on|use|we|its|always|lets)\b.+)$"
        ),
        (
            r"\b(?:we|weve|we have|ive|i have|i) (?:just |now |all )?"
            r"(?:moved|switched|migrated|changed) (?:over )?"
            r"(?:from|away from|off) (?P<excludes>.+?) (?:to|onto) (?P<about>.+)$"
        ),
    )
)
# "slipped to", "was pushed back to": what follows holds now.
_SHIFTS: Final = late(
    r"(?: (?:has|have|had|was|were|got|is|are|been|just|now))* (?:slipped|slips|pushed|moved"
    r"|postponed|rescheduled"
    r"|shifted|delayed|extended|raised|lowered|bumped|increased|reduced|changed|cut"
    r"|brought forward|renamed"
    r"|went)(?: back| out| forward| up| down)?(?: from (?P<from>[^,;]+?))? (?:to|until|till)\b"
)
_NOW: Final = late(
    r"(?<!from )\bnow\b|\bas of today\b|\bjetzt\b|\bab sofort\b|\bahora\b|\bmaintenant\b"
    r"|\bdesormais\b"
)
# Orders and remarks on what is in front of both: they end with the task.
_NOT_A_STATE: Final = late(
    r"^(?:\W|ok |and |so |please )*(?:you (?:can|may|could|should)|now|can|could|let|lets|run|fix"
    r"|try|check|do|make|reset|add|show|move|delete|open|go|its|it|that|this|there|theres|here)\b"
)
_WHO_DID: Final = late(r"^(?:i|we|you|he|she|they|ive|weve|someone)\b")
_POINTS: Final = late(
    r"\b(?:this|these|those|that one)\b"
    r"(?! (?:project|repo|repository|codebase|team|company|org|package|workspace)\b)"
)
_CLAUSE_END: Final = late(r"\s*(?:[,:;]|\s[-–—]+)\s+(?=\w)|\s*[.!]+$")
_NOT_MEANT: Final = late(
    r"\b(?:imagine|suppose|pretend|what if|if (?:i|we)|maybe|perhaps|might|i think|i guess|not sure"
    r"|should we|could we|i wonder|would|says|said that|lol|haha\w*|jk|used to|wish|hope)\b"
)
_CALLS: Final = late(
    r"^(?:\W|remember(?: that)?|heads up|fyi|note(?: that)?|please|btw|ok|okay|so|and|also|hey"
    r"|actually|keep in mind(?: that)?|merk dir|recuerda(?: que)?|retiens(?: que)?)+[\s:,]+"
)


@remembered(_SENTENCES_KEPT)
def correction_in(sentence: str) -> Correction | None:
    """What a sentence in `matchable` text takes back, if anything."""
    text = sentence.strip(" .!")
    if is_question(sentence) or is_for_the_moment(sentence):
        return None
    found = _forgotten(text)
    if found is not None or _NOT_MEANT.search(text) or _POINTS.search(text):
        return found
    return _strong(text) or _replaced(text) or _ended(text) or _changed(text)


def first_clause(text: str) -> str:
    return _CLAUSE_END.split(text, maxsplit=1)[0]


def _forgotten(text: str) -> Correction | None:
    found = forgotten_in(text)
    if found is None:
        return None
    rest = found.rest
    is_more = len(rest.split()) >= 3 and not _GIVES_REASON.match(rest)
    return Correction(
        kind="forgets",
        about=found.about,
        successor=rest if is_more else "",
        is_strong=found.is_strong,
    )


def _strong(text: str) -> Correction | None:
    match = _STRONG.match(text)
    if match is None:
        return None
    named = _replaced(match["about"])
    excludes = named.excludes if named else ""
    return Correction(kind="replaces", about=match["about"], excludes=excludes, is_strong=True)


def _ended(text: str) -> Correction | None:
    found = withdrawal_in(_bare(text))
    if found is None:
        return None
    return Correction(
        kind="ends",
        about=found.about,
        is_lasting=found.is_lasting,
        is_inflected=found.is_inflected,
        is_report=found.is_report,
    )


def _replaced(text: str) -> Correction | None:
    for pattern in _INSTEAD:
        match = pattern.search(text)
        if match is not None:
            excludes, _, _ = _parted(match["excludes"])
            # "moved from A to B for C": both are needed to know what it is about.
            return Correction(kind="replaces", about=_bare(match["about"]), excludes=excludes)
    return None


def _changed(text: str) -> Correction | None:
    clause = first_clause(_bare(text))
    if shift := _SHIFTS.search(clause):
        start, end = clause[: shift.start()], clause[shift.end() :]
        if not start or _NOT_A_STATE.match(start) or _WHO_DID.match(start):
            return None
        if shift["from"]:
            return Correction(kind="replaces", about=f"{start} is {end}", excludes=shift["from"])
        return Correction(kind="changes", about=f"{start} is now{end}")
    if not _NOW.search(clause) or _NOT_A_STATE.match(clause) or " too" in text:
        return None
    return Correction(kind="changes", about=clause)


def _bare(text: str) -> str:
    """Without what only asks for attention or memory."""
    return without_request(_CALLS.sub("", text))


def _parted(text: str) -> tuple[str, str, str]:
    """The first clause, what parts it from the rest, and the rest."""
    match = _CLAUSE_END.search(text)
    if match is None:
        return text, "", ""
    return text[: match.start()], match[0], text[match.end() :].strip(" ,:;.-")
