"""How rules let their caller in between the steps of a long loop."""

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

Item = TypeVar("Item")


class Pace(Protocol):
    """Gives the items one by one; it may stop, or let others run first."""

    def __call__(self, items: Iterable[Item], /) -> Iterator[Item]: ...


def at_once(items: Iterable[Item], /) -> Iterator[Item]:
    return iter(items)
