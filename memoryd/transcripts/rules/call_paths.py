"""The paths in a tool call."""

from collections.abc import Iterator, Mapping
from typing import Final

from memoryd.text.masking.mask import find_secrets
from memoryd.transcripts.rules.loose_values import name_of, text_of

COMMAND_CHARS_MAX: Final = 4096
_PATH_KEYS: Final = ("file_path", "notebook_path", "path")


def names_in(given: Mapping[str, object]) -> Iterator[str]:
    """The paths that a call names, and the words of a command, any of which may be one."""
    for key in _PATH_KEYS:
        if path := name_of(given.get(key)):
            yield path
    for word in text_of(given.get("command"))[:COMMAND_CHARS_MAX].split():
        yield word.strip("'\"<>();|&=")


def can_be_shown(path: str) -> bool:
    """A line end in a path would forge a line of its own wherever paths are listed."""
    return path.isprintable() and not find_secrets(path)
