"""What a sentence asks to forget, by the words that it calls it with.

Rules
- A verb of memory ("forget", "vergiss", "olvida") or of removal ("scrap", "ignore", "delete") takes
  a description of the memory as its object: "what I said about make check", "the tabs thing", "that
  I work on Fridays". It `is_strong` if the object is plainly something said or noted; a verb of
  removal counts only then. "Forget the parser" may be about the task.
- "What I said about X no longer applies", "X is no longer true" and "I changed my mind about X" say
  the same. So does "X is over, forget it".
- A reminder ("don't forget") asks for the opposite. A bare "forget it" names nothing.
- Matched on `prose.matchable` text.
"""

import re
from typing import Final

import msgspec

from memoryd.extraction.rules.change_marks import has_mark, is_believed
from memoryd.extraction.rules.durable import is_question
from memoryd.text.lazy_regex import late


class Forgotten(msgspec.Struct, frozen=True):
    """`about` describes the memory; `rest` is what the sentence says behind it."""

    about: str
    is_strong: bool
    rest: str = ""


_NOUNS: Final = (
    r"(?:rule|thing|stuff|note|instruction|preference|convention|request|order|guideline|memory"
    r"|requirement|reminder|remark|ban|idea|info|information|fact|entry|agreement|bit|part|point"
    r"|regel|hinweis|notiz|anweisung|sache|regle|consigne|remarque|histoire|regla|nota|instruccion"
    r"|regra|instrucao|regola)s?"
)
_SAID: Final = (
    r"(?:what(?:ever)? (?:i|we|you) \w+|anything (?:i|we|you) \w+|everything (?:i|we|you) \w+"
    r"|(?:i|we) (?:said|told|mentioned|asked)|was ich|wat ik|ce que|lo (?:que|de)\b|o que"
    r"|quello che|(?:your|the|my) (?:memory|notes)\b)"
)
_MEMORY: Final = late(
    rf"^(?:\W|about |all |that |the |my |our |your |this |die |den |das |la |le |les |cette "
    rf"|esa |a |o |el )*(?:[\w./-]+ ){{0,6}}?{_NOUNS}\b"
    rf"|{_SAID}|^that (?:i|im|ive|we|were|weve|my|our|you|the|it)\b|^,? ?(?:que|qu|dass|che"
    rf"|dat)\b|^lo de\b|\bfrom (?:your |the )?(?:memory|notes)\b"
)
_FORGET: Final = (
    r"(?:forget|vergiss|vergesst|oublie[zs]?|olvida(?:te)?|olvide|esquece|esqueca|dimentica"
    r"|scorda(?:ti)?|vergeet)"
)
_REMOVE: Final = (
    r"(?:scratch|scrap|disregard|ignore|drop|delete|erase|remove|ditch|cancel|strike|wipe|unlearn"
    r"|streich\w*|ignorier\w*|losch\w*|ignore[zs]?|supprime[zs]?|ignora|borra|apaga|cancella)"
)
_ASKS: Final = late(
    r"(?:^|[,;:.!] |\b(?:please|can|bitte|just|actually|and|so|now|ok|then|favor|plait)\b,? )"
    rf"(?:(?P<forget>{_FORGET})|{_REMOVE})\b,? (?P<about>(?:bitte |please "
    rf"|por favor,? )?[^;:]+)(?P<rest>.*)$"
)
_CUT: Final = late(
    r", (?!que\b|dass\b|was\b)|[;:]| (?:because|since|as it|weil|porque|parce que|car) | - "
)
_BARE: Final = late(
    r"(?:about )?(?:it|that|this|them|those|all|everything|das|es|ca|cela|lo|eso|isso)"
)
_INSTEAD: Final = late(r"(?:from now on|use|we(?:re|ve)?|its|always|lets)\b")
_NEVER: Final = late(
    r"\b(?:dont|do not|never|not to|lets not|wont|cant|cannot|didnt|did you|nicht|no|ne|nao"
    r"|non) (?:\w+ )?"
    rf"(?:{_FORGET}|vergessen|oublier|olvidar|olvides|esquecas)\b"
)
_NOT_OURS: Final = late(
    r"\b(?:you|i|we) (?:just |already )?(?:showed|sent|made|wrote|gave|did|posted|pasted"
    r"|added|created)\b"
    r"|^(?:the )?(?:last|latest|previous|above|rest|first|second)\b"
)
_IS_OFF: Final = late(
    r"(?:^|[,;:.!] |\b(?:so|and|but) )(?P<about>[^,;:!]+?),? (?:(?:is|are|was|does|do|has"
    r"|s)? ?(?:no longer|not|isnt|arent|doesnt|dont)"
    r" (?:true|valid|apply|applies|hold|holds|right|the case|correct|in force"
    r"|relevant)\b(?: any ?more| any longer| now)?"
    r"|(?:is|are) (?:over|off|void|moot|obsolete|outdated|history|cancelled|canceled"
    r"|gone)\b)(?P<rest>.*)$"
)
_ABOUT_RULE: Final = late(rf"\b{_NOUNS}\b|{_SAID}")
_MIND: Final = late(
    r"\b(?:changed (?:my|our) minds?|was wrong|were wrong) (?:about"
    r"|on) (?P<about>[^,;:!]+)(?P<rest>.*)$"
)
_AND_FORGET: Final = late(
    rf"^(?P<about>.+?)(?:,|;| -| and)+ (?:(?:so|and|please|just|you can"
    rf"|you may) )*(?:{_FORGET}|{_REMOVE})"
    r" (?:it|that|this)(?: rule| note| one| instruction)?$"
)
_TRUE: Final = late(
    r"\b(?:its|it is|thats) (?:not"
    r"|no longer) true(?: any ?more)? that (?P<about>[^,;:!]+)(?P<rest>.*)$"
)


def forgotten_in(sentence: str) -> Forgotten | None:
    """What the sentence asks to forget, if it does."""
    text = sentence.strip(" .!")
    if is_question(sentence) or _NEVER.search(text):
        return None
    if (match := _AND_FORGET.match(text)) and (
        has_mark(match["about"]) or _ABOUT_RULE.search(match["about"])
    ):
        return Forgotten(match["about"], is_strong=True)
    return _asked(text) or _told(text)


def _asked(text: str) -> Forgotten | None:
    match = _ASKS.search(text)
    if match is None:
        return None
    about = _CUT.split(match["about"], maxsplit=1)[0]
    rest = (match["about"][len(about) :] + match["rest"]).strip(" ,;:-.")
    if _BARE.fullmatch(about) or _NOT_OURS.search(re.sub(r"^(?:about |the )+", "", about)):
        return None
    is_strong = bool(_MEMORY.search(about) or _INSTEAD.match(rest))
    if not is_strong and (match["forget"] is None or not is_believed(text)):
        return None
    return Forgotten(about, is_strong, rest)


def _told(text: str) -> Forgotten | None:
    for pattern in (_MIND, _TRUE, _IS_OFF):
        match = pattern.search(text)
        if match is None or not is_believed(text):
            continue
        is_rule = bool(_ABOUT_RULE.search(match["about"]))
        if pattern is not _IS_OFF or is_rule or "true" in match[0]:
            return Forgotten(match["about"], is_strong=True, rest=match["rest"].strip(" ,;:-."))
    return None
