"""Results that are remembered while there is work, and forgotten when it is done.

A text that is read, compared or indexed asks for the same words again and again. So what was worked
out for a word or a sentence is kept, for as many as a large piece of work needs. After that hardly
any of it is asked for again: the daemon forgets all of it now and then, and its memory stays small.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakSet

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

Result = TypeVar("Result")

_all: WeakSet["_lru_cache_wrapper[Any]"] = WeakSet()
_slots: WeakSet["Slot[Any]"] = WeakSet()


class Slot(Generic[Result]):
    """Holds one result; None if there is none, or `forget` has emptied it."""

    def __init__(self) -> None:
        self.value: Result | None = None
        _slots.add(self)


def remembered(most: int) -> Callable[[Callable[..., Result]], "_lru_cache_wrapper[Result]"]:
    """As `lru_cache`; `forget` empties it."""

    def decorate(function: Callable[..., Result]) -> "_lru_cache_wrapper[Result]":
        made = lru_cache(most)(function)
        _all.add(made)
        return made

    return decorate


def forget() -> bool:
    """Forgets every result; says whether there was one."""
    was_any = False
    for one in list(_all):
        was_any = was_any or one.cache_info().currsize > 0
        one.cache_clear()
    for slot in list(_slots):
        was_any = was_any or slot.value is not None
        slot.value = None
    return was_any
