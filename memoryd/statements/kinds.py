"""What one sentence is: a statement of one of the four types, an aside, or a break.

Rules, in their order:
- A question, something hypothetical, ironic, passing, or about another text is a break.
- Where something is, is a reference; how to work is feedback; who the person is, is user; what
  somebody outside the code decided, wants or forbids, and what happens on a coming day, is project.
- "Remember ..." makes a statement of any other sentence, except what the code or its history tells,
  a reminder for now, and a secret. With nothing in it to remember, it points to its neighbours.
- What is left is a break if it asks for work, and an aside if it tells something.
"""

import re
from collections.abc import Iterator
from datetime import date, datetime
from typing import Literal

import msgspec

from memoryd.dates import dates_in
from memoryd.prose import Sentence
from memoryd.statements import feedback, forms, project, reference, user

MemoryType = Literal["user", "feedback", "project", "reference"]
Kind = Literal["user", "feedback", "project", "reference", "aside", "pointer", "break"]

MASK = re.compile(r"\[secret: [^\]]*\]")
# A longer one was pasted, or is no sentence.
SENTENCE_CHARACTERS = 1000


class Heard(msgspec.Struct, frozen=True):
    """A sentence, what it is, and how it became that."""

    sentence: Sentence
    kind: Kind
    is_rule: bool = False
    is_praise: bool = False

    @property
    def said(self) -> str:
        return self.sentence.plain


def hear(sentence: Sentence, said_at: datetime, *, must_keep: bool = False) -> Heard:
    """What a sentence is; `must_keep` says that the person asked for it to be remembered."""
    said = sentence.plain
    if not is_meant(said):
        return Heard(sentence, "break")
    asked = forms.REMEMBER.search(said)
    rest = f"{said[: asked.start()]} {said[asked.end() :]}".strip() if asked else said
    states_rule = is_rule(rest)
    has_date = _names_a_coming_day(sentence, said_at)
    kind = _type_of(rest, sentence.text, is_rule=states_rule, has_date=has_date)
    if asked or must_keep:
        return Heard(sentence, _kind_when_asked(rest, kind), states_rule)
    if kind is not None:
        return Heard(sentence, kind, states_rule)
    return Heard(sentence, "break" if forms.REQUEST.search(said) else "aside")


def is_meant(said: str) -> bool:
    """Whether a sentence asserts something of its speaker's own that holds beyond today."""
    if len(said) > SENTENCE_CHARACTERS:
        return False
    if forms.QUESTION.search(said) and not forms.ASKS_TO_BEHAVE.search(said):
        return False
    unmeant = (forms.HYPOTHETICAL, forms.SARCASM, forms.PASSING, forms.ABOUT_A_TEXT)
    return bool(said) and not any(form.search(said) for form in unmeant)


def _type_of(said: str, text: str, *, is_rule: bool, has_date: bool) -> MemoryType | None:
    is_request = bool(forms.REQUEST.search(said) or forms.TASK_BEHIND.search(said))
    if _is_place(said, text) and not is_request:
        return "reference"
    if is_rule:
        return "feedback"
    if is_request:
        return None
    if user.USER.search(said):
        return "user"
    return "project" if _is_project_fact(said, has_date=has_date) else None


def _is_place(said: str, text: str) -> bool:
    if reference.PASSING_PLACE.search(said):
        return False
    if reference.NAMED_PLACE.search(said):
        return True
    is_named = reference.NAMED_CONTAINER.search(text) or reference.NAMED_SYSTEM.search(said)
    if not reference.SYSTEM.search(said):
        return False
    verb = reference.LOCATED_IN.search(said)
    is_there = verb is not None and reference.SYSTEM.search(said, verb.start())
    return bool(is_named or is_there or reference.LOCATED.search(said))


def _is_project_fact(said: str, *, has_date: bool) -> bool:
    if forms.DERIVABLE.search(said):
        return False
    if project.SCREEN.search(said) and not forms.GIVES_REASON.search(said):
        return False
    if has_date and project.EVENT.search(said) and not project.PERSONAL.search(said):
        return True
    is_told = forms.INFORMS.search(said) and forms.OUR_WORLD.search(said)
    if is_told and not forms.STATE_OF_THINGS.search(said):
        return True
    lasting = (project.DECIDED, project.MOTIVE, project.BOUND, project.RELEASE_FACT)
    return any(form.search(said) for form in lasting)


def is_rule(said: str, reason: str = "") -> bool:
    """Whether a sentence states a way of working; a likely one needs people or process in it."""
    if feedback.RULE.search(said) or _is_craft(said):
        return True
    about = (feedback.WORKING, forms.REASON)
    if not any(form.search(said) for form in about) and not feedback.HARM.search(reason):
        return False
    if feedback.LIKELY_RULE.search(said):
        return True
    commands = [*feedback.ADVERB_RULE.finditer(said), *feedback.SUBJECT_RULE.finditer(said)]
    return any(_is_a_command(match["verb"]) and not _is_specified(match) for match in commands)


def _is_craft(said: str) -> bool:
    """Whether a short sentence of its own says what the person wants used, always or never."""
    match = feedback.ADVERB_RULE.match(said)
    if match is None or len(said.split()) > feedback.CRAFT_WORDS_MAX:
        return False
    is_passing = forms.REQUEST.search(said) or feedback.CRAFT_OF_THE_MOMENT.search(said)
    return match["verb"] in feedback.CRAFT and not is_passing


def _is_specified(match: re.Match[str]) -> bool:
    """Whether "never" or "always" goes on with a task, or with what a program shall do."""
    said, before = match.string, match.string[: match.start()]
    return bool(before and (forms.REQUEST.search(said) or forms.SPECIFIES.search(before)))


def _is_a_command(verb: str) -> bool:
    """Whether a verb after "always" or "never" orders something, where "fails" and "used" tell."""
    tells = verb.endswith(("ed", "ing")) or (verb.endswith("s") and not verb.endswith(("ss", "us")))
    return verb not in feedback.NOT_A_COMMAND and (
        not tells or verb in feedback.COMMANDS_ALL_THE_SAME
    )


def _kind_when_asked(rest: str, kind: MemoryType | None) -> Kind:
    """The type of what the person asked to have kept, if it may be kept."""
    if len(rest.split()) < 3 and rest.isascii():
        return "pointer"
    if kind is not None and (kind != "project" or not forms.DERIVABLE.search(rest)):
        return kind
    if reference.SYSTEM.search(rest) and not reference.PASSING_PLACE.search(rest):
        return "reference"
    if forms.DERIVABLE.search(rest) or MASK.search(rest):
        return "break"
    if forms.RECURS.search(rest):
        return "feedback"
    if rest.startswith("to ") or forms.REQUEST.search(rest):
        return "break"
    return "user" if forms.FIRST_PERSON.search(rest) else "project"


def _names_a_coming_day(sentence: Sentence, said_at: datetime) -> bool:
    today = said_at.date()
    named = [mention.first_day for mention in dates_in(sentence.text, said_at)]
    named += _iso_days(sentence.text)
    return any(day > today for day in named)


def _iso_days(text: str) -> Iterator[date]:
    for match in re.finditer(r"\b20\d\d-\d\d-\d\d\b", text):
        try:
            yield date.fromisoformat(match[0])
        except ValueError:  # 2026-02-31 is nobody's day
            continue
