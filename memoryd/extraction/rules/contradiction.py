"""Whether a new statement takes the place of a memory: surely, perhaps, or not.

Rules
- What somebody forgets or ends must be in the memory with all its words that count. A word that is
  missing means another subject.
- One order forbids what the other asks for, on the same subject: it is replaced.
- One value takes the place of another if everything else is the same: "we deploy on Tuesdays" and
  "on Thursdays". Values of one kind exclude each other (days, numbers, hosts, languages, tabs and
  spaces). Any other word only does if the sentence says that it holds now, of something that has
  one value: "is called", "live in", not "use" or "support", which may add to what is there.
- A sentence that says outright that it takes something back is believed if half of the words fit.
- Whatever fits only in part is unsure, and a person decides.
"""

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import cache
from typing import Final, Literal

import msgspec

from memoryd.base.remembered import remembered
from memoryd.extraction.rules.corrections import Correction, correction_in, first_clause
from memoryd.extraction.rules.memory_requests import without_request
from memoryd.extraction.rules.restatement import is_negated, polarity_differs
from memoryd.extraction.rules.succession import (
    names_another,
    verdict_on_change,
    verdict_on_forgetting,
)
from memoryd.extraction.rules.word_classes import FOREIGN_JOINING
from memoryd.text.date_words import MONTHS, WEEKDAYS
from memoryd.text.lazy_regex import late
from memoryd.text.prose import matchable
from memoryd.text.terms import terms_of

Verdict = Literal["none", "unsure", "sure"]
ValueKind = Literal["day", "month", "number", "place", "word"]

_STRENGTH: Final = ("none", "unsure", "sure").index
COMMON_LETTERS: Final = 5
INFLECTED_LETTERS: Final = 4
MOST_OF_IT: Final = 0.6
LEAST_NAMED: Final = 2
HALF_OF_IT: Final = 0.5
LONGEST_VALUE: Final = 4
TEXTS_KEPT: Final = 2048

# Function words of the languages that the forms know, and words on how strict or how new it is.
_EMPTY: Final = frozenset(
    """
    always never ever only please must should may can could now instead stop avoid actually from
    remember that longer anymore use uses using used need needs want really just every each any
    youre theyre thats weve ive keep let
    rule thing things stuff folder directory user person prefer prefers i im we you me
    der die das den dem des ein eine einen und oder nicht nie niemals mehr immer bitte jetzt ab am
    im zum zur zu in auf mit wir ihr ich du man es ist sind sofort kein keine
    el la los las un una de del en con para por que y no nunca siempre ahora a partir este esta
    ya usa uses usar usamos lo al se es son
    le les une du des dans sur avec pour et ne pas plus jamais toujours desormais maintenant on nous
    ce cette ces est sont il elle
    """.split()  # noqa: SIM905 - a dozen lines instead of 200
)
# Naming one of these means it in place of the others.
_ALTERNATIVES: Final[tuple[frozenset[str], ...]] = tuple(
    frozenset(row.split())
    for row in (
        "tab tabs space spaces leerzeichen tabulatoren",
        "english german french spanish italian portuguese dutch polish russian japanese chinese",
        "npm yarn pnpm bun",
        "camelcase snake_case kebab-case pascalcase",
        "single double",
    )
)
# What may hold beside what is there already.
_ADDS_UP: Final = late(
    r"\b(?:use|uses|using|support|supports|have|has|accept|allow|test|tests|write|like|know|speak"
    r"|add|need|include|offer|track|read|watch|cover|own|utilisons|usamos|nutzen|verwenden)\b"
)
_TOKEN: Final = late(r"[^\s,;!?()]+")
_NUMBER: Final = late(r"v?\d[\d.:%/-]*(?:ms|s|h|kb|mb|gb|k|am|pm|px)?")
# What stands between a word and a verb, as the number in "test 4 is flaky".
_NAMED: Final = late(
    r"(?<=\w )\S+(?= (?:is|are|was|were|has|have|fails?|needs?|must|should|does)\b)"
)
_PLACE: Final = late(r"(?:https?://)?[\w-]+(?:\.[\w-]+)+(?:[:/]\S*)?|\w+/[\w/.-]+|#\w[\w-]*")
_PREPOSITIONS: Final = frozenset(
    "in on at to into from with for under via every as by am im an le los en auf bei".split()  # noqa: SIM905
)
_FILLERS: Final = frozenset(
    """
    always please now from on remember that the a an our only we heads up fyi also just then
    jetzt ahora maintenant bitte is are to
    """.split()  # noqa: SIM905
)


