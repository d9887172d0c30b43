"""How people say that something no longer holds, in the languages that the forms know.

Rules
- A clause withdraws something if it says "no more" ("any longer", "nicht mehr", "ya no", "ne ...
  plus", "não ... mais"), or releases somebody from it ("no need to", "you can stop"). What else
  the clause says names what it withdraws: the subject does not matter.
- A release that does not say "any more" or "now" may be about the task at hand (`is_lasting`).
- What a thing no longer does ("the cache no longer resets") may be a fault that is reported.
- "I told you X, that's wrong by now" and "it's not true that X" withdraw X.
- Matched on `prose.matchable` text.
"""

# ruff: noqa: RUF001 - dashes and Cyrillic letters are what is meant

from typing import Final

import msgspec

from memoryd.text.lazy_regex import late


class Withdrawal(msgspec.Struct, frozen=True):
    """What is withdrawn; `is_inflected` in a language whose verbs change more than English ones.

    It `is_report` if it only says what something no longer does, which may be a fault.
    """

    about: str
    is_lasting: bool = True
    is_inflected: bool = False
    is_report: bool = False


_NO_MORE: Final = late(r"\bno longer\b|\bany ?(?:more|longer)\b|\bthese days\b")
_NO_MORE_ELSEWHERE: Final = late(
    r"\bnicht (?:mehr|langer)\b|\bkein\w*\b.*\bmehr\b|\bya no\b|\bno\b.*\b(?:nunca )?mas\b"
    r"|\b(?:ne \w+|n(?!e\b|ous\b|os\b|otre\b)[a-z]+)(?: \w+){0,2} plus\b|^\W*plus (?:besoin"
    r"|la peine)"
    r"|\bnao\b.*\bmais\b|\bnon\b.*\bpiu\b|\b(?:niet|geen)\b.*\bmeer\b|\bjuz nie\b|\bбольше не\b"
)
_RELEASES: Final = late(
    r"\b(?:dont|do not|doesnt|does not|no longer|wont|neednt)(?: really)? (?:need|have) to\b"
    r"|\bno (?:more )?need (?:to|for)\b|\b(?:not|isnt|arent|no longer) (?:necessary|needed"
    r"|required)\b"
    r"|\b(?:can|may|could) (?:now )?(?:stop|skip|quit|leave out)\b"
    r"|^(?:\W|please |ok |and |so |from now on,? )*stop (?=\w+ing\b(?: \S+){3,})"
)
_YOU_NEED: Final = late(r"\byou (?:(?:dont|do not|neednt)(?: really)? (?:need|have) to|can stop)\b")
_NOW: Final = late(r"\b(?:now|from now on|these days|going forward|in future)\b")
# What says that it ends, not what ends.
_MARKS: Final = late(
    r"\b(?:no longer|any ?(?:more|longer)|these days|from now on|going forward|now|please|ok"
    r"|(?:dont|do not|doesnt|does not|wont|neednt|not|no|isnt|arent|never|nobody)"
    r"(?: really)?(?: (?:need|have)(?:ed)?(?: to)?)?|need(?:ed)?(?: to| for)?|necessary|required"
    r"|can|may|could|weve|dropped|stop|skip|quit|leave out|there(?:s| is)|its|it is|true(?: that)?"
    r"|nicht|mehr|langer|kein\w*|brauch\w*|muss(?:t|en)?|notig|notwendig"
    r"|ya|no|nunca|mas|hace falta|hay que|tienes que|debes|necesit\w+|que"
    r"|ne|n(?:est|ont|as|a|y|ai|en|etes|avons)|plus|besoin|la peine|faut|dois|doit|doivent|obliges?"
    r"|nao|mais|precis\w+|deve\w*|tem que|non|piu|serve|bisogna|occorre|v(?:a|anno)"
    r"|niet|meer|hoef\w*|geen)\b"
)
_POINTS: Final = late(r"\b(?:it|them|those)\b")
_CLAUSE: Final = late(
    r"\s*[,;:]\s+|\s[-–—]+\s|\s(?:but|because|since|sondern|aber|weil|sino|pero|porque"
    r"|parce que|mas"
    r"|ma|maar)\s|\smais (?=l[ea]s? |plutot|on )|[.!]+$"
)
_REPORTS: Final = late(
    r"\b(?:works?|passe[sd]?|compiles?|loads?|responds?|renders?|funktioniert|lauft|geht|laadt"
    r"|marche|fonctionne"
    r"|compila|funciona|carga|arranca|funziona|parte)\b"
)
_BY_SOMEBODY: Final = late(
    r"\b(?:we|i|im|were|you|u|nobody|nobodys|one|the team|need\w*|have to|has to|must|required"
    r"|necessary|stop"
    r"|is|are|was|isnt|arent|be|owns?|leads?|handles?|maintains?|manages?|reviews?|uses?|wants?"
    r"|wir|ihr|du|man|muss\w*|brauch\w*|soll\w*|ist|sind|werden|wird"
    r"|\w+mos|hay|hace|tiene\w*|debe\w*|necesita\w*|se|es|son|esta\w*"
    r"|nous|on|tu|vous|besoin|doi\w+|n?est|n?a?i?ont|n?sont|sont|faut|nutilis\w+"
    r"|precisa\w*|deve\w*|e|sao|va|vanno|serve|bisogna|sono|hoef\w*|moet\w*|is|zijn)\b"
)
_OTHERS: Final = late(
    r"^(?:\W|\w+ )?(?:my|a|an|his|her|their) (?:\w+ )?(?:colleague|coworker|friend|boss"
    r"|brother|sister"
    r"|neighbou?r|teammate)\b"
)
_WRONG: Final = (
    r"(?:(?:is|was|are|s)? ?(?:by )?(?:now )?(?:wrong|not true|no longer true|untrue|outdated"
    r"|obsolete|over"
    r"|false|history|not the case)|(?:has |have )?changed|no longer (?:holds|applies|true))"
)
_TOLD: Final = late(
    r"\b(?:i|we) (?:once |already )?(?:told you|said)(?: that)? (?!about|to\b)(?P<about>.+?)"
    rf"(?:,|;| -| and| but) (?:that|this|it|which|thats|its)?(?:s| is| was)? ?{_WRONG}\b"
)
_NOT_TRUE: Final = late(
    r"\b(?:its|it is|thats|that is) (?:not true|no longer (?:true|the case|so)"
    r"|wrong)(?: any ?more| now)?"
    r" that (?P<about>[^,;:]+)"
)


