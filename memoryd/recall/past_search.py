"""Recall over the memories as they were at an earlier moment, ranked by words alone."""

from collections.abc import Sequence

from memoryd.memories.records import MemoryDirectory
from memoryd.memories.store import Store
from memoryd.recall.rules import search as ranking
from memoryd.recall.rules.index import Index
from memoryd.recall.rules.search import Hit
from memoryd.recall.shelf import Row, document_of, row_of, shown_topic


def search_as_of(
    store: Store, directories: Sequence[MemoryDirectory], query: str, at: float, limit: int
) -> list[tuple[Hit, Row]]:
    """The best memories of that moment; blocking."""
    index = Index()
    rows: dict[str, Row] = {}
    for directory in directories:
        retired = {one.file for one in store.scan_at(directory, at) if one.retired}
        for one in store.read_all_at(directory, at):
            if one.file not in retired:
                topic = shown_topic(one)
                index.put(document_of(one, topic))
                rows[one.path] = row_of(one, topic)
    hits = ranking.search([index], ranking.Question(query), limit=limit, now=at)
    return [(hit, rows[hit.key]) for hit in hits]