# They belong to the value beside them.
_PARTS: Final = frozenset(
    """
    morning mornings afternoon afternoons evening evenings night nights day days week weeks hour
    hours minute minutes second seconds percent characters le la los el der dem den
    """.split()  # noqa: SIM905
)
_DENIES: Final = late(
    r"\b(?:not|never|no|dont|doesnt|cannot|cant|nie|nicht|kein\w*|jamais|pas|nunca|ni)\b"
)
_FROM_NOW_ON: Final = late(
    r"\b(?:from now on|a partir de (?:ahora|maintenant)|ab jetzt|as of today)\b,?"
)
_NAMING: Final = frozenset("called named as".split())  # noqa: SIM905
_REMARKS: Final = late(
    r"\w+(?:ing|ed|y|ful|able)|down|up|broken|green|red|slow|fast|done|fine|good|bad|better|worse"
    r"|back|open|closed|full|gone|live|online|offline|wrong|right|here|there|first|later|again"
)
_LEAD_WORDS: Final = late(
    r"^(?:\W|please |remember(?: that| to)?|keep in mind(?: that)?|bear in mind(?: that)?"
    r"|note(?: that)?|from now on|merk dir|recuerda(?: que)?|ricorda(?: che)?|lembre(?: que)?"
    r"|dont forget(?: that)?|ab jetzt(?: bitte)?|desormais)[\s:,]*"
)
_IN_PLACE_OF: Final = late(r",? (?:instead of|rather than|in place of) .*$")
# "Never without asking" asks for something: it ends when nobody has to ask any more.
_WITHOUT: Final = late(r"\bwithout \w+ing\b")
_STATES: Final = late(r"\b(?:we|i|im|weve|ive|our|my|is|are|wir|nous|on)\b")


class Slot(msgspec.Struct, frozen=True):
    """Where two sentences differ in one value and in nothing else.

    `is_whole` if the new one leaves out nothing else of the old one.
    """

    new: tuple[str, ...]
    old: tuple[str, ...]
    frame: tuple[str, ...]
    before: str
    is_final: bool
    is_whole: bool


def strongest(readings: Iterable[str], old: str, *, is_stated: bool, around: str = "") -> Verdict:
    """The strongest verdict over readings of one sentence, such as with and without dates."""
    texts = {*readings}
    found = [
        verdict_on(one, old, correction_in(one), is_stated=is_stated, around=around)
        for one in texts
    ]
    bare = bare_lead(matchable(old))
    if any(names_another(one, bare) for one in texts):
        found = ["unsure" if one == "sure" else one for one in found]
    found += (verdict_on_change(one, bare) for one in texts)
    return max(found, key=_STRENGTH, default="none")


def verdict_on(
    new: str, old: str, correction: Correction | None, *, is_stated: bool, around: str = ""
) -> Verdict:
    """Whether `new` takes the place of the memory `old`.

    `is_stated` is true if the new sentence is itself a statement for keeps; `around` is what was
    said with it, which may name what it replaces.
    """
    before, after = matchable(old), matchable(new)
    if after == before:
        return "none"
    found: list[Verdict] = []
    if correction is not None:
        found.append(_by_words(correction, before, is_stated=is_stated))
    if correction is not None or is_stated:
        found.append(_by_slot(after, before, correction))
    is_outright = correction is not None and correction.is_strong
    if around and (is_stated or is_outright):
        found.append(verdict_on_change(matchable(around), bare_lead(before)))
    if is_stated and polarity_differs(first_clause(after), before):
        # One that names more than the memory makes an exception to it.
        is_exception = not content_of(first_clause(after)) <= content_of(before)
        found.append("unsure" if is_exception else "sure")
    return max(found, key=_STRENGTH, default="none")


