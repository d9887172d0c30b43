"""Where a sentence says that something changed: what it calls gone, and what holds instead.

Rules
- A mark is a word or two that says "no more", "in place of", "moved to", "now" or "forget". It
  says nothing about what changed: that is what stands beside it (`Change.gone`, `Change.frame`).
- A clause that says "no more" is gone as a whole; beside a comma only what follows "not" is.
- No mark counts in a question, a hypothesis, a reminder ("don't forget"), or in what holds once,
  today, this week or for this one.
- Matched on `prose.matchable` text.
"""

# ruff: noqa: RUF001 - accents and apostrophes are folded before anything is matched

from collections.abc import Iterator
from functools import cache
from typing import Final, Literal

import msgspec

from memoryd.base.remembered import remembered
from memoryd.extraction.rules.durable import is_for_the_moment, is_question
from memoryd.text.lazy_regex import late
from memoryd.text.masking.anchors import Anchors

ChangeKind = Literal["gone", "ended", "over", "shifted", "now"]

_SENTENCES_KEPT: Final = 1024


class Change(msgspec.Struct, frozen=True):
    """`gone` is what no longer holds, `frame` what was said of it, `value` what holds instead.

    A thing is `gone` by name, a clause is `ended`, something is `over`; a value was `shifted`, or
    something holds `now`. The last two name no old value. If the mark `is_verb`, what stands before
    it is its subject. What is only not needed may be so this once: not `is_lasting`.
    """

    kind: ChangeKind
    gone: str = ""
    frame: str = ""
    value: str = ""
    is_verb: bool = False
    is_lasting: bool = True


_STOP: Final = (
    r"(?=\s*[,;:.!()]|$| but | and | so | because | since | as of | from (?:now|here) on"
    r"| any ?more| any longer| now\b)"
)
_SHIFTED: Final = (
    r"(?:moved|switched|migrated|changed|went|gone|renamed|raised|lowered|bumped|upgraded|converted"
    r"|relocated|transitioned|transferred|increased|decreased|reduced|extended|shortened|pushed"
    r"|postponed|slipped|shifted|rescheduled|delayed|brought|cut|goes|go|grew|handed|umgestiegen"
    r"|umgezogen|gewechselt|migrado|cambiado|pasado|passe|passes|migre|mudou|mudamos|passamos"
    r"|passou|migramos|cambiamos|pasamos)"
)
_DROPPED: Final = (
    r"(?:replaced|killed|dropped|drop|ditched|abandoned|left|ripped out|given up(?: on)?"
    r"|gave up(?: on)?|got rid of|retired|stopped using|phased out|sunset|scrapped|shut down"
    r"|decommissioned|quit|said goodbye to|done with|through with)"
)
_IS: Final = r"(?:is|are|was|were|got|gets|has been|have been|had been|has|have)"
_NOT_ONE: Final = (
    r"(?!it\b|that\b|this\b|them\b|sure\b|yet\b|really\b|only\b|because\b|a problem\b)"
)
_SUBJECT: Final = r"(?:^|[,;:.!(] |\b(?:and|but|so|since|because|as) )"

