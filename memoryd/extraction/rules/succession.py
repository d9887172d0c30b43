"""Whether what a sentence says has changed is what a memory says: surely, perhaps, or not.

Rules
- Only the telling words count, by their stems; order, inflection and small words do not.
- What is gone must be in the memory with all its words. Where it is a mere number, the sentence
  must be about the same subject too.
- What holds now takes the place of what the memory says of the same subject: all telling words of
  the subject are shared, and one phrase differs on the same side of the verb.
- A telling word before the verb that the memory lacks is another subject or another owner: not
  meant at all, unless it stands exactly where the gone one stood ("run A before, not B"). A second
  phrase that the memory lacks ("for the docs") makes it unsure.
- What adds up ("we use"), and what may be a passing remark ("is slow now"), is unsure or not meant.
"""

import re
from collections.abc import Sequence
from typing import Final, Literal

from memoryd.base.remembered import remembered
from memoryd.extraction.rules.change_marks import Change, changes_in, clauses_of
from memoryd.extraction.rules.restatement import is_negated
from memoryd.extraction.rules.telling_words import (
    ARTICLES,
    PERSONS,
    READINGS_KEPT,
    TOKEN,
    Reading,
    Word,
    has_word,
    is_number,
    is_value,
    kind_of,
    reading_of,
    share_of,
)
from memoryd.text.lazy_regex import late

Verdict = Literal["none", "unsure", "sure"]
_STRENGTH: Final = ("none", "unsure", "sure").index

HALF: Final = 0.5
MOST: Final = 0.6
A_THIRD: Final = 0.33

_ADDS_UP: Final = late(
    r"\b(?:uses?|using|support\w*|(?:we|i) (?:now )?have|accept\w*|allow\w*|tests?|like|know"
    r"|speak|add|include|offer|read"
    r"|watch|cover|learning|utilisons|usamos|nutzen|verwenden)\b"
)
_REMARK: Final = late(
    r"\w+(?:ing|ed|ful|able)|down|up|broken|green|red|slow\w*|fast\w*|done|fine|good|bad"
    r"|better|worse|ready|empty"
    r"|back|open|full|gone|live|online|offline|wrong|right|here|there|first|later|again|flaky"
    r"|stable|happy|busy"
)
# What a thing no longer does may be a fault; what is no longer asked of anybody is a rule.
_ORDERS: Final = late(
    r"^(?:\W|please |and |so )*(?:dont|do not|stop|no|never|\w+ing)\b|^\s*\w+(?: \w+)? (?:ne"
    r"|no|nao|non) "
    r"|\b(?:dont|need\w*|have|has|must|owns?|leads?|handles?|maintains?|manages?|wants?"
    r"|muss\w*|brauch\w*|soll\w*|man|se|hay|besoin|doi\w+|tu|vous|\w+mos|\w+ons|precisa\w*)\b"
)
_FURTHER: Final = late(r"[,;:.!] .*")


def verdict_on_change(said: str, old: str) -> Verdict:
    """Whether a sentence withdraws or replaces the memory; both are `matchable` text."""
    changes = changes_in(said)
    memory = reading_of(_first(old)) if changes else None
    if memory is None or not memory.words:
        return "none"
    whole = reading_of(old)
    verdicts = (_verdict(change, said, memory, whole, old) for change in changes)
    return max(verdicts, key=_STRENGTH, default="none")


def verdict_on_forgetting(about: str, old: str, is_strong: bool) -> Verdict:
    """Whether a description of what is to be forgotten fits the memory; both `matchable`."""
    wanted, memory = reading_of(about), reading_of(old)
    strange = _strange(wanted, memory)
    share = share_of(wanted.stems, memory.stems)
    covered = share_of(reading_of(_first(old)).stems, wanted.stems)
    if not wanted.words or wanted.others - memory.others:
        return "none"
    if not strange:
        is_plain = len(wanted.stems) > 1 and covered >= HALF
        return "sure" if is_strong or is_plain else "unsure" if len(wanted.stems) > 1 else "none"
    return (
        "unsure"
        if share >= HALF and (covered >= HALF or share >= MOST) and len(wanted.stems) > 1
        else "none"
    )


