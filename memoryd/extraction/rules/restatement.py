"""How a new statement stands to an old one: another subject, told before, an addition, a reversal.

Rules
- Two statements have one subject when the telling words of one are all in the other, and are at
  least half of all their words together. One word put in the place of another is another subject:
  to lint the parser and to lint the lexer are two rules.
- Of two on one subject, the new one reverses the old when one forbids what the other asks for, or
  when each has a number that the other lacks.
- Who says that he takes something back is believed when half of the words fit.
"""

import re
from functools import cache
from typing import Literal

from memoryd.text.lazy_regex import late
from memoryd.text.terms import terms_of

Relation = Literal["other", "told", "adds", "reverses"]

_NUMBER = late(r"\d+(?:[.:-]\d+)*")
_NEGATED = late(
    r"\b(?:not|never|no|don'?t|doesn'?t|stop|avoid|without|nie|nicht|kein\w*|jamais|pas|nunca|não"
    r"|mai|non|niet|nooit|никогда|не)\b",
    re.IGNORECASE,
)
# They say how much a rule is meant, not what it is about.
_MANNER = "always never ever only use using please must should now instead stop avoid"


def relation_of(new: str, old: str, *, takes_back: bool = False) -> Relation:
    ours, theirs = subject_of(new), subject_of(old)
    shared = len(ours & theirs)
    if takes_back and shared * 2 >= min(len(ours), len(theirs)) > 0:
        return "reverses"
    is_one_subject = shared == min(len(ours), len(theirs)) and shared * 2 >= len(ours | theirs) > 0
    if not is_one_subject:
        return "other"
    if _counts_otherwise(new, old) or bool(_NEGATED.search(new)) != bool(_NEGATED.search(old)):
        return "reverses"
    return "told" if ours <= theirs and numbers_in(new) <= numbers_in(old) else "adds"


def subject_of(text: str) -> frozenset[str]:
    """The terms that say what a statement is about; its numbers say how much, or when."""
    return frozenset(terms_of(_NUMBER.sub(" ", text))) - _manner()


@cache
def _manner() -> frozenset[str]:
    return frozenset(terms_of(_MANNER))


def numbers_in(text: str) -> frozenset[str]:
    return frozenset(_NUMBER.findall(text))


def _counts_otherwise(new: str, old: str) -> bool:
    ours, theirs = numbers_in(new), numbers_in(old)
    return not (ours <= theirs or theirs <= ours)
