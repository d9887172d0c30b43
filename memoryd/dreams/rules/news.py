"""What a model dream reads, and what that will cost: the news and what is near it, not the store.

Rules
- News is what changed since the last dream; before the first one, everything.
- Each memory of the news brings its nearest neighbours: those that share the rarest words with it.
- A model is told which pairs are near each other, and judges each: the same, contradicted, or two.
- The estimate is made from sizes alone, before anything is read: what is sent at first, again at
  each turn (mostly from the cache), and what is written.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import msgspec

from memoryd.base.config import Price
from memoryd.dreams.rules.plan import BelievedMemory
from memoryd.text.terms import terms_of

NEIGHBOURS: Final = 2
MOST_PAIRS: Final = 60
MOST_WITH_A_TERM: Final = 50

BYTES_PER_TOKEN: Final = 4
SYSTEM_TOKENS: Final = 4000
TOKENS_PER_LINE: Final = 50
TURNS: Final = 6
CACHED_SHARE: Final = 0.15
WRITTEN_SHARE: Final = 0.3
CLOSING_TOKENS: Final = 600


class Reading(msgspec.Struct, frozen=True):
    """The files that a dream looks at, and the pairs of them that are near each other."""

    files: frozenset[str]
    pairs: tuple[tuple[str, str], ...] = ()


class Estimate(msgspec.Struct, frozen=True):
    """What a dream would read and cost; without a model it costs nothing."""

    how: str
    memories: int
    """How many there are."""
    read: int
    """How many of them a model would read."""
    tokens: int = 0
    usd: float = 0.0
    most_usd: float = 0.0
    """Where its run ends, whatever it does."""


def reading(memories: Sequence[BelievedMemory], since: float) -> Reading:
    """What is new, and what is near that."""
    news = [one for one in memories if one.modified > since]
    terms = {one.file: frozenset(terms_of(_words(one))) for one in memories}
    by_term: dict[str, list[str]] = defaultdict(list)
    for file, found in terms.items():
        for term in found:
            by_term[term].append(file)
    pairs: dict[tuple[str, str], float] = {}
    for one in news:
        for near, score in _nearest(one.file, terms[one.file], by_term, len(memories)):
            first, second = sorted((one.file, near))
            pairs[first, second] = score
    nearest = sorted(pairs, key=lambda pair: (-pairs[pair], pair))
    files = {one.file for one in news} | {file for pair in pairs for file in pair}
    return Reading(frozenset(files), tuple(nearest[:MOST_PAIRS]))


def _nearest(
    file: str, terms: frozenset[str], by_term: dict[str, list[str]], count: int
) -> list[tuple[str, float]]:
    scores: dict[str, float] = defaultdict(float)
    for term in terms:
        holders = by_term[term]
        if 1 < len(holders) <= MOST_WITH_A_TERM:
            weight = math.log(1 + count / len(holders))
            for other in holders:
                scores[other] += weight
    scores.pop(file, None)
    best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    return best[:NEIGHBOURS]


def _words(one: BelievedMemory) -> str:
    topic = one.topic
    return f"{topic.name} {topic.description} {topic.body}"


def estimate(
    sizes: Sequence[tuple[float, int]], since: float, price: Price, most_usd: float
) -> Estimate:
    """From the time and bytes of each memory; neighbours are taken to be as long as the others."""
    news = [size for modified, size in sizes if modified > since]
    total = len(sizes)
    read = min(total, len(news) * (1 + NEIGHBOURS))
    mean_bytes = sum(size for _, size in sizes) / total if total else 0.0
    read_bytes = sum(news) + (read - len(news)) * mean_bytes
    text_tokens = read_bytes / BYTES_PER_TOKEN
    first = SYSTEM_TOKENS + read * TOKENS_PER_LINE
    sent = first + text_tokens + CACHED_SHARE * (TURNS - 1) * (first + text_tokens)
    written = CLOSING_TOKENS + WRITTEN_SHARE * sum(news) / BYTES_PER_TOKEN
    usd = (sent * price.input_usd + written * price.output_usd) / 1_000_000
    bounded = min(usd, most_usd) if most_usd else usd
    return Estimate("model", total, read, round(sent + written), round(bounded, 4), most_usd)
