"""Which memories match what was typed so far. Pure.

The daemon's recall finds whole words, their forms and what is meant, also inside the text. Half a
word, and a file's name, are looked for here: each word that was typed is somewhere in the line.
"""

from collections.abc import Sequence

from memoryd_client.cli.naming import title_of
from memoryd_client.cli.render import one_line
from memoryd_client.connection.memory_header import Memory


def matching(query: str, memories: Sequence[Memory], recalled: Sequence[str]) -> list[Memory]:
    """Those that recall gave, in its order, then those whose line has every word."""
    words = query.lower().split()
    if not words:
        return list(memories)
    by_path = {one.path: one for one in memories}
    first = [by_path[path] for path in recalled if path in by_path]
    chosen = {one.path for one in first}
    rest = [one for one in memories if one.path not in chosen and has_every(words, one)]
    return first + rest


def row_of(memory: Memory) -> str:
    """A memory in one line: what it is called and what it says."""
    title = title_of(memory.name, memory.description) or memory.file
    if not memory.description or title == memory.description:
        return one_line(title)
    return one_line(f"{title}: {memory.description}")


def has_every(words: Sequence[str], memory: Memory) -> bool:
    line = f"{memory.name} {memory.description} {memory.file} {memory.type} {memory.scope}".lower()
    return all(word in line for word in words)
