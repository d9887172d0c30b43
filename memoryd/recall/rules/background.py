"""How much a word says by itself, whatever the memories: rare words say much, everyday ones little.

A store knows which words are common in it, but not which are common in what developers say all day:
"commit", "test" and "file" may stand in one memory only and still say nothing. The table that ships
with memoryd (`data/word_frequencies.txt`, made by `benchmarks/training/frequencies.py`) has how
many passages of READMEs, manuals and package descriptions hold a term. Words of prompts about
nothing (`data/neutral_prompts.txt`) are common too, although documents hardly use them.

A weight is between 0 (in every passage) and 1 (never seen). Numbers and words of one or two letters
are rare one by one, but some are in every text: they have at most `SMALL_WORD_WEIGHT`.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from memoryd.recall.rules.word_list import ABSENT, WordList
from memoryd.text.terms import terms_of

CLASS_RATIO = 1.25
SMALL_WORD_WEIGHT = 0.3
_RAREST = 2e-6
_STEEPNESS = 1.3
# A neutral prompt is much shorter than a passage, and there are few of them.
_PROMPT_TRUST = 0.3


class Background:
    """The weights of terms; without a table all words weigh alike."""

    def __init__(self, rates: Mapping[str, float], prompts: Iterable[str] = ()) -> None:
        self._rates = rates
        self._spoken: Counter[str] = Counter()
        self._prompts = 0
        for prompt in prompts:
            self._spoken.update(set(terms_of(prompt)))
            self._prompts += 1
        self._known: dict[str, float] = {}

    def weight(self, term: str, *, but_one_prompt: bool = False) -> float:
        """What a term says; a prompt that is itself in the list is weighed as if it were not."""
        if but_one_prompt:
            return self._weight(term, self._spoken[term] - 1)
        found = self._known.get(term)
        if found is None:
            if len(self._known) > 50_000:
                self._known.clear()
            found = self._known[term] = self._weight(term, self._spoken[term])
        return found

    def _weight(self, term: str, times_spoken: int) -> float:
        if not self._rates:
            return 1.0
        rate = self._rates.get(term, 0.0) + _RAREST
        if self._prompts:
            rate += _PROMPT_TRUST * max(times_spoken, 0) / self._prompts
        share_of_rarest = max(math.log(min(rate, 1.0)) / math.log(_RAREST), 0.0)
        weight = math.pow(share_of_rarest, _STEEPNESS)
        return min(weight, SMALL_WORD_WEIGHT) if _is_small(term) else weight


class Rates(Mapping[str, float]):
    """The share of passages that hold each term, by its class."""

    def __init__(self, terms: WordList, classes: bytes) -> None:
        self._terms = terms
        self._classes = classes

    def __getitem__(self, term: str) -> float:
        number = self._terms.number_of(term)
        if number == ABSENT:
            raise KeyError(term)
        return float(CLASS_RATIO ** -self._classes[number])

    def __iter__(self) -> Iterator[str]:
        return iter(self._terms)

    def __len__(self) -> int:
        return len(self._terms)


def rates_in(table: str) -> Rates:
    """From lines of a class and its terms."""
    words: list[str] = []
    classes = bytearray()
    for line in table.splitlines():
        number, *terms = line.split(" ")
        words += terms
        classes += bytes([int(number)]) * len(terms)
    return Rates(WordList("\n".join(words)), bytes(classes))


def _is_small(term: str) -> bool:
    return term[:1].isdigit() or (len(term) <= 2 and term.isascii())
