"""Whether a sentence tells a fact of the project or of its speaker that the code does not tell.

Some turns of phrase say so by themselves: a decision, a motive, an event on a day to come. Else
five signs speak for the project, and three are enough:
- it is about us: we, our company, our team;
- somebody outside the code is in it: customers, the law, a department, a partner;
- it binds: must, cannot, stays, is promised, is the only one;
- it gives a reason, or draws a conclusion;
- it names a time.
What speaks of code, of a screen, of how a program is doing or of the speaker counts against it.
Of a person, roles, spans of time, skills and tools are such signs, and how to talk to him.
"""

import re
from collections.abc import Iterable

from memoryd.statements import forms, project, user

_PROJECT_SIGNS = (project.OURS, project.OUTSIDE, project.BINDS, project.REASONS, project.TIME)
_NO_PROJECT_SIGNS = (
    forms.STATE_OF_THINGS,
    project.SCREEN,
    forms.PROGRAM,
    re.compile(r"\b(?:i|ive|ill|my|me|im(?= (?:an?|the|not|on|at|from|just|still|\w+ing)\b))\b"),
)
_PERSONAL_SIGNS = (user.ME, user.ROLE, user.SPAN, user.SKILL, user.TOOL)
_NO_PERSONAL_SIGNS = (forms.STATE_OF_THINGS, user.AT_HAND)
ENOUGH = 3
_SHORT_WORDS = 5
_SHORT_CHARACTERS = 14


def is_project_fact(said: str, *, has_date: bool) -> bool:
    if forms.DERIVABLE.search(said):
        return False
    if project.SCREEN.search(said) and not forms.GIVES_REASON.search(said):
        return False
    if has_date and _is_event(said):
        return True
    is_told = forms.INFORMS.search(said) and forms.OUR_WORLD.search(said)
    if is_told and not forms.STATE_OF_THINGS.search(said):
        return True
    if forms.HEADING.search(said) and project_weight(said) > 0:
        return True
    lasting = (project.DECIDED, project.MOTIVE, project.BOUND, project.RELEASE_FACT)
    return any(form.search(said) for form in lasting) or project_weight(said) >= ENOUGH


def _is_event(said: str) -> bool:
    """Whether others than the speaker do something, or something happens, on the day it names."""
    if project.PERSONAL.search(said):
        return False
    if forms.PROGRAM.search(said) and not is_of_people(said):
        return False
    if project.EVENT.search(said):
        return True
    is_ours = is_of_people(said) or project.BINDS.search(said) or not forms.ENGLISH.search(said)
    is_alone = forms.FIRST_PERSON.search(said) or forms.STATE_OF_THINGS.search(said)
    return bool(is_ours) and not is_alone and not _is_short(said)


def _is_short(said: str) -> bool:
    """Whether it has five words at most, or as much in a script without spaces."""
    return len(said) < _SHORT_CHARACTERS if " " not in said else len(said.split()) <= _SHORT_WORDS


def project_weight(said: str) -> int:
    """How many signs speak for a fact of the project, less those that speak against it."""
    return _count(_PROJECT_SIGNS, said) - _count(_NO_PROJECT_SIGNS, said)


def is_of_people(said: str) -> bool:
    """Whether we, or somebody outside, are in it."""
    return bool(project.OURS.search(said) or project.OUTSIDE.search(said))


def is_personal_fact(said: str) -> bool:
    """Whether it tells who the speaker is, what he knows, or what he works with."""
    if user.USER.search(said):
        return True
    weight = _count(_PERSONAL_SIGNS, said) + 2 * bool(user.CONSEQUENCE.search(said))
    return bool(user.ME.search(said)) and weight - _count(_NO_PERSONAL_SIGNS, said) >= ENOUGH


def _count(signs: Iterable[re.Pattern[str]], said: str) -> int:
    return sum(sign.search(said) is not None for sign in signs)