def _by_words(correction: Correction, old: str, *, is_stated: bool) -> Verdict:
    """What the correction names, in the memory."""
    match correction.kind:
        case "forgets":
            return verdict_on_forgetting(correction.about, bare_lead(old), correction.is_strong)
        case "ends":
            return _ended(correction, old)
        case "replaces":
            found = _replaced(correction, old)
            # An order without more ("use a list instead of a tuple") is about the task.
            is_order = not (is_stated or correction.is_strong or _STATES.search(correction.about))
            return "unsure" if is_order and found == "sure" else found
        case "changes":
            return "none"


@remembered(TEXTS_KEPT)
def bare_lead(text: str) -> str:
    """Without what asks for memory, and without what the memory itself replaced."""
    return _IN_PLACE_OF.sub("", _LEAD_WORDS.sub("", without_request(text)))


def _ended(correction: Correction, old: str) -> Verdict:
    if is_negated(old) and not _WITHOUT.search(old):
        return "none"
    letters = INFLECTED_LETTERS if correction.is_inflected else COMMON_LETTERS
    wanted, there = content_of(correction.about), content_of(bare_lead(old))
    if correction.is_inflected:
        wanted, there = wanted - foreign_terms(), there - foreign_terms()
    share, back = _share(wanted, there, letters), _share(there, wanted, letters)
    if share == 1.0:
        least = HALF_OF_IT if correction.is_lasting else MOST_OF_IT
        is_meant = len(wanted) >= LEAST_NAMED and back >= least and not correction.is_report
        return "sure" if is_meant else "unsure"
    return "unsure" if len(wanted) >= 4 and share >= 0.6 and back >= 0.6 else "none"


def _replaced(correction: Correction, old: str) -> Verdict:
    there = content_of(old)
    about = content_of(correction.about)
    if correction.excludes:
        gone = content_of(correction.excludes)
        if not gone or _share(gone, there) < 1.0:
            return "none"
        there = content_of(first_clause(bare_lead(old))) | gone
        left = frozenset(one for one in there if not _has(gone, one))
        if not left:
            return "sure"
        share = _share(left, about)
        if share >= 0.5:
            return "sure"
        return "unsure" if share > 0 else "none"
    if not correction.is_strong or is_negated(old) or is_negated(correction.about):
        return "none"
    others = _alternatives(about, there)
    shared = sum(_has(there, one) for one in about) + others
    return "sure" if others and shared * 2 >= max(len(about), 1) else "none"


def _by_slot(new: str, old: str, correction: Correction | None) -> Verdict:
    slot = slot_between(_bare(correction.about if correction else new), _bare(old))
    if slot is None:
        return "none"
    if not content_of(" ".join(slot.frame)) or _DENIES.search(old) or _DENIES.search(_bare(new)):
        return "none"
    kind = _kind(slot.new)
    is_new_value = kind == _kind(slot.old) and kind != "word"
    excludes = is_new_value or bool(_alternatives(frozenset(slot.new), frozenset(slot.old)))
    is_outright = correction is not None and correction.is_strong
    adds_up = not is_outright and bool(_ADDS_UP.search(" ".join(slot.frame)))
    if excludes:
        if kind == "number" and _is_a_name(slot.new, new):
            return "none"
        is_whole = slot.is_whole and not (is_new_value and _says_more(slot))
        return "sure" if is_whole and not (adds_up and is_new_value) else "unsure"
    says_now = correction is not None and correction.kind == "changes"
    if kind != "word" or _kind(slot.old) != "word" or not says_now:
        return "none"
    if not slot.is_final or (slot.new[0] in _PREPOSITIONS) != (slot.old[0] in _PREPOSITIONS):
        return "none"
    is_linked = slot.before in _PREPOSITIONS | _NAMING or slot.new[0] in _PREPOSITIONS
    if not is_linked:  # "is broken now" is a remark, "is stable now" may be a name
        return "none" if len(slot.new) > 1 or _REMARKS.fullmatch(slot.new[0]) else "unsure"
    return "sure" if slot.is_whole and not adds_up else "unsure"


