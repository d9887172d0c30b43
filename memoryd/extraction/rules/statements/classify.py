"""Classifies one sentence: a statement of one of the four types, an aside, or a break.

Rules, in order:
- A question, anything hypothetical, ironic or passing, and anything about another text is a break.
  So is a sentence that gives a credential away, unless it also says where something is.
- Where something is, is a reference; how to work is feedback; who the person is, is user; what
  people outside the code decided, want or forbid, and what happens on a coming day, is project.
- "Remember ..." makes a statement of any other sentence, except what the code or its history shows,
  a reminder for now, and a secret. With nothing in it to remember, it points to its neighbours.
- What is left is a break if it asks for work, and an aside if it states something.
"""

import re
from collections.abc import Iterator
from datetime import date, datetime
from typing import Literal

import msgspec

from memoryd.extraction.rules.statements import (
    feedback_phrases,
    orders,
    phrases,
    project_phrases,
    reference_phrases,
)
from memoryd.extraction.rules.statements.credentials import gives_a_credential
from memoryd.extraction.rules.statements.facts import (
    ENOUGH_SIGNS,
    is_about_people,
    is_personal_fact,
    is_project_fact,
    project_sign_count,
)
from memoryd.text.dates import dates_in
from memoryd.text.prose import Sentence

MemoryType = Literal["user", "feedback", "project", "reference"]
StatementKind = Literal["user", "feedback", "project", "reference", "aside", "pointer", "break"]

MASK = re.compile(r"\[secret: [^\]]*\]")
# A longer one was pasted, or is not a sentence.
SENTENCE_CHARACTERS = 1000


class ClassifiedSentence(msgspec.Struct, frozen=True):
    """A sentence and what it is."""

    sentence: Sentence
    kind: StatementKind
    is_rule: bool = False
    is_praise: bool = False

    @property
    def said(self) -> str:
        return self.sentence.plain


def classify(
    sentence: Sentence, said_at: datetime, *, must_keep: bool = False
) -> ClassifiedSentence:
    """What a sentence is; `must_keep` if the person asked for it to be remembered."""
    said = sentence.plain
    has_date = _names_a_coming_day(sentence, said_at)
    if _is_true_for_now(said, has_date=has_date):
        return ClassifiedSentence(sentence, "project")
    if not is_sincere(said) or (
        gives_a_credential(said) and not reference_phrases.ADDRESS.search(said)
    ):
        return ClassifiedSentence(sentence, "break")
    asked = phrases.REMEMBER.search(said)
    rest = f"{said[: asked.start()]} {said[asked.end() :]}".strip() if asked else said
    kind = _type_of(rest, sentence.text, has_date=has_date)
    states_rule = kind == "feedback"
    if asked or must_keep:
        return ClassifiedSentence(sentence, _kind_when_asked(rest, kind), states_rule)
    if kind is not None:
        return ClassifiedSentence(sentence, kind, states_rule)
    return ClassifiedSentence(sentence, "break" if phrases.REQUEST.search(said) else "aside")


def is_sincere(said: str) -> bool:
    """Whether a sentence asserts something of the speaker's own that holds beyond today."""
    if len(said) > SENTENCE_CHARACTERS:
        return False
    if phrases.QUESTION.search(said) and not phrases.ASKS_TO_BEHAVE.search(said):
        return False
    insincere = (phrases.HYPOTHETICAL, phrases.SARCASM, phrases.PASSING, phrases.ABOUT_A_TEXT)
    return bool(said) and not any(form.search(said) for form in insincere)


def _is_true_for_now(said: str, *, has_date: bool) -> bool:
    """Whether it is a fact that says how long it holds; an order for now is not lasting."""
    lasting = phrases.PASSING.sub(" ", said)
    is_fact = lasting != said and is_sincere(lasting) and not phrases.REQUEST.search(lasting)
    is_ours = is_about_people(lasting) and (has_date or project_sign_count(lasting) >= ENOUGH_SIGNS)
    return is_fact and is_ours and is_project_fact(lasting, has_date=has_date)


def _type_of(said: str, text: str, *, has_date: bool) -> MemoryType | None:
    is_request = bool(phrases.REQUEST.search(said) or phrases.TASK_BEHIND.search(said))
    if _is_place(said, text) and (not is_request or reference_phrases.WHEN_NEEDED.search(said)):
        return "reference"
    is_fact = not is_request and is_project_fact(said, has_date=has_date)
    is_rule = feedback_phrases.RULE.search(said) and not (is_fact and not orders.has_order(said))
    if is_rule or (orders.leads_with_lasting_order(said) and not has_date):
        return "feedback"
    if not is_request and is_personal_fact(said):
        return "user"
    if is_fact:
        return "project"
    if phrases.TASK_BEHIND.search(said) or not orders.is_lasting_order(said):
        return None
    fact = orders.fact_behind(said)
    return "project" if is_about_people(fact) or project_phrases.TIME.search(fact) else "feedback"


def _is_place(said: str, text: str) -> bool:
    if reference_phrases.PASSING_PLACE.search(said):
        return False
    if reference_phrases.NAMED_PLACE.search(said):
        return True
    is_named = reference_phrases.NAMED_CONTAINER.search(
        text
    ) or reference_phrases.NAMED_SYSTEM.search(said)
    if not reference_phrases.SYSTEM.search(said):
        return False
    verb = reference_phrases.LOCATED_IN.search(said)
    is_there = verb is not None and reference_phrases.SYSTEM.search(said, verb.start())
    return bool(is_named or is_there or reference_phrases.LOCATED.search(said))


def _kind_when_asked(rest: str, kind: MemoryType | None) -> StatementKind:
    """The type of what the person asked us to keep, if it may be kept."""
    if len(rest.split()) < 3 and rest.isascii():
        return "pointer"
    if kind is not None and (kind != "project" or not phrases.DERIVABLE.search(rest)):
        return kind
    if reference_phrases.SYSTEM.search(rest) and not reference_phrases.PASSING_PLACE.search(rest):
        return "reference"
    if phrases.DERIVABLE.search(rest) or MASK.search(rest):
        return "break"
    if phrases.RECURS.search(rest) and (
        orders.has_order(rest) or not project_phrases.OUTSIDE.search(rest)
    ):
        return "feedback"
    if rest.startswith("to ") or phrases.REQUEST.search(rest):
        return "break"
    if phrases.PROGRAM.search(rest) and not is_about_people(rest):
        return "break"
    if len(rest.split()) < 4 and rest.isascii():
        return "break"
    return "user" if phrases.FIRST_PERSON.search(rest) else "project"


def _names_a_coming_day(sentence: Sentence, said_at: datetime) -> bool:
    today = said_at.date()
    named = [mention.first_day for mention in dates_in(sentence.text, said_at)]
    named += _iso_days(sentence.text)
    return any(day > today for day in named)


def _iso_days(text: str) -> Iterator[date]:
    for match in re.finditer(r"\b20\d\d-\d\d-\d\d\b", text):
        try:
            yield date.fromisoformat(match[0])
        except ValueError:  # 2026-02-31 is not a day
            continue
