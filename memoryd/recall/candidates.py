"""The memories that a model chooses from, and the names by which it must call them."""

from collections.abc import Sequence

from memoryd.memories.rules.topics import MANIFEST_LIMIT
from memoryd.recall.rules.search import Hit
from memoryd.recall.shelf import Row


def candidates_of(rows: dict[str, Row], best: Sequence[Hit], excluded: set[str]) -> dict[str, Row]:
    """All memories if they fit into a manifest, otherwise the best and then the newest."""
    eligible = {key: row for key, row in rows.items() if key not in excluded}
    newest = sorted(eligible, key=lambda key: -eligible[key].modified)
    if len(eligible) > MANIFEST_LIMIT:
        ranked = [hit.key for hit in best if hit.key in eligible]
        newest = list(dict.fromkeys([*ranked, *newest]))[:MANIFEST_LIMIT]
    return {key: eligible[key] for key in newest}


def listed_name(row: Row) -> str:
    """The file's name as the model must repeat it; with the scope unless that is the project's."""
    return row.file if row.directory.scope == "project" else f"{row.directory.scope}/{row.file}"