def _says_more(slot: Slot) -> bool:
    """Whether more differs than the value: "the shop on Mondays" against "on Thursdays"."""
    return any(
        _kind((token,)) == "word" and token not in _PREPOSITIONS | _PARTS
        for token in slot.new + slot.old
    )


def _is_a_name(value: Sequence[str], text: str) -> bool:
    """Whether a number says which one is meant ("test 4 is flaky"), not how much."""
    number = next(token for token in value if _NUMBER.fullmatch(token))
    return any(number == hit[0] for hit in _NAMED.finditer(text))


def slot_between(new: str, old: str) -> Slot | None:
    """The one place where two sentences differ; None if they differ in more, or not at all."""
    ours, theirs = _tokens(new), _tokens(old)
    if sum(token not in theirs for token in ours) > LONGEST_VALUE:
        return None
    match = SequenceMatcher(None, ours, theirs, autojunk=False)
    found: tuple[tuple[str, ...], tuple[str, ...], str, bool] | None = None
    frame: list[str] = []
    is_whole = True
    for how, a, b, c, d in match.get_opcodes():
        if how == "equal":
            frame += ours[a:b]
        elif how == "replace" and found is None:
            if b - a > LONGEST_VALUE or d - c > LONGEST_VALUE + 1:
                return None
            before = ours[a - 1] if a else ""
            found = (tuple(ours[a:b]), tuple(theirs[c:d]), before, b == len(ours))
        elif how == "delete":  # only the new one has it
            return None
        elif how == "insert":
            is_whole = False
        else:
            return None
    if found is None or not frame:
        return None
    value, old_value, before, is_final = found
    return Slot(value, old_value, tuple(frame), before, is_final, is_whole)


@remembered(TEXTS_KEPT)
def content_of(text: str) -> frozenset[str]:
    """The terms that say what a text is about, its numbers included."""
    words = " ".join(token for token in _TOKEN.findall(text) if token.strip(".:'") not in _EMPTY)
    return frozenset(terms_of(words)) - _empty_terms()


@cache
def foreign_terms() -> frozenset[str]:
    """The terms of words that only join, in languages other than English."""
    return frozenset(terms_of(" ".join(sorted(FOREIGN_JOINING)))) - {"prod", "test"}


@cache
def _empty_terms() -> frozenset[str]:
    return frozenset(terms_of(" ".join(sorted(_EMPTY))))


@remembered(TEXTS_KEPT)
def _tokens(text: str) -> tuple[str, ...]:
    tokens = (token.strip(".:\"'") for token in _TOKEN.findall(text))
    return tuple(token for token in tokens if token and token not in _FILLERS)


@remembered(TEXTS_KEPT)
def _bare(text: str) -> str:
    return first_clause(_FROM_NOW_ON.sub(" ", without_request(text)))


def _kind(value: Sequence[str]) -> ValueKind:
    for token in value:
        if token in WEEKDAYS or token.removesuffix("s") in WEEKDAYS:
            return "day"
    for token in value:
        if _NUMBER.fullmatch(token):
            return "number"
        if _PLACE.fullmatch(token):
            return "place"
    return "month" if any(token in MONTHS for token in value) else "word"


def kinds_of_value(terms: frozenset[str]) -> list[int]:
    """The kinds of value of which a text names one, as numbers."""
    return [number for number, row in enumerate(_ROWS) if row & terms]


def _alternatives(one: frozenset[str], other: frozenset[str]) -> int:
    """How many kinds of value both name, each another one."""
    return sum(bool(row & one) and bool(row & other) and not row & one & other for row in _ROWS)


def _share(wanted: frozenset[str], there: frozenset[str], letters: int = COMMON_LETTERS) -> float:
    return sum(_has(there, one, letters) for one in wanted) / len(wanted) if wanted else 0.0


def _has(terms: frozenset[str], one: str, letters: int = COMMON_LETTERS) -> bool:
    if one in terms:
        return True
    start = one[:letters]
    return len(start) == letters and any(other.startswith(start) for other in terms)


# As terms and as words: a slot has words, a sentence has terms.
_ROWS: Final = (
    *(row | frozenset(terms_of(" ".join(row))) for row in _ALTERNATIVES),
    frozenset(terms_of(" ".join(WEEKDAYS))),
)
