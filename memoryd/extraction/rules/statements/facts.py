"""Whether a sentence states a fact about the project or its speaker that the code does not show.

Some phrases say so by themselves: a decision, a motive, an event on a coming day. Otherwise five
signs speak for a project fact, and three are enough:
- it is about us: we, our company, our team;
- it mentions people outside the code: customers, the law, a department, a partner;
- it binds: must, cannot, stays, is promised, is the only one;
- it gives a reason, or draws a conclusion;
- it names a time.
Code, a screen, the state of a program and the speaker count against it. For a personal fact the
signs are roles, spans of time, skills, tools, and how to talk to the person.
"""

import re
from collections.abc import Iterable

from memoryd.extraction.rules.statements import phrases, project_phrases, user_phrases

_PROJECT_SIGNS = (
    project_phrases.OURS,
    project_phrases.OUTSIDE,
    project_phrases.BINDS,
    project_phrases.REASONS,
    project_phrases.TIME,
)
_SIGNS_AGAINST_PROJECT = (
    phrases.STATE_OF_THINGS,
    project_phrases.SCREEN,
    phrases.PROGRAM,
    re.compile(r"\b(?:i|ive|ill|my|me|im(?= (?:an?|the|not|on|at|from|just|still|\w+ing)\b))\b"),
)
_PERSONAL_SIGNS = (
    user_phrases.ME,
    user_phrases.ROLE,
    user_phrases.SPAN,
    user_phrases.SKILL,
    user_phrases.TOOL,
)
_SIGNS_AGAINST_PERSONAL = (phrases.STATE_OF_THINGS, user_phrases.AT_HAND)
ENOUGH_SIGNS = 3
_SHORT_WORDS = 5
_SHORT_CHARACTERS = 14


def is_project_fact(said: str, *, has_date: bool) -> bool:
    if phrases.DERIVABLE.search(said):
        return False
    if project_phrases.SCREEN.search(said) and not phrases.GIVES_REASON.search(said):
        return False
    if has_date and _is_event(said):
        return True
    informs_of_us = phrases.INFORMS.search(said) and phrases.OUR_WORLD.search(said)
    if informs_of_us and not phrases.STATE_OF_THINGS.search(said):
        return True
    if phrases.HEADING.search(said) and project_sign_count(said) > 0:
        return True
    lasting = (
        project_phrases.DECIDED,
        project_phrases.MOTIVE,
        project_phrases.BOUND,
        project_phrases.RELEASE_FACT,
    )
    return any(form.search(said) for form in lasting) or project_sign_count(said) >= ENOUGH_SIGNS


def _is_event(said: str) -> bool:
    """Whether someone other than the speaker acts, or something happens, on the day it names."""
    if project_phrases.PERSONAL.search(said):
        return False
    if phrases.PROGRAM.search(said) and not is_about_people(said):
        return False
    if project_phrases.EVENT.search(said):
        return True
    is_ours = (
        is_about_people(said)
        or project_phrases.BINDS.search(said)
        or not phrases.ENGLISH.search(said)
    )
    is_alone = phrases.FIRST_PERSON.search(said) or phrases.STATE_OF_THINGS.search(said)
    return bool(is_ours) and not is_alone and not _is_short(said)


def _is_short(said: str) -> bool:
    """Whether it has at most five words, or as much in a script without spaces."""
    return len(said) < _SHORT_CHARACTERS if " " not in said else len(said.split()) <= _SHORT_WORDS


def project_sign_count(said: str) -> int:
    """How many signs speak for a project fact, minus those against it."""
    return _count(_PROJECT_SIGNS, said) - _count(_SIGNS_AGAINST_PROJECT, said)


def is_about_people(said: str) -> bool:
    """Whether it mentions us or people outside the code."""
    return bool(project_phrases.OURS.search(said) or project_phrases.OUTSIDE.search(said))


def is_personal_fact(said: str) -> bool:
    """Whether it says who the speaker is, what they know, or what they work with."""
    if user_phrases.USER.search(said):
        return True
    signs = _count(_PERSONAL_SIGNS, said) + 2 * bool(user_phrases.CONSEQUENCE.search(said))
    signs -= _count(_SIGNS_AGAINST_PERSONAL, said)
    return bool(user_phrases.ME.search(said)) and signs >= ENOUGH_SIGNS


def _count(signs: Iterable[re.Pattern[str]], said: str) -> int:
    return sum(sign.search(said) is not None for sign in signs)
