"""Whether a sentence is a person's own, lightly edited.

Rules
- It is theirs if its words of substance stand in a span of what they typed: one to three adjacent
  sentences of one message, or clauses of neighbouring ones. Words may be dropped, not added.
- The order is kept. Two clauses may change places, and two neighbouring words of one, unless both
  are names or a preposition stands between them. What is in one clause is not spliced from two, nor
  from two sentences.
- A clause is not widened: behind the first word that is kept, nothing is dropped that says what it
  holds for, nor a preposition's object before it, nor anything else but what people begin with: who
  does it, fears it or forbids it stands in front. "Always" is not added.
- What is denied in one is denied in the other. Numbers and names in code are exactly the same. A
  date may be written out, counted from when it was said.
- Limits are not dropped, nor who wanted it if that is somebody else; what was asked or supposed is
  not said (`said_limits`). A sentence that they take back is not said either.
- A sentence that they said earlier may be corrected: at least half of it stays, in its order, and
  every other word is from one sentence of theirs.
- Where the person wrote "it" or "that", up to two of their other words may stand for it.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache
from typing import Final

import msgspec

from memoryd.extraction.rules.said_limits import (
    is_stated,
    keeps_condition,
    keeps_limits,
    limits_in,
    opens_with_condition,
    reach_of,
    takes_back,
    wanted_by,
)
from memoryd.extraction.rules.span_shape import (
    FILLED_IN,
    SaidSentence,
    SaidWord,
    corrects,
    is_dense,
    is_joined,
    is_spliced,
    is_widened,
    order_is_kept,
)
from memoryd.extraction.rules.word_classes import LABELS, POINTING
from memoryd.extraction.rules.wording import Word, are_alike, has_denial, plain_words, words_of
from memoryd.text.dates import dates_in
from memoryd.text.lazy_regex import late
from memoryd.text.prose import sentences

WINDOW_SENTENCES: Final = 3
LABEL_WORDS: Final = 6
LONGEST_SENTENCE_WORDS: Final = 120

_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)


# What is said of somebody ("people who force push") is not said by itself.
_WHO = late(r"\bwho\b(?!\?)", re.IGNORECASE)


class _Draft(msgspec.Struct, frozen=True):
    """A sentence to be found, with the forms in which the person may have typed each word."""

    text: str
    words: list[Word]
    forms: dict[str, frozenset[str]]

    @property
    def points(self) -> bool:
        return not POINTING.isdisjoint(plain_words(self.text))

    @property
    def limits(self) -> frozenset[str]:
        return limits_in(self.text)

    @property
    def reach(self) -> frozenset[str]:
        return reach_of(plain_words(self.text))


class SaidSpans:
    """Everything that a person typed, message by message."""

    def __init__(self) -> None:
        self._messages: list[list[SaidSentence]] = []
        # By their first letter, which no typo changes.
        self._keys: dict[str, set[tuple[str, str]]] = defaultdict(set)
        self._known_forms: dict[str, frozenset[str]] = {}

    def add(self, typed: str, said_at: datetime | None = None) -> None:
        """Adds a message, of which only the person's own prose is given."""
        texts = [one.text for one in sentences(typed)]
        said = [_said(one, said_at) for one in texts]
        for at, text in enumerate(texts):
            if takes_back(text.lower()):
                self._take_back(said, at)
        self._messages.append(said)
        for word in (one.word for sentence in said for one in sentence.words):
            self._keys[word.key[0]].add((word.key, word.plain))
        self._known_forms.clear()

    def _take_back(self, said: list[SaidSentence], at: int) -> None:
        """The sentence before no longer counts; one of an earlier message if it is spoken of."""
        if at:
            said[at - 1] = msgspec.structs.replace(said[at - 1], is_question=True)
            return
        before = self._messages[-1] if self._messages else []
        if before and not said[0].keys.isdisjoint(before[-1].keys):
            before[-1] = msgspec.structs.replace(before[-1], is_question=True)

    def hold(self, sentence: str) -> bool:
        """Whether this is a sentence of theirs, lightly edited."""
        words = words_of(sentence)
        if not words or len(words) > LONGEST_SENTENCE_WORDS:
            return False
        forms = {word.key: self._forms(word.key, word.plain) for word in words}
        if not all(forms.values()):
            return False
        draft = _Draft(sentence, words, forms)
        return any(_has(draft, words, one) for one in self._messages) or self._has_clauses(draft)

    def correct(self, sentence: str, earlier: Iterable[str]) -> bool:
        """Whether this is one of their earlier sentences, corrected by a new one."""
        words = words_of(sentence)
        typed = [one for message in self._messages for one in message if not one.is_question]
        return any(
            corrects(words, words_of(old), [said.word for said in new.words])
            for old in earlier
            for new in typed
        )

    def know(self, key: str) -> bool:
        """Whether they used the word at all."""
        return bool(self._forms(key))

    def name(self, title: str) -> bool:
        """Whether a short title only names what they spoke of."""
        words = words_of(title)
        if not words or len(title.split()) > LABEL_WORDS or has_denial(title):
            return False
        return all(word.key in _label_keys() or self.know(word.key) for word in words)

    def _forms(self, key: str, plain: str = "") -> frozenset[str]:
        known = self._known_forms.get(f"{key} {plain}")
        if known is None:
            near = self._keys.get(key[0], ())
            # A stem may hide a typo that the whole word shows.
            known = frozenset(
                one
                for one, typed in near
                if are_alike(key, one) or (plain and are_alike(plain, typed))
            )
            self._known_forms[f"{key} {plain}"] = known
        return known

    def _has_clauses(self, draft: _Draft) -> bool:
        """Whether each clause is in one of two neighbouring messages."""
        clauses = _clauses(draft.words)
        if len(clauses) < 2:
            return False
        for first in range(len(self._messages)):
            near = self._messages[first : first + 2]
            if all(any(_has(draft, one, message) for message in near) for one in clauses):
                return True
        return False


