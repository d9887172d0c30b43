"""Reads the daemon's answers, whatever its version.

A field that is missing or of an unexpected type reads as empty, and unknown fields are ignored: a
client and a daemon of different versions still understand each other. The MCP server reads its
first message with this, so nothing is imported that takes a while.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Json = Mapping[str, object]
else:
    Json = dict


def text_at(answer: Json, key: str) -> str:
    value = answer.get(key)
    return value if isinstance(value, str) else ""


def number_at(answer: Json, key: str) -> float:
    value = answer.get(key)
    return value if isinstance(value, int | float) else 0


def is_true_at(answer: Json, key: str) -> bool:
    return answer.get(key) is True


def object_at(answer: Json, key: str) -> Json:
    return as_object(answer.get(key))


def as_object(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def items_at(answer: Json, key: str) -> list[object]:
    value = answer.get(key)
    return value if isinstance(value, list) else []


def objects_at(answer: Json, key: str) -> Iterator[Json]:
    return (item for item in items_at(answer, key) if isinstance(item, dict))


def texts_at(answer: Json, key: str) -> list[str]:
    return [item for item in items_at(answer, key) if isinstance(item, str)]


def sentence_of(value: object) -> str:
    """The text of an entry that is either a sentence or an object that holds one."""
    entry = as_object(value)
    return text_at(entry, "message") or text_at(entry, "name") or str(value)
