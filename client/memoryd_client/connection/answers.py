"""Reads the daemon's answers, of whatever version: what is missing or of a strange kind is empty.

A field that this client does not know is ignored, and one that the daemon does not send reads as
empty, so that a client and a daemon of different ages can still talk.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

Json = Mapping[str, object]


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


def sentence_of(value: object) -> str:
    """An entry of a list that is for people, whether it is a sentence or an object with one."""
    entry = as_object(value)
    return text_at(entry, "message") or text_at(entry, "name") or str(value)


class Memory(NamedTuple):
    """The header of one memory."""

    path: str
    name: str
    description: str
    type: str
    scope: str
    age: str
    stale: bool
    retired: bool

    @classmethod
    def read(cls, answer: Json) -> "Memory":
        return cls(
            path=text_at(answer, "path"),
            name=text_at(answer, "name"),
            description=text_at(answer, "description"),
            type=text_at(answer, "type"),
            scope=text_at(answer, "scope"),
            age=text_at(answer, "age"),
            stale=is_true_at(answer, "stale"),
            retired=is_true_at(answer, "retired"),
        )