@cache
def _label_keys() -> frozenset[str]:
    return frozenset(word.key for label in LABELS for word in words_of(label))


def _said(text: str, said_at: datetime | None) -> SaidSentence:
    lower = text.lower()
    words = words_of(_WHO.sub(" ", text))
    extra = _written_out(text, said_at) if said_at is not None else ()
    other = wanted_by(lower)
    who = next((one for one in words if other and one.text.lower() == other), None)
    plain = plain_words(text)
    all_words = (*map(SaidWord, words), *(SaidWord(word, is_extra=True) for word in extra))
    return SaidSentence(
        words=all_words,
        keys=frozenset(one.word.key for one in all_words),
        is_question=not is_stated(lower) or bool(other and who is None),
        points=not POINTING.isdisjoint(plain),
        limits=limits_in(text),
        opens_with_condition=opens_with_condition(text),
        reach=reach_of(plain),
        wanted_by=who,
    )


def _written_out(text: str, said_at: datetime) -> Iterable[Word]:
    """The dates of a sentence as a note may write them."""
    for mention in dates_in(text, said_at):
        day = mention.first_day
        forms = {mention.iso, day.isoformat(), str(day.year), _MONTHS[day.month - 1], str(day.day)}
        for form in sorted(forms):
            for word in words_of(form):
                yield Word(word.key, form, False, -1)


def _clauses(words: Sequence[Word]) -> list[list[Word]]:
    numbers = sorted({word.part for word in words})
    return [[word for word in words if word.part == number] for number in numbers]


def _has(draft: _Draft, words: Sequence[Word], message: Sequence[SaidSentence]) -> bool:
    wanted = [draft.forms[word.key] for word in words]
    starts = [at for at, one in enumerate(message) if not all(map(one.keys.isdisjoint, wanted))]
    sizes = range(1, WINDOW_SENTENCES + 1)
    windows = (message[start : start + size] for size in sizes for start in starts)
    return any(
        _is_in(draft, words, window, message) for window in windows if _may_have(wanted, window)
    )


