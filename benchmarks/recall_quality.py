"""Recall quality of the ranking core, offline, over a folder of judged queries.

usage: recall_quality.py FOLDER [--model-dir FOLDER] [--half 0|1] [--typos SHARE] [--bar SHIFT]

FOLDER holds corpus.jsonl {"id", "text", "meta": {"group", "name", "description", "body"}} and
queries.jsonl {"id", "text", "group", "relevant": [ids]}. Each group is a memory of its own. Shown
for words alone, with word vectors, and with a sentence encoder where one is given: recall@5, MRR@5,
the time of a query, how many own queries go unanswered, and how many queries of another group
get an answer that they should not. `--half` takes every second group, for tuning on one half and
judging on the other; `--bar` raises or lowers the bar of relevance (-100: show anything).
"""

import argparse
import random
import re
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from string import ascii_lowercase
from typing import TypeVar

import msgspec

from memoryd.recall.embeddings import Embeddings
from memoryd.recall.rules import relevance
from memoryd.recall.rules import search as ranking
from memoryd.recall.rules.index import Document, Index, sentence_passages
from memoryd.recall.rules.relevance import surplus
from memoryd.recall.rules.search import Question
from memoryd.recall.sentence_encoder import SentenceEncoder
from memoryd.recall.static_vectors import StaticVectors

NOW = 1_800_000_000.0
TYPES = ("user", "feedback", "project", "reference")


class Meta(msgspec.Struct):
    group: str = "all"
    name: str = ""
    description: str = ""
    body: str = ""


class Item(msgspec.Struct):
    id: str
    text: str
    meta: Meta = msgspec.field(default_factory=Meta)


class Judged(msgspec.Struct):
    id: str
    text: str
    relevant: list[str]
    group: str = "all"


class Kept:
    """The encoder's cache for one run."""

    def __init__(self) -> None:
        self._values: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        return self._values.get(key)

    def put(self, key: bytes, value: bytes) -> None:
        self._values[key] = value


Kind = TypeVar("Kind", Item, Judged)
Ask = Callable[[str], Question]


def document_of(item: Item, number: int) -> Document:
    meta = item.meta
    name = meta.name or " ".join(item.text.split()[:6])
    description = (meta.description or item.text[:300]).replace("\n", " ")
    kind = TYPES[number % len(TYPES)]
    return Document(item.id, name[:80], description, meta.body or item.text, kind, NOW)


def lines_of(path: Path, kind: type[Kind]) -> Iterator[Kind]:
    with path.open("rb") as file:
        yield from (msgspec.json.decode(line, type=kind) for line in file)


def scored(found: Sequence[str], relevant: Sequence[str]) -> tuple[float, float]:
    ranks = [rank for rank, key in enumerate(found) if key in relevant]
    return len(ranks) / min(len(set(relevant)), 5), 1 / (ranks[0] + 1) if ranks else 0.0


def mistyped(text: str, share: float, dice: random.Random) -> str:
    """A text in which a share of the longer words has one wrong letter."""

    def slip(match: re.Match[str]) -> str:
        word, at = match[0], dice.randrange(1, len(match[0]))
        letter = dice.choice(ascii_lowercase)
        ways = (word[:at] + word[at + 1 :], word[:at] + letter + word[at:])
        return dice.choice(ways) if dice.random() < share else word

    return re.sub(r"[A-Za-z]{5,}", slip, text)


def report(label: str, indexes: Mapping[str, Index], queries: Sequence[Judged], ask: Ask) -> None:
    dice, groups = random.Random(7), list(indexes)
    recalls, ranks, times, empty, strangers = [], [], [], 0, 0
    for query in queries:
        question = ask(query.text)
        start = time.perf_counter()
        hits = ranking.search([indexes[query.group]], question, limit=5, now=NOW)
        times.append((time.perf_counter() - start) * 1e3)
        recall, rank = scored([hit.key for hit in hits], query.relevant)
        recalls.append(recall)
        ranks.append(rank)
        empty += not hits
        if len(groups) > 1:
            other = dice.choice([group for group in groups if group != query.group])
            strangers += bool(ranking.search([indexes[other]], question, limit=5, now=NOW))
    times.sort()
    print(
        f"{label:24} recall@5 {statistics.mean(recalls):.4f}  mrr@5 {statistics.mean(ranks):.4f}"
        f"  empty {empty / len(queries):.3f}  other group answered {strangers / len(queries):.3f}"
        f"  p50 {statistics.median(times):.3f} ms  p99 {times[int(len(times) * 0.99)]:.3f} ms"
    )


def built(
    corpus: Mapping[str, Sequence[Item]],
    vectors: StaticVectors | None = None,
    encoder: SentenceEncoder | None = None,
) -> dict[str, Index]:
    indexes = {group: Index() for group in corpus}
    cache = Kept()
    for group, items in corpus.items():
        for number, item in enumerate(items):
            document = document_of(item, number)
            ticket = indexes[group].put(document)
            text = f"{document.name}\n{document.description}\n{document.body}"
            if vectors is not None and (vector := vectors.vector_of(text)) is not None:
                indexes[group].give_word_vector(document.key, ticket, vector)
            if encoder is not None:
                rows = encoder.encode(sentence_passages(document), cache)
                indexes[group].give_sentence_vectors(document.key, ticket, rows)
    return indexes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model-dir", type=Path)
    parser.add_argument("--half", type=int, choices=(0, 1))
    parser.add_argument("--typos", type=float, default=0.0)
    parser.add_argument("--bar", type=float, default=0.0)
    options = parser.parse_args()
    corpus: defaultdict[str, list[Item]] = defaultdict(list)
    for item in lines_of(options.folder / "corpus.jsonl", Item):
        corpus[item.meta.group].append(item)
    if options.half is not None:
        corpus = defaultdict(list, dict(list(corpus.items())[options.half :: 2]))
    dice = random.Random(5)
    queries = [
        msgspec.structs.replace(query, text=mistyped(query.text, options.typos, dice))
        for query in lines_of(options.folder / "queries.jsonl", Judged)
        if query.group in corpus
    ]
    vars(relevance)["surplus"] = lambda evidence: surplus(evidence) - options.bar
    report("words", built(corpus), queries, Question)
    embeddings = Embeddings(None, "")
    embeddings.load()
    vectors = embeddings.static
    report("words, word vectors", built(corpus, vectors), queries, vectors.question)
    if options.model_dir is not None:
        encoder = SentenceEncoder.open(options.model_dir)
        report(
            "and a sentence encoder",
            built(corpus, vectors, encoder),
            queries,
            lambda text: msgspec.structs.replace(
                vectors.question(text),
                sentence_vector=encoder.encode_query(text),
                unrelated_cosine=encoder.unrelated_cosine,
            ),
        )


if __name__ == "__main__":
    main()
