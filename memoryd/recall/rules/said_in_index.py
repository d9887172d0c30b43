"""Which memories a line of MEMORY.md says whole.

The agent's client loads MEMORY.md at a session's start. A memory whose every telling word stands
in its line there adds nothing when it is injected.
"""

from collections.abc import Mapping

from memoryd.memories.rules import index
from memoryd.text.terms import terms_of


def files_said_whole(index_text: str, contents: Mapping[str, str]) -> set[str]:
    """The files that the loaded part of an index says whole; `contents` maps files to bodies."""
    lines = index.loaded(index_text).text.split("\n")
    return {
        file
        for number, file in index.whole_pointers(lines).items()
        if file in contents and _says_whole(lines[number], contents[file])
    }


def _says_whole(line: str, content: str) -> bool:
    wanted = set(terms_of(content))
    return bool(wanted) and wanted <= set(terms_of(line))