def _may_have(wanted: Sequence[frozenset[str]], window: Sequence[SaidSentence]) -> bool:
    """Whether enough of the words are there at all; cheap."""
    there = sum(not all(one.keys.isdisjoint(forms) for one in window) for forms in wanted)
    return there >= len(wanted) - FILLED_IN


def _is_in(
    draft: _Draft,
    words: Sequence[Word],
    window: Sequence[SaidSentence],
    message: Sequence[SaidSentence],
) -> bool:
    is_asking = "?" in draft.text
    stated = [one for one in window if is_asking or not one.is_question]
    said = [one for sentence in stated for one in sentence.words]
    places = _places(draft, words, said)
    missing = [word for word, place in zip(words, places, strict=True) if place is None]
    found = [place for place in places if place is not None]
    if not found or (missing and not _may_be_filled_in(draft, places, missing, stated, message)):
        return False
    return (
        is_dense(found, said)
        and not is_spliced(words, places, said)
        and order_is_kept(found, said)
        and _keeps_its_limits(draft, {said[at].word for at in found}, stated)
        and not is_joined(words, places, stated)
        and not is_widened(found, stated, spare=draft.points, is_fragment=draft.words[0].is_linked)
    )


def _places(draft: _Draft, words: Sequence[Word], said: Sequence[SaidWord]) -> list[int | None]:
    """Where each word stands, behind the one before it if it can."""
    places: list[int | None] = []
    last, used = -1, set[int]()
    for word in words:
        forms = draft.forms[word.key]
        fits = [at for at, one in enumerate(said) if at not in used and _is_same(word, one, forms)]
        fits = [at for at in fits if said[at].word.key == word.key] or fits
        at = next((at for at in fits if at > last), fits[0] if fits else None)
        places.append(at)
        if at is not None:
            used.add(at)
            last = last if said[at].is_extra else at
    return places


def _is_same(word: Word, said: SaidWord, forms: frozenset[str]) -> bool:
    if said.is_extra:
        return word.key == said.word.key
    return said.word.key in forms and word.is_denied == said.word.is_denied


def _may_be_filled_in(
    draft: _Draft,
    places: Sequence[int | None],
    missing: Sequence[Word],
    window: Sequence[SaidSentence],
    message: Sequence[SaidSentence],
) -> bool:
    """Whether the missing words are of the same message and stand for a word that points."""
    if len(missing) > min(FILLED_IN, (len(places) - 1) // 2) or places[0] is None:
        return False
    typed = {
        (one.word.key, one.word.is_denied and not sentence.is_question)
        for sentence in message
        for one in sentence.words
    }
    known = all(
        any({(form, False), (form, word.is_denied)} & typed for form in draft.forms[word.key])
        for word in missing
    )
    return known and any(sentence.points for sentence in window)


def _keeps_its_limits(draft: _Draft, found: set[Word], window: Sequence[SaidSentence]) -> bool:
    """Whether limits, and who else wanted it, were not dropped, and it reaches no further."""
    reach: frozenset[str] = frozenset()
    for sentence in window:
        used = [one.word for one in sentence.words if one.word in found]
        reach |= sentence.reach if used else frozenset()
        if used and not keeps_limits(sentence.limits, draft.limits):
            return False
        if used and _is_bare(draft, sentence, used):
            return False
        who = sentence.wanted_by
        if who and who not in found and any(0 <= one.clause - who.clause <= 1 for one in used):
            return False
    return draft.reach <= reach


def _is_bare(draft: _Draft, sentence: SaidSentence, used: Sequence[Word]) -> bool:
    """Whether a clause was taken without the condition beside it."""
    wanted = frozenset().union(*draft.forms.values())
    clauses = {one.word.clause for one in sentence.words if one.word.key in wanted}
    first = sentence.words[0].word.clause
    if sentence.opens_with_condition and first not in clauses:
        return True
    if keeps_condition(sentence.limits, draft.limits):
        return False
    is_far = min(one.clause for one in used) > first + 1
    return len(clauses) < 2 and not is_far
