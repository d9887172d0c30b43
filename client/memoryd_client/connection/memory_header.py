"""The header of a memory, as the daemon lists it."""

from typing import NamedTuple

from memoryd_client.connection.answers import Json, is_true_at, text_at


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

    @property
    def file(self) -> str:
        return self.path.rpartition("/")[2]

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