_GONE_AFTER: Final = late(
    r"\b(?:instead of|rather than|in place of|anstatt|anstelle von|statt|en lugar de|en vez de"
    r"|au lieu d[eu]s?|invece di|em vez de|in plaats van)"
    rf" (?P<gone>.+?){_STOP}"
)
_GONE_FROM: Final = late(
    rf"\b{_SHIFTED}(?: (?:over|back|up|down|away|house|us|everything|all|it))*"
    r"(?: (?P<what>[^,;:.!]*?))?(?: from| away from| off| of)(?! now\b| here\b| \w+ on\b)"
    rf" (?P<gone>[^,;:!]+?)(?= to\b| onto\b| into\b| last\b| in \w+\b|\s*[,;:.!(]|$)"
)
_SWITCHED_TO_FROM: Final = late(
    rf"\b{_SHIFTED}(?: over)? to [^,;:.!]+? from (?!now\b|here\b)(?P<gone>[^,;:.!]+?){_STOP}"
)
_GONE_VON_AUF: Final = late(r"\bvo[nm] (?P<gone>\w+(?: \w+)?) (?:auf|zu[mr]?|nach) \S+")
_DE_A: Final = late(rf"\b{_SHIFTED} d[eo]s? (?P<gone>\w+(?: \w+)?) (?:a|para(?: o| a)?|vers) \S+")
_WE_DROPPED: Final = late(
    rf"(?P<who>\b(?:we|weve|i|ive|they|theyve|we can|we could|finally|we have"
    rf"|i have)\b(?: \w+){{0,2}}? )"
    rf"(?P<how>{_DROPPED}) (?P<gone>[^,;:.!]+?)"
    rf"(?= (?:with|by|for|in favou?r of|last|this|in|on|yesterday|support)\b|{_STOP[3:-1]})"
)
_IS_GONE: Final = late(
    rf"{_SUBJECT}(?P<gone>[^,;:.!(]+?) (?:{_IS} (?:\w+ly |now |since |been |just )*(?:replaced"
    rf"|superseded|retired|killed"
    r"|dropped|lifted|removed|scrapped|gone|dead|over|history|outdated|obsolete|deprecated"
    r"|abolished|deleted"
    r"|shut down|switched off|discontinued|out|archived|read-only|cancelled|canceled|no more"
    r"|passe)|died"
    r"|expired|ended"
    r"|has left|have left|left us|left the \w+)\b"
)
# Nobody reports a fault with these.
_BY_PLAN: Final = late(
    r"(?:replaced|superseded|retired|lifted|abolished|discontinued|history|archived|out|obsolete)$"
)
_NOT_THIS: Final = late(
    r"(?:[,;:(]|\b(?:and|but)\b) ?(?:and )?(?:its |it is |thats |they are )?(?:not(?: just"
    r"| only| on| in)?|no longer|no more|nicht(?: mehr)?|ya no|no"
    r"|pas|plus|ja nao|nao(?: mais)?|non(?: piu)?|niet(?: meer)?|kein\w*)"
    rf" {_NOT_ONE}(?P<gone>(?:\S+ ?){{1,6}}?)(?: any ?more| any longer| mehr)?(?=\s*[,;:.!()]"
    rf"|$| but | from now| now\b| - )"
)
_OVER: Final = late(
    rf"\bprefer\w* .+? over (?P<gone>.+?){_STOP}|\brather .+? than (?P<other>.+?){_STOP}"
)
_DEWA_NAKU: Final = late(
    r"(?P<gone>[a-z0-9._/-]+|[\u30a1-\u30ff]+|[\u4e00-\u9fff]+)(?:ではなく|じゃなくて?|でなく|の代わりに"
    r"|から(?=[\w]+に(?:移行|変更|切り替)))"
)

_VERBS: Final = (_SWITCHED_TO_FROM, _GONE_FROM, _GONE_VON_AUF, _DE_A, _WE_DROPPED)