def names_another(said: str, old: str) -> bool:
    """Whether what is said to change is another's, or of another thing than the memory is about."""
    for change in changes_in(said):
        if change.kind not in {"gone", "ended"}:
            continue
        clauses = clauses_of(change.frame) or [""]
        reading = reading_of(change.gone if change.kind == "ended" else clauses[-1])
        memory = reading_of(old)
        if reading.others - memory.others or any(
            _is_subject(word, reading) for word in _strange(reading, memory)
        ):
            return True
    return False


def _verdict(change: Change, said: str, memory: Reading, whole: Reading, old: str) -> Verdict:
    match change.kind:
        case "gone":
            return _gone(change, memory, whole)
        case "over":
            return _over(change, memory, whole)
        case "ended":
            return _ended(change, memory, whole, old)
        case "shifted":
            return _shifted(change, memory)
        case "now":
            return _now(change, said, memory, old)


def _gone(change: Change, memory: Reading, whole: Reading) -> Verdict:
    gone = reading_of(change.gone).stems
    if not gone or gone == ("rule",):
        return "none"
    share = share_of(gone, whole.stems)
    if share < 1.0:
        return "unsure" if len(gone) >= 3 and share >= MOST else "none"
    clauses = clauses_of(change.frame)
    frame = reading_of(clauses[-1] if clauses else "")
    strange = _strange(frame, whole)
    if strange and all(_is_of_another_script(word.stem, whole) for word in strange):
        return "unsure"  # nobody knows whether these are the words of the memory
    if frame.others - whole.others:
        return "none"
    takes_its_place = not change.is_verb and _takes_place_of(gone, strange, frame, memory)
    if not takes_its_place and any(change.is_verb or _is_subject(word, frame) for word in strange):
        is_ours = change.is_verb and frame.has_verb and share_of(frame.stems, whole.stems) > 0
        return "unsure" if is_ours else "none"
    if change.is_verb and clauses and not _is_ours(clauses[-1], frame, whole):
        return "none"
    if len({word.phrase for word in strange}) > 1:
        return "unsure"
    about = [stem for stem in memory.stems if not has_word(gone, stem)]
    told = share_of(about, frame.stems)
    if all(map(is_number, gone)):
        words = [stem for stem in about if not is_number(stem)]
        told = share_of(words, frame.stems)
        return "sure" if told >= HALF else "unsure" if told > 0 else "none"
    covered = share_of(memory.stems, (*gone, *frame.stems))
    names_value = any(has_word(gone, stem) for stem in memory.value)
    return "sure" if covered >= A_THIRD and (names_value or covered >= MOST) else "unsure"


def _takes_place_of(
    gone: Sequence[str], strange: Sequence[Word], frame: Reading, memory: Reading
) -> bool:
    """Whether the new words stand where the gone ones stood, beside a word that both share."""
    places = {(word.phrase, word.side) for word in memory.words if has_word(gone, word.stem)}
    is_one_place = len(places) == 1 and {(word.phrase, word.side) for word in strange} == places
    return is_one_place and len(frame.words) > len(strange)


def _is_ours(subject: str, frame: Reading, memory: Reading) -> bool:
    """Whether the one who changed it is the person, or what the memory is about."""
    words = set(TOKEN.findall(subject))
    return bool(words & PERSONS or share_of(frame.stems, memory.stems)) or not words & ARTICLES


def _over(change: Change, memory: Reading, whole: Reading) -> Verdict:
    gone = reading_of(change.gone)
    if not gone.words or gone.others - whole.others:
        return "none"
    covered = share_of(memory.stems, gone.stems)
    if strange := _strange(gone, whole):
        return "unsure" if covered >= MOST and len(strange) == 1 and len(gone.stems) > 2 else "none"
    rest = _strange(memory, gone)
    further = _FURTHER.search(change.value)
    told = reading_of(further[0]).stems if further else ()
    is_told = share_of([word.stem for word in rest], told) > 0
    if not (change.is_lasting or is_told):
        return "unsure"  # "the runner died" may be an accident
    names_value = any(has_word(gone.stems, stem) for stem in memory.value)
    return "sure" if covered >= MOST or names_value else "unsure"


