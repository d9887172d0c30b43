"""How far a sentence of a person goes: whether they state it, whose wish it is, and for how long.

Rules
- What was asked, supposed, doubted or done in the past is not said. A request ("could you") is.
- A sentence that tells what somebody else wants or says keeps who that is.
- A condition, a time or a place that a sentence is limited to is not dropped from it.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

from memoryd.extraction.rules.word_classes import DENYING, EXCEPTIONS, joining
from memoryd.extraction.rules.wording import plain_words
from memoryd.text.lazy_regex import late

_REQUEST = late(
    r"\b(?:can|could|would|will) (?:you|u|we)\b|\b(?:please|pls|plz|bitte|por favor)\b"
    r"|\bkannst du\b|\bpuedes\b|\bpeux[- ]tu\b|\btu peux\b|ください",
)
_QUESTION = late(
    r"^(?:why|where|who|which|how (?:do|does|can|is|are|come|much|many)|what (?:is|are|does|do|did"
    r"|if|about)|should (?:we|i)|is|are|does|did|was|were|do (?:we|i)|can (?:we|i)|warum|wieso|wo"
    r"|pourquoi|comment|por que)\b[^,;:]*$"
    r"|\bwhether\b|\bwonder(?:ing|ed)?\b|\b(?:check|see|know|ask|tell me|find out|(?:not |un)sure)"
    r" if\b|\bob (?:wir|ich|man|das)\b"
)
_SUPPOSED = late(
    r"^(?:so |and |but |hm+ )?(?:(?:maybe|perhaps)(?! (?:useful|worth|interesting|good to))"
    r"|vielleicht|peut[- ]etre|quiza|suppose|supposing"
    r"|imagine|pretend|say we|how about|what about|what if|am i right|would it be|wouldnt it be"
    r"|does the|do you|is it|isnt it|are you)\b"
    r"|^(?:(?:oh|ha|haha|wow|yeah|yes|ok)[, ]+)*(?:(?:what an? )?(?:great|brilliant|wonderful"
    r"|fantastic|genius|lovely) (?:idea|plan)|yeah,? (?:sure|right)|sure sure|as if)\b"
    r"|\bwould it be\b|\bnot sure yet\b|\bno idea (?:if|whether)\b|\bin theory\b"
)
_PAST = late(
    r"\b(?:used to|no longer|(?:the )?old (?:rule|way|habit|convention)"
    r"|(?:last|previous|former|old) (?:job|team|company|boss|project)|back then|früher|autrefois)\b"
)
_OTHERS_VERBS: Final = (
    r"(?:says?|said|claims?|claimed|suggests?|suggested|recommends?|recommended|wants?|wanted"
    r"|prefers?|preferred|likes?|liked|thinks?|thought|asks?|asked|told|insists?|pretends?|argues?"
    r"|believes?|would|sagt|mochte|veut|dit|dice|quiere)"
)
_OF_ANOTHER = late(
    r"(?:^|[,;:]\s*|\b(?:that|and|but)\s+)(?:the |our |my |their |his |her |a |an |some)?"
    r"(\w[\w.-]+)(?: (?:in|on|of|from|at|used) (?:the |our |my |a |to )?\w+){0,2}"
    rf" (?:to )?{_OTHERS_VERBS}\b"
)
_ACCORDING = late(r"\b(?:according to|as per|laut|selon|segun) (?:the |our |my |a )?(\w[\w.-]+)")
# "Some guy on reddit: just ..." and "the wiki: always ..."; the last word before the colon.
_INTRODUCED = late(
    r"^(?![^:]*\b(?:i|me|my|we|our|you|your|rules?|notes?|things?|remember|reminder|know|fyi|here"
    r"|do|as)\b)"
    r"(?:[\w'@#.-]+ ){1,6}?([\w@#.-]+):\s"
)
_PRONOUNS = frozenset({"he", "she", "they", "it", "someone", "somebody", "everyone", "everybody"})
_FIRST_PERSON = frozenset("i we you u ich wir du je nous tu yo nosotros id youd wed".split())  # noqa: SIM905

# "It would be nice if you ..." is a wish without a condition.
_WISH = late(
    r"\b(?:better|nice|great|good|happy|happier|glad|cool|appreciate(?: it)?|love(?: it)?"
    r"|like(?: it)?|hate(?: it)?|prefer(?: it)?|mind) (?:if|when)\b",
    re.IGNORECASE,
)
_REACHING: Final = frozenset({"always", "everywhere", "everybody", "everyone", "anywhere"})
# How people speak, rather than what they mean.
_DROPPABLE: Final = frozenset(
    """
    future either anyway anyways completely totally absolutely definitely basically again already
    usual usually ourselves yourself myself themselves else anything something everything stuff
    kind sort bit lot rather instead etc obviously clearly simply alone one ones there here
    """.split()  # noqa: SIM905 - three lines instead of forty
)
_OFTEN_MISTYPED: Final = (
    *("the", "and", "with", "always", "please", "that", "this", "you", "before", "done"),
)
# What a rule is limited by; it stays with the rule.
_LIMITS: Final = frozenset({"only", "until", "till", "once", "temporarily"})
CONDITIONS: Final = frozenset(
    {"if", "when", "while", "whenever", "provided", "providing", "assuming", "wenn", "falls"}
    | {"sofern", "si", "quand"}
)
_CONDITION_PHRASES = late(r"\b(?:in case(?: of)?|as long as|on condition that)\b", re.IGNORECASE)
_AFTER_THAT = late(
    r"^\W*(?:after|before(?! i forget| we start)|should (?!we|i\b|you)\w+)\b[^,]*,", re.IGNORECASE
)
_ALL_BUT = late(
    r"\b((?:all|every|any|anything|everything|nothing)\b[^,;.]{0,30}) but\b", re.IGNORECASE
)
_TAKES_BACK = late(
    r"^(?:(?:ah|oh|uh|hm+|er|sorry|actually|no|nope|wait|argh)[,. ]+)*"
    r"(?:(?:wait|hold on)[, ]+no|no[, ]+wait"
    r"|(?:ah|oh|uh|wait|sorry)[, ]+no\b(?! (?:problem|worries))"
    r"|scratch (?:that|it)|strike that|forget (?:that|it|what i)|never ?mind|nvm|correction\b"
    r"|my bad|i (?:take (?:that|it) back|(?:have )?changed my mind)"
    r"|ignore (?:that|my last)|doch nicht|vergiss das)"
)


def is_stated(lower: str) -> bool:
    """Whether a sentence in lower case states something, rather than asking or supposing it."""
    if _QUESTION.search(lower) or _SUPPOSED.search(lower) or _PAST.search(lower):
        return False
    is_marked = lower.rstrip(" \"')").endswith(("?", "？"))  # noqa: RUF001 - the wide mark
    return not is_marked or bool(_REQUEST.search(lower))


def takes_back(lower: str) -> bool:
    """Whether a sentence in lower case takes back the one before it."""
    return bool(_TAKES_BACK.search(lower))


def wanted_by(lower: str) -> str:
    """Who else wants or says it, in a sentence in lower case; empty if nobody is named."""
    if according := _ACCORDING.search(lower):
        return str(according[1])
    if introduced := _INTRODUCED.search(lower):
        return str(introduced[1])
    found = (str(one[1]) for one in _OF_ANOTHER.finditer(lower))
    return next((one for one in found if one in _PRONOUNS or one not in _not_others()), "")


@cache
def _not_others() -> frozenset[str]:
    return _FIRST_PERSON | joining() | DENYING


def limits_in(text: str) -> frozenset[str]:
    """The words of a sentence that limit it."""
    spelt = _CONDITION_PHRASES.sub(" if ", _ALL_BUT.sub(r"\1 except ", _WISH.sub(" ", text)))
    plain = frozenset(plain_words(spelt))
    return plain & (EXCEPTIONS | _LIMITS | CONDITIONS)


def opens_with_condition(text: str) -> bool:
    """Whether a sentence begins with what it holds under or after."""
    return bool(limits_in(" ".join(text.split()[:3])) & CONDITIONS or _AFTER_THAT.search(text))


def keeps_limits(said: frozenset[str], drafted: frozenset[str]) -> bool:
    """Whether a draft has the limits and an exception where what was said has them."""
    if said & EXCEPTIONS and not drafted & EXCEPTIONS:
        return False
    return said & _LIMITS <= drafted


def keeps_condition(said: frozenset[str], drafted: frozenset[str]) -> bool:
    """Whether a draft has a condition where what was said has one."""
    return not said & CONDITIONS or bool(drafted & (CONDITIONS | EXCEPTIONS))


def may_be_dropped(plain: str) -> bool:
    """Whether a word can go without a change in what its clause says."""
    is_typo = any(sorted(plain) == sorted(word) for word in _OFTEN_MISTYPED)
    return is_typo or plain in _DROPPABLE


def reach_of(plain: Iterable[str]) -> frozenset[str]:
    """The words of a sentence that make one case a rule for all; a note does not add them."""
    return frozenset(plain) & _REACHING