_NO_MORE: Final = late(
    r"\bno longer\b|\bany ?(?:more|longer)\b|\bno more\b|\bnicht (?:mehr|langer)\b"
    r"|\bkein\w*\b.*\bmehr\b|\bya no\b"
    r"|\b(?:ne \w+|n(?!e\b|ous\b|os\b|otre\b|om\b|ew\b|ight|ode)[a-z]+)(?: \w+){0,2} plus\b"
    r"|^\W*plus (?:besoin|la peine)\b"
    r"|\bja nao\b|\bnao\b.*\bmais\b|\bnon\b.*\bpiu\b|\b(?:niet|geen)\b.*\bmeer\b|\bjuz nie\b"
    r"|больше не|もう.*(?:ない|ません)"
    r"|\bstop (?=\w+ing\b)|\bno (?:more )?need (?:to|for)\b|\b(?:dont|do not|doesnt"
    r"|neednt) (?:need|have) to\b"
    r"|\b(?:not|isnt|arent|no longer) (?:necessary|needed|required)\b"
)
_LASTS: Final = late(
    r"\bno longer\b|\bany ?(?:more|longer)\b|\bno more\b|\b(?:now|from now on|these days"
    r"|going forward|in future)\b"
    r"|\bmehr\b|\blanger\b|\bya no\b|\bplus\b|\bja nao\b|\bmais\b|\bpiu\b|\bmeer\b|\bjuz\b"
    r"|больше|もう"
    r"|\byou (?:dont|do not|neednt)\b|^(?:please )?stop\b"
)
_SHIFTED_TO: Final = late(
    rf"{_SUBJECT}(?P<frame>[^,;:!]*?)\b{_SHIFTED}(?: (?:over|back|up|down|out|forward"
    rf"|away))*(?P<what> [^,;:!]*?)?"
    rf" (?:to|until|till|onto|into|auf|zu[mr]?|nach|para(?: o| a)?|hasta|vers"
    rf"|a) (?P<value>[^,;:!]+)"
)
_NOW: Final = late(
    r"(?!^)(?<!from )(?<!by )(?<!right )(?<!until )(?<!for )\bnow\b(?! (?:i|we|you|that|lets"
    r"|please)\b)|\bas of (?:today|this|last|now|next)\b|\bthese days\b|\bfrom (?:now"
    r"|here) on\b"
    r"|\bgoing forward\b|\bhas a new\b|\bhave a new\b|\binstead$|\bsince (?:last|this"
    r"|yesterday)\b|\bhas changed\b|\bhave changed\b"
    r"|\bjetzt\b|\bab sofort\b|\bvon (?:jetzt|nun) an\b|\bneuerdings\b|\bahora\b"
    r"|\ba partir de (?:ahora|agora|maintenant)\b"
    r"|\bmaintenant\b|\bdesormais\b|\bdorenavant\b|\bfinalement\b|\bagora\b|\badesso\b"
    r"|\bora\b|\bvoortaan\b|今後|これから|今は|теперь"
)
# Of each list, one is in all that its pattern finds; to look for them is many times as fast.
_NOW_WORDS: Final = (
    *("now", "as of ", "these days", "from here on", "going forward", "a new", "instead", "since "),
    *("changed", "jetzt", "ab sofort", "nun an", "neuerdings", "ahora", "maintenant", "desormais"),
    *("dorenavant", "finalement", "agora", "adesso", "ora", "voortaan", "今後", "これから", "今は"),
    "теперь",
)
_NO_MORE_WORDS: Final = (
    *("more", "longer", "nicht ", "kein", "ya no", " plus", "plus ", "nao", "piu", "meer"),
    *("juz nie", "больше не", "もう", "stop ", "need", "have to", "necessary", "required"),
)
_CORRECTS: Final = late(
    r"\b(?:correction\b|i was wrong|wrong (?:info|number|name|date|value|address)|my (?:fault"
    r"|mistake|bad)|i misspoke|"
    r"not true any ?more|isnt right|small correction|korrektur|correccion|correcao|correzione"
    r"|stimmt nicht)"
)
_UNLESS: Final = late(
    r"\b(?:if|imagine|suppose|hypothetically|maybe|perhaps|might|would|wouldnt|could we"
    r"|should we|shall we|should i"
    r"|what if|i wonder|whether|thinking about|considering|planning to|want to|wants to|going to"
    r"|used to|wish|hope|lol|haha\w*|jk|still|again whether|says|said that|claims?|article"
    r"|blog|reddit|according to"
    r"|dont forget|do not forget|never forget|wenn|falls|wurde|wurden|sollen wir|vielleicht"
    r"|noch immer"
    r"|si (?!te\b)|quizas|tal vez|peut-etre|e se|se nos|talvez|forse|もし)\b"
)
_ONCE: Final = late(
    r"\b(?:this (?:one|week|time|month|sprint|once|morning|afternoon|evening|weekend|file|pr"
    r"|branch|commit|task|ticket|\w+ only)(?! instead of)"
    r"|these (?:two|three|ones|files|lines|tests)|(?:today|tonight|tomorrow)(?!s)"
    r"|just (?:this|today|once|for)|only (?:this|today|once|here)"
    r"|exceptionally|temporarily|for the moment|for now|meanwhile|until (?:mon|tues|wednes"
    r"|thurs|fri|satur|sun)day"
    r"|heute|morgen|diesmal|diese woche|dieses mal|nur (?:hier|heute|diesmal)|ausnahmsweise"
    r"|vorerst|fur dies\w*"
    r"|hoy|manana(?= es)|esta (?:semana|vez)|solo (?:hoy|esta|este|aqui)|este (?:mes|archivo)"
    r"|por ahora"
    r"|aujourdhui|cette (?:semaine|fois)|ce (?:mois|fichier|soir)|pour linstant"
    r"|exceptionnellement|hoje|esta semana|desta vez)\b"
    r"|\bhere(?=\s*[,;.!]|$)|だけ|今日|今回|今週|今月|とりあえず"
)
_AS_OF_THIS: Final = late(r"\b(?:as of|since|starting) (?:today|this \w+|tonight)")
_ADDS: Final = late(
    r"\b(?:also|too|as well|besides|in addition|additionally|auch|ausserdem|zusatzlich"
    r"|tambien|ademas|aussi|en plus|tambem|anche|ook)\b|も(?=[\w]*(?:使|書|対応))"
)
_CLAUSES: Final = late(
    r"\s*[,;:!()]+(?=\s|$)\s*|\.\s+|\s[-–—]+\s|\s(?:but|because|since(?! (?:last|this))|so"
    r"|sondern|aber|weil|sino|pero|porque|parce que|car)\s|。|、"
)