def _ended(change: Change, memory: Reading, whole: Reading, old: str) -> Verdict:
    ended = reading_of(change.gone)
    if not ended.words or ended.others - whole.others or is_negated(old):
        return "none"
    strange = _strange(ended, whole)
    covered = share_of(memory.stems, ended.stems)
    if strange:
        is_other = any(_is_subject(word, ended) for word in strange)
        is_near = covered >= MOST and len(strange) == 1 and len(ended.stems) > 2
        return "unsure" if is_near and not is_other else "none"
    is_report = not (ended.has_verb or _ORDERS.search(change.gone))
    if is_report or not change.is_lasting:
        return "unsure"
    if covered >= HALF and (len(ended.stems) > 1 or len(memory.stems) <= 2):
        return "sure"
    return "unsure"


def _shifted(change: Change, memory: Reading) -> Verdict:
    frame, value = reading_of(change.frame), reading_of(change.value)
    if not frame.words or frame.others - memory.others or _strange(frame, memory):
        return "none"
    new = _strange(value, memory)
    left = [word for word in memory.words if not has_word(frame.stems, word.stem)]
    if not new or not left:
        return "none"
    if len({word.phrase for word in new}) > 1:
        return "unsure"
    missed = [word for word in left if not word.side] if memory.has_verb else []
    is_alike = _kind_of(new) == _kind_of(left)
    return "sure" if is_alike and not missed else "unsure"


def _now(change: Change, said: str, memory: Reading, old: str) -> Verdict:
    now = reading_of(change.frame)
    new = _strange(now, memory)
    left = [word for word in memory.words if not has_word(now.stems, word.stem)]
    shared = [word for word in now.words if has_word(memory.stems, word.stem)]
    if (
        not new
        or not left
        or not shared
        or now.others - memory.others
        or is_negated(old)
        or is_negated(change.frame)
    ):
        return "none"
    if not (_is_one_phrase(new, now) and _is_one_phrase(left, memory)):
        return "none"
    at_front = _is_before(new[0], shared, now)
    if at_front != _is_before(left[0], [w for w in memory.words if w not in left], memory):
        is_turned = _is_one_side(new, now) and _is_one_side(left, memory)
        return "sure" if is_turned and _kind_of(new) == _kind_of(left) else "none"
    kind, old_kind = _kind_of(new), _kind_of(left)
    if kind != old_kind:
        return "none"
    if kind == "word":
        if len(new) == 1 and _REMARK.fullmatch(new[0].stem) and not new[0].is_led:
            return "none"
        if "from now on" in said and not re.search(r"\bnow\b", said.replace("from now on", "")):
            is_alike = len(shared) > 1 or (new[0].is_led and left[0].is_led)
            return "unsure" if is_alike else "none"
        is_same_way = new[0].is_led == left[0].is_led or at_front
        if not is_same_way or len(new) > 3:
            return "unsure" if len(shared) > 1 else "none"
    elif len([word for word in new if not is_value(word.stem)]) > 0:
        return "unsure"
    adds_up = bool(_ADDS_UP.search(change.frame)) and kind == "word"
    return "unsure" if adds_up else "sure"


def _is_subject(word: Word, reading: Reading) -> bool:
    """Whether it stands where the sentence says what it is about, or where it holds."""
    if reading.opens_with_place and word == reading.words[0]:
        return True
    return reading.has_verb and word.side == 0 and (word.phrase == 0 or reading.words[-1].side > 0)


def _is_one_phrase(words: Sequence[Word], reading: Reading) -> bool:
    """Whether they stand together, with neither a verb nor a preposition between them."""
    start = reading.words.index(words[0])
    together = reading.words[start : start + len(words)] == tuple(words)
    return together and words[0].phrase == words[-1].phrase


def _is_one_side(words: Sequence[Word], reading: Reading) -> bool:
    """Whether they are all that stands on one side of the verb."""
    return reading.has_verb and list(words) == [
        word for word in reading.words if word.side == words[0].side
    ]


def _kind_of(words: Sequence[Word]) -> str:
    return kind_of(word.stem for word in words)


def _is_before(word: Word, shared: Sequence[Word], reading: Reading) -> bool:
    order = list(reading.words)
    return bool(shared) and order.index(word) < order.index(shared[0])


def _strange(reading: Reading, memory: Reading) -> list[Word]:
    return [word for word in reading.words if not has_word(memory.stems, word.stem)]


def _is_of_another_script(stem: str, memory: Reading) -> bool:
    return not stem.isascii() and all(other.isascii() for other in memory.stems)


@remembered(READINGS_KEPT)
def _first(text: str) -> str:
    found = clauses_of(text)
    return next((clause for clause in found if reading_of(clause).words), text)
