"""How a new statement relates to an old one: another subject, the same, an addition, a reversal.

Rules
- Two statements have one subject if the significant words of one are all in the other and are at
  least half of all their words together. One word in place of another is another subject: to lint
  the parser and to lint the lexer are two rules. Words are counted: the export exporter has one
  more word than the export queue has of them, and lacks one.
- Of two on one subject, the new one reverses the old if one forbids what the other asks for, or if
  each has a number that the other lacks.
- Someone who says that they take something back is believed if half of the words fit.
"""

import re
from collections import Counter
from functools import cache
from typing import Literal

from memoryd.base.remembered import remembered
from memoryd.text.lazy_regex import late
from memoryd.text.terms import terms_of

Relation = Literal["other", "same", "adds", "reverses"]

HOW_TO_APPLY = "**How to apply:**"

_STAMP = late(r"Said on \d{4}-\d\d-\d\d at \d\d:\d\d:\d\d:")
_NUMBER = late(r"\d+(?:[.:-]\d+)*")
_NEGATED = late(
    r"\b(?:not|never|no|don'?t|doesn'?t|stop|avoid|without|nie|nicht|kein\w*|jamais|pas|nunca|não"
    r"|mai|non|niet|nooit|никогда|не)\b",
    re.IGNORECASE,
)
_CLAUSE = late(r"[,;:.]\s+|\s(?:and|but|und|aber|y|pero|et|mais)\s")
# They say how strict a rule is, not what it is about.
_MANNER = (
    "always never ever only use using please must should now instead stop avoid may can every each"
    " immer nie niemals bitte jetzt ab siempre nunca ahora partir de a toujours jamais desormais ne"
    " usa uses usar no dont"
)


def relation_of(new: str, old: str, *, takes_back: bool = False) -> Relation:
    new_subject, old_subject = subject_of(new), subject_of(old)
    shared = len(new_subject & old_subject)
    smaller = min(len(new_subject), len(old_subject))
    if takes_back and shared * 2 >= smaller > 0:
        return "reverses"
    is_one_subject = shared == smaller and shared * 2 >= len(new_subject | old_subject) > 0
    if not is_one_subject or each_has_more(_counted(new), _counted(old)):
        return "other"
    if _numbers_differ(new, old) or _polarity_differs(new, old, new_subject & old_subject):
        return "reverses"
    is_same = new_subject <= old_subject and numbers_in(new) <= numbers_in(old)
    return "same" if is_same else "adds"


def polarity_differs(new: str, old: str) -> bool:
    """Whether one forbids what the other asks for, on one subject."""
    new_subject, old_subject = subject_of(new), subject_of(old)
    shared = new_subject & old_subject
    smaller = min(len(new_subject), len(old_subject))
    is_one_subject = len(shared) == smaller > 0 and len(shared) * 2 >= len(
        new_subject | old_subject
    )
    return (
        is_one_subject
        and not each_has_more(_counted(new), _counted(old))
        and _polarity_differs(new, old, shared)
    )


def each_has_more(one: Counter[str], other: Counter[str]) -> bool:
    """Whether each of two texts has a term, or one term more often, than the other."""
    return bool(one - other) and bool(other - one)


def is_negated(text: str) -> bool:
    return bool(_NEGATED.search(text))


def _polarity_differs(new: str, old: str, shared: frozenset[str]) -> bool:
    return _denies(new, shared) != _denies(old, shared)


def _denies(text: str, subject: frozenset[str]) -> bool:
    """Whether it forbids or denies this; "on Tuesdays, and never before 9" does not."""
    return any(
        _NEGATED.search(clause) and len(subject_of(clause) & subject) * 2 >= len(subject)
        for clause in _CLAUSE.split(text)
    )


def core_of(body: str) -> str:
    """What a memory says, on one line, without the words on how to apply it."""
    return " ".join(_STAMP.sub("", body.partition(HOW_TO_APPLY)[0].replace("**Why:**", "")).split())


@remembered(1024)
def subject_of(text: str) -> frozenset[str]:
    """The terms that say what a statement is about; its numbers say how much, or when."""
    return frozenset(terms_of(_NUMBER.sub(" ", text))) - _manner()


def _counted(text: str) -> Counter[str]:
    manner = _manner()
    return Counter(term for term in terms_of(_NUMBER.sub(" ", text)) if term not in manner)


@cache
def _manner() -> frozenset[str]:
    return frozenset(terms_of(_MANNER))


def numbers_in(text: str) -> frozenset[str]:
    return frozenset(_NUMBER.findall(text))


def _numbers_differ(new: str, old: str) -> bool:
    ours, theirs = numbers_in(new), numbers_in(old)
    return not (ours <= theirs or theirs <= ours)
