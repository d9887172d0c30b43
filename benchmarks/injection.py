"""What a hook shows unasked on a store of long memories, beside what `recall` answers.

usage: injection.py

The store is that of `long_store.py`. Unrelated are its everyday prompts and, for every memory, the
prompts about the others in a store that lacks their memories.
"""

import statistics
import time

import long_store

from memoryd.recall.calibration import Calibration
from memoryd.recall.embeddings import Embeddings
from memoryd.recall.rules.index import Document, Index
from memoryd.recall.rules.search import search, search_unasked

NOW = 1_800_000_000.0


def indexed(memories: long_store.Rows, embeddings: Embeddings) -> Index:
    index = Index()
    for row in memories:
        document = Document(
            row["file"], row["name"], row["description"], row["body"], row["type"], NOW
        )
        ticket = index.put(document)
        embeddings.word_vectors_of(document, ticket).give_to(index)
    return index


def main() -> None:
    embeddings, calibration = Embeddings(None, ""), Calibration()
    embeddings.load()
    memories, related, everyday = long_store.made()
    half = {row["file"] for row in memories[::2]}
    whole = indexed(memories, embeddings)
    lacking = indexed([row for row in memories if row["file"] in half], embeddings)
    began = time.perf_counter()
    calibration.set_bar(whole)
    measured = time.perf_counter() - began
    calibration.set_bar(lacking)

    def shown(index: Index, prompt: str) -> list[str]:
        question, background = embeddings.question(prompt), calibration.background
        hits = search_unasked([index], question, background, limit=5, now=NOW)
        return [hit.key for hit in hits]

    def asked(prompt: str) -> list[str]:
        return [hit.key for hit in search([whole], embeddings.question(prompt), limit=5, now=NOW)]

    def share(given: list[bool]) -> str:
        return f"{statistics.mean(given):.3f} of {len(given)}"

    others = [row["prompt"] for row in related if row["file"] not in half]
    print(f"bar {whole.bar:.3f}, measured in {measured * 1e3:.0f} ms on {len(whole)} memories")
    print(
        "everyday prompts given something  ",
        share([bool(shown(whole, r["prompt"])) for r in everyday]),
    )
    print(
        "prompts about what is not there   ", share([bool(shown(lacking, one)) for one in others])
    )
    print(
        "related prompts given theirs      ",
        share([r["file"] in shown(whole, r["prompt"]) for r in related]),
    )
    print(
        "the same, asked by recall         ",
        share([r["file"] in asked(r["prompt"]) for r in related]),
    )


if __name__ == "__main__":
    main()