@remembered(_SENTENCES_KEPT)
def changes_in(text: str) -> tuple[Change, ...]:
    """What a sentence says has changed, in order of how outright it says so."""
    return tuple(_changes_in(text.strip(" .!")))


def _changes_in(text: str) -> Iterator[Change]:
    if not is_believed(text):
        return
    yield from _gone(text)
    yield from _ended(text)
    if not _ADDS.search(text):
        yield from _shifted(text)


def has_mark(text: str) -> bool:
    """Whether a sentence says at all that something changed."""
    return next(_changes_in(text.strip(" .!")), None) is not None


def is_believed(text: str) -> bool:
    """Whether what a sentence says of a change is meant, and for good."""
    once = _ONCE.search(_AS_OF_THIS.sub(" ", text))
    return not (is_question(text) or is_for_the_moment(text) or _UNLESS.search(text) or once)


def clauses_of(text: str) -> list[str]:
    return [clause for clause in _CLAUSES.split(text) if clause]


def _says_now(text: str) -> bool:
    return bool(_now_words().present_in(text)) and _NOW.search(text) is not None


def _says_no_more(text: str) -> bool:
    return bool(_no_more_words().present_in(text)) and _NO_MORE.search(text) is not None


@cache
def _now_words() -> Anchors:
    return Anchors(_NOW_WORDS)


@cache
def _no_more_words() -> Anchors:
    return Anchors(_NO_MORE_WORDS)


def _gone(text: str) -> Iterator[Change]:
    for pattern in (_GONE_AFTER, _NOT_THIS, _OVER, _DEWA_NAKU, *_VERBS):
        for match in pattern.finditer(text):
            found = match.groupdict()
            gone = found["gone"] or found.get("other") or ""
            frame = f"{text[: match.start()]} {found.get('what') or ''}"
            yield Change("gone", gone, frame, text[match.end() :], pattern in _VERBS)
    for match in _IS_GONE.finditer(text):
        is_lasting = bool(_BY_PLAN.search(match[0])) or _says_now(text)
        yield Change("over", match["gone"], "", text[match.end() :], is_lasting=is_lasting)


def _ended(text: str) -> Iterator[Change]:
    for clause in clauses_of(text):
        if _says_no_more(clause):
            is_lasting = bool(_LASTS.search(clause))
            yield Change("ended", _NO_MORE.sub(" ", clause), is_lasting=is_lasting)


def _shifted(text: str) -> Iterator[Change]:
    for match in _SHIFTED_TO.finditer(text):
        frame = f"{match['frame']} {match['what'] or ''}"
        yield Change("shifted", frame=frame, value=match["value"])
    is_corrected = bool(_CORRECTS.search(text))
    clauses = clauses_of(text)
    for clause in clauses:
        if is_corrected or _says_now(clause):
            yield Change("now", frame=_NOW.sub(" ", clause))
    if len(clauses) > 1 and _says_now(text):
        yield Change("now", frame=_NOW.sub(" ", text))