def withdrawal_in(text: str) -> Withdrawal | None:
    """What the text says no longer holds, if it does."""
    for told in (_TOLD, _NOT_TRUE):
        if match := told.search(text):
            return Withdrawal(_bare(match["about"]))
    before = ""
    for clause in _CLAUSE.split(text)[:3]:
        if clause and (found := _in_clause(clause)):
            if _POINTS.search(clause):
                return msgspec.structs.replace(found, about=f"{_bare(before)} {found.about}")
            return found
        before = clause or ""
    return None


def _in_clause(clause: str) -> Withdrawal | None:
    is_inflected = bool(_NO_MORE_ELSEWHERE.search(clause))
    is_lasting = is_inflected or bool(_NO_MORE.search(clause))
    is_released = bool(_RELEASES.search(clause))
    if not (is_lasting or is_released) or _REPORTS.search(clause) or _OTHERS.search(clause):
        return None
    is_lasting = is_lasting or bool(_NOW.search(clause)) or clause.lstrip().startswith("stop ")
    is_report = _BY_SOMEBODY.search(clause) is None
    if not is_lasting and not _YOU_NEED.search(clause):
        is_report = True  # "no need for a changelog entry": perhaps only here
    return Withdrawal(_bare(clause), is_lasting, is_inflected, is_report)


def _bare(clause: str) -> str:
    return " ".join(_MARKS.sub(" ", clause).split())
