"""Values of an undocumented format as what they should be; empty if they are something else."""

from typing import Final

from memoryd.base.timestamps import seconds_of

NAME_CHARS_MAX: Final = 4 * 1024
TOKENS_MAX: Final = 1_000_000_000_000


def text_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def name_of(value: object) -> str:
    """An id, a path or a name; empty if it is too long to be one."""
    return value if isinstance(value, str) and len(value) <= NAME_CHARS_MAX else ""


def moment_of(value: object) -> str:
    """A time as text."""
    text = name_of(value)
    return text if seconds_of(text) is not None else ""


def count_of(value: object) -> int:
    return value if type(value) is int and 0 <= value <= TOKENS_MAX else 0
