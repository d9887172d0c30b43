"""Which memories a statement can be about at all, told without comparing the two.

Every rule on contradictions and restatements needs one word that both texts share: the same stem,
a form of it, one with the same first letters, or two values of one kind. So a text has keys, and
two texts without a common key have nothing to do with each other. With thousands of memories this
leaves a few to be compared.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from memoryd.base.remembered import remembered
from memoryd.extraction.rules.change_marks import changes_in, clauses_of
from memoryd.extraction.rules.contradiction import bare_lead, content_of, kinds_of_value
from memoryd.extraction.rules.corrections import correction_in, first_clause
from memoryd.extraction.rules.restatement import subject_of
from memoryd.extraction.rules.telling_words import ENDINGS, reading_of
from memoryd.text.prose import matchable

# No rule takes words for related that share fewer of their first letters.
LETTERS: Final = 4
# A statement is compared with the memories of each scope, more than once.
_STATEMENTS_KEPT: Final = 16


def keys_of_memory(core: str) -> frozenset[str]:
    """Of what a memory says, as far as it is compared."""
    plain = matchable(core)
    return frozenset(_keys((core, plain, bare_lead(plain))))


@remembered(_STATEMENTS_KEPT)
def keys_of_statement(readings: frozenset[str], core: str, around: str) -> frozenset[str]:
    """Of all that is compared of a statement: its readings, its core, and what was said with it."""
    texts = [core]
    for one in (*readings, core):
        plain = matchable(one)
        texts += (one, plain, first_clause(plain))
        correction = correction_in(one)
        if correction is not None:
            texts += (correction.about, correction.excludes)
        texts += _changed_in(one)
    texts += _changed_in(matchable(around))
    return frozenset(_keys(texts))


def _changed_in(text: str) -> Iterator[str]:
    for change in changes_in(text):
        yield from (change.gone, change.frame, change.value, *clauses_of(change.frame))


def _keys(texts: Iterable[str]) -> Iterator[str]:
    words: set[str] = set()
    for text in texts:
        content = content_of(text)
        words |= content | subject_of(text) | set(reading_of(text).stems)
        for kind in kinds_of_value(content):
            yield f"#{kind}"
    for word in words:
        yield word[:LETTERS]
        if word[LETTERS - 1 :] in ENDINGS:  # "own" and "owner"
            yield word[: LETTERS - 1]
