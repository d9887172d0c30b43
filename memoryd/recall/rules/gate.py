"""What is shown although nobody asked: a memory that is worth an interruption, or nothing.

A hook asks at every prompt, and most prompts have nothing to do with any memory. So:

- Evidence is the part of the prompt's words that a memory has. A word counts by how rare it is in
  the memories of the same directory (`rarity`) and in what developers write (`Background`), and a
  long memory earns less with it, as in the ranking. The sum is divided by a power of what all words
  of the prompt weigh, since a long prompt shares words with everything.
- Each directory has a bar: what nearly all prompts about nothing (`data/neutral_prompts.txt`) stay
  below there, and more of them the longer its memories are. It is measured when the directory is
  loaded, and again when some of its memories have changed (`bar_is_outdated`). A small store has no
  prompt about nothing that comes near, so no bar is below `LEAST_BAR`.
- One common word is never enough, whatever the bar: `LEAST_SINGLE_WORD`.
- What has much less evidence than the best is left out: `SHARE_OF_BEST`.

Meaning is not evidence here. With the cosine of static vectors added or multiplied in, at the same
noise, .42 to .63 of the prompts about a memory are shown it, and without it .60. So a sentence
encoder does not raise the noise either.

Somebody who asks by `recall` is not held to any of this: see `relevance`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from memoryd.recall.rules.background import Background
from memoryd.recall.rules.index import Index
from memoryd.recall.rules.postings import Scores
from memoryd.recall.rules.relevance import rarity
from memoryd.text.terms import compounds_of, terms_of

LEAST_BAR = 0.14
# Ours all name things. Real prompts are half "yes" and "go on", and long ones repeat themselves:
# what a quarter of ours pass, about five in a hundred real ones pass. The 95th percentile lets one
# real prompt in two hundred pass, but only a fifth of those that concern a memory.
NEUTRAL_SHARE = 0.77
# Memories of a page share words with any prompt, so real ones pass more often there.
LONG_NEUTRAL_SHARE = 0.87
SHORT_TERMS, LONG_TERMS = 40, 140
SHARE_OF_BEST = 0.6
LEAST_SINGLE_WORD = 0.3
_LENGTH_POWER = 0.7
_ASSUMED_WEIGHT = 0.8
# A word that others write is not a typo, even if no memory has it and one has a word like it.
_UNHEARD_OF = 0.9
# The bar moves little with one memory among many.
_CHANGED_SHARE = 0.05


class PromptWeights:
    """The words of one prompt with what they say, whatever the directory."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        self.weights = weights

    def worths_in(self, index: Index) -> dict[str, float]:
        """What each word is worth in a directory."""
        memories = len(index)
        most = rarity(0, memories)
        return {
            term: weight * rarity(index.documents.holders_of(term), memories) / most
            for term, weight in self.weights.items()
        }


def prompt_weights(
    text: str, background: Background, stand_ins: Mapping[str, tuple[str, float]]
) -> PromptWeights:
    """A prompt's words; for one that is surely mistyped, the word that was meant."""
    weights: dict[str, float] = {}
    for term in set(terms_of(text)) - compounds_of(text):
        is_mistyped = term in stand_ins and background.weight(term) >= _UNHEARD_OF
        meant, trust = stand_ins[term] if is_mistyped else (term, 1.0)
        weights[meant] = max(weights.get(meant, 0.0), trust * background.weight(meant))
    return PromptWeights(weights)


def neutral_weights(prompts: Iterable[str], background: Background) -> list[PromptWeights]:
    """The prompts about nothing; each is weighed as if it were not in the list."""
    return [
        PromptWeights(
            {
                term: background.weight(term, but_one_prompt=True)
                for term in set(terms_of(prompt)) - compounds_of(prompt)
            }
        )
        for prompt in prompts
    ]


def evidence_in(index: Index, prompt: PromptWeights) -> Scores:
    """The evidence for each slot of a directory."""
    worths = prompt.worths_in(index)
    earnings = index.documents.earnings(worths, index.documents.mean_length)
    return earnings.total / _scale(worths)


def evidence_for(prompt: PromptWeights, index: Index, slots: Sequence[int]) -> list[float]:
    """The evidence for each of some memories; 0 if it has only one common word of the prompt."""
    worths = prompt.worths_in(index)
    scale = _scale(worths)
    found = index.documents.earnings(worths, index.documents.mean_length).by_term(slots)
    return [0.0 if _is_one_common_word(own, worths) else sum(own.values()) / scale for own in found]


def _is_one_common_word(shares: Mapping[str, float], worths: Mapping[str, float]) -> bool:
    return len(shares) == 1 and worths[next(iter(shares))] < LEAST_SINGLE_WORD


def bar_of(neutral: Sequence[float], mean_terms: float) -> float:
    """The bar of a directory, from the best evidence that each prompt about nothing has there."""
    if not neutral:
        return LEAST_BAR
    lengths, shares = (SHORT_TERMS, LONG_TERMS), (NEUTRAL_SHARE, LONG_NEUTRAL_SHARE)
    share = float(np.interp(mean_terms, lengths, shares))
    return max(LEAST_BAR, quantile(neutral, share))


def quantile(values: Sequence[float], share: float) -> float:
    """What `np.quantile` gives, which loads all of `numpy.ma` for it."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = math.floor(at)
    first, second = ordered[low], ordered[min(low + 1, len(ordered) - 1)]
    part, step = at - low, second - first
    return first + step * part if part < 0.5 else second - step * (1 - part)


def bar_is_outdated(changes: int, memories: int) -> bool:
    return changes > _CHANGED_SHARE * memories


def worth_showing(evidence: Sequence[tuple[float, float]]) -> list[bool]:
    """For each memory's evidence and the bar of its directory, whether it is shown unasked."""
    best = max((own for own, bar in evidence if own >= bar), default=0.0)
    return [own >= max(bar, SHARE_OF_BEST * best) for own, bar in evidence]


def _scale(worths: Mapping[str, float]) -> float:
    return float((sum(worths.values()) + _ASSUMED_WEIGHT) ** _LENGTH_POWER)
