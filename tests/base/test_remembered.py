"""What was worked out is remembered until everything is forgotten."""

import gc
from weakref import ref

import pytest

from memoryd.base import remembered as module
from memoryd.base.remembered import Slot, forget, remembered

pytestmark = pytest.mark.rules


def test_a_result_is_worked_out_once_until_it_is_forgotten() -> None:
    asked: list[str] = []

    @remembered(10)
    def length_of(word: str) -> int:
        asked.append(word)
        return len(word)

    assert [length_of("one"), length_of("one"), length_of("three")] == [3, 3, 5]
    assert asked == ["one", "three"]
    assert forget()
    assert length_of("one") == 3
    assert asked == ["one", "three", "one"]


def test_no_more_than_so_many_are_remembered() -> None:
    same = remembered(2)(str.upper)
    for word in ("a", "b", "c"):
        same(word)
    assert same.cache_info().currsize == 2


def test_forgetting_says_whether_there_was_anything() -> None:
    forget()
    assert not forget()
    upper = remembered(2)(str.upper)
    upper("a")
    assert forget()
    assert not forget()


def test_what_nobody_uses_any_more_is_not_held() -> None:
    class Table:
        def __init__(self) -> None:
            self.row_of = remembered(8)(self._row_of)

        def _row_of(self, word: str) -> int:
            return len(word)

    table = Table()
    assert table.row_of("four") == 4
    gone, count = ref(table), len(module._all)
    del table
    gc.collect()
    assert gone() is None
    assert len(module._all) < count


def test_a_slot_is_emptied_like_the_rest() -> None:
    slot = Slot[str]()
    forget()
    assert not forget()
    slot.value = "long"
    assert forget()
    assert slot.value is None
