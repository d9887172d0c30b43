"""The shape of a draft in what a person typed: the places and order of its words, and the gaps.

The rules are those of `spans`; here are the tests that look at places alone.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import msgspec

from memoryd.extraction.rules.said_limits import may_be_dropped
from memoryd.extraction.rules.word_classes import BEGINNINGS, DIRECTIONS
from memoryd.extraction.rules.wording import Word, are_alike

LEAST_DENSITY: Final = 0.4
FILLED_IN: Final = 2
SPLICED_OVER: Final = 1
LONELY_CLAUSE: Final = 3


class SaidWord(msgspec.Struct, frozen=True):
    """A word as the person typed it; an extra one is a date that we wrote out."""

    word: Word
    is_extra: bool = False


class SaidSentence(msgspec.Struct, frozen=True):
    """One sentence of a person: its words, and what must not be dropped from it."""

    words: tuple[SaidWord, ...]
    keys: frozenset[str]
    is_question: bool
    points: bool
    limits: frozenset[str]
    opens_with_condition: bool
    reach: frozenset[str]
    wanted_by: Word | None


def is_dense(found: Sequence[int], said: Sequence[SaidWord]) -> bool:
    """Whether they were taken from one place, and not picked from all over."""
    own = sorted(at for at in found if not said[at].is_extra)
    if len(own) < 2:
        clauses = {said[at].word.clause for at in own}
        beside = [one for one in said if not one.is_extra and one.word.clause in clauses]
        return len(beside) <= LONELY_CLAUSE
    between = sum(not one.is_extra for one in said[own[0] : own[-1] + 1])
    return len(own) >= LEAST_DENSITY * between


def is_spliced(
    words: Sequence[Word], places: Sequence[int | None], said: Sequence[SaidWord]
) -> bool:
    """Whether one clause was made of two by leaving out several words between them."""
    found = [
        (word.clause, at)
        for word, at in zip(words, places, strict=True)
        if at is not None and not said[at].is_extra
    ]
    return any(
        clause == next_clause
        and said[at].word.clause != said[behind].word.clause
        and behind > at + 1 + SPLICED_OVER
        for (clause, at), (next_clause, behind) in pairwise(found)
    )


def is_joined(
    words: Sequence[Word], places: Sequence[int | None], window: Sequence[SaidSentence]
) -> bool:
    """Whether a part of the draft was put together from two sentences."""
    sources = [number for number, one in enumerate(window) for _ in one.words]
    used: dict[int, list[int]] = defaultdict(list)
    for word, at in zip(words, places, strict=True):
        if at is not None:
            used[word.part].append(sources[at])
    for part in used.values():
        main = max(set(part), key=part.count)
        named = len(part) - part.count(main)  # what "it" stands for in that sentence
        if named and (named > FILLED_IN or not window[main].points):
            return True
    return False


def is_widened(
    found: Sequence[int], window: Sequence[SaidSentence], *, spare: int, is_fragment: bool
) -> bool:
    """Whether a clause lost a word that said what it holds for.

    Before the first word that was kept, only what people begin with may be gone: somebody else
    who does it, fears it or forbids it stands there too. A date that was written out takes the
    place of the words for it. `spare` words may be gone, where "it" stands for them. A fragment
    that begins with a preposition orders nothing.
    """
    start = gone = 0
    for sentence in window:
        own = [at - start for at in found if start <= at < start + len(sentence.words)]
        start += len(sentence.words)
        if any(sentence.words[at].is_extra for at in own):
            continue
        first: dict[int, Word] = {}
        for at in sorted(own, reverse=True):
            first[sentence.words[at].word.clause] = sentence.words[at].word
        for at, one in enumerate(sentence.words):
            kept = first.get(one.word.clause)
            if not one.is_extra and at not in own and kept is not None:
                is_front = at < min(n for n in own if sentence.words[n].word.clause == kept.clause)
                is_spare = is_front and (is_fragment or _is_how_it_begins(one.word, kept))
                gone += not is_spare and not may_be_dropped(one.word.plain)
    return gone > spare


def _is_how_it_begins(word: Word, kept: Word) -> bool:
    """Whether a word may be gone in front of the first one that was kept.

    Of a list that is forbidden each item is.
    """
    if word.is_linked:
        return False
    is_item = word.is_denied and kept.is_denied and word.part != kept.part
    return is_item or word.plain in BEGINNINGS


def order_is_kept(found: Sequence[int], said: Sequence[SaidWord]) -> bool:
    order = [at for at in found if not said[at].is_extra]
    at = 0
    while at < len(order) - 1:
        if _may_be_turned(order[at], order[at + 1], said):
            order[at], order[at + 1] = order[at + 1], order[at]
            at += 1
        elif _is_passive(order[at : at + 3], said):
            order[at : at + 3] = sorted(order[at : at + 3])
            at += 2
        at += 1
    drops = [n for n in range(1, len(order)) if order[n] < order[n - 1]]
    if len(drops) > 1:
        return False
    if not drops:
        return True
    front, back = order[: drops[0]], order[drops[0] :]
    return max(back) < min(front) and _may_change_places(front, back, found, said)


def _may_change_places(
    front: Sequence[int], back: Sequence[int], found: Sequence[int], said: Sequence[SaidWord]
) -> bool:
    """Whether one half is a clause or begins with a preposition, or a German verb moved back."""
    begins, first = said[min(front)].word, said[min(back)].word
    if begins.part != said[max(back)].word.part or begins.is_linked or first.is_linked:
        return True
    if first.plain in DIRECTIONS:
        return True
    own = [at for at in found if not said[at].is_extra]
    return len(back) == 1 and own == [*sorted(front), *back]


def _may_be_turned(first: int, second: int, said: Sequence[SaidWord]) -> bool:
    if first != second + 1:
        return False
    before, behind = said[second].word, said[first].word
    if before.part != behind.part or behind.is_linked:
        return False
    return not (_is_name(before) and _is_name(behind))


def _is_passive(turned: Sequence[int], said: Sequence[SaidWord]) -> bool:
    """Whether a verb moved behind the two words of its object: "unit tests are written"."""
    first = min(turned)
    if list(turned) != [first + 1, first + 2, first]:
        return False
    verb, *its_object = (said[at].word for at in sorted(turned))
    return not _is_name(verb) and not any(word.is_linked for word in its_object)


def _is_name(word: Word) -> bool:
    return word.text[:1].isupper() or not word.key.isalpha()


def corrects(words: Sequence[Word], old: Sequence[Word], new: Sequence[Word]) -> bool:
    """Whether the words are the old ones in order, with new ones in order between them."""
    from_old = from_new = kept = 0
    for word in words:
        there = _next_place(word, old, from_old)
        if there is not None:
            from_old, kept = there + 1, kept + 1
            continue
        there = _next_place(word, new, from_new)
        if there is None:
            return False
        from_new = there + 1
    return from_new > 0 and 2 * kept >= len(words)


def _next_place(word: Word, among: Sequence[Word], start: int) -> int | None:
    same = (
        at
        for at, one in enumerate(among[start:], start)
        if one.is_denied == word.is_denied and are_alike(one.key, word.key)
    )
    return next(same, None)
