"""Work that waits for one place is done together."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from memoryd.system.batches import Batches

WAIT_SECONDS = 30


class Place:
    """Counts its batches, and holds the first one until the others wait."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.batches: list[list[int]] = []
        self.is_begun = threading.Event()
        self.may_end = threading.Event()
        self.all = Batches[int]()

    @contextmanager
    def batch(self) -> Iterator[None]:
        self.batches.append([])
        yield

    def work(self, number: int) -> int:
        self.batches[-1].append(number)
        if number == 0:
            self.is_begun.set()
            assert self.may_end.wait(WAIT_SECONDS)
        if number == 3:
            raise ValueError("the third one fails")
        return number * 10

    def run(self, number: int) -> int:
        return self.all.run("here", lambda: self.work(number), lock=self.lock, batch=self.batch())


def test_what_waits_is_done_in_one_batch_and_an_error_is_its_own() -> None:
    place = Place()
    found: dict[int, int | str] = {}

    def one(number: int) -> None:
        try:
            found[number] = place.run(number)
        except ValueError as error:
            found[number] = str(error)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(6)]
    threads[0].start()
    assert place.is_begun.wait(WAIT_SECONDS)
    for thread in threads[1:]:
        thread.start()
    deadline = time.monotonic() + WAIT_SECONDS
    while place.all.waiting("here") < 5 and time.monotonic() < deadline:
        time.sleep(0.001)
    place.may_end.set()
    for thread in threads:
        thread.join(WAIT_SECONDS)
    assert found == {0: 0, 1: 10, 2: 20, 3: "the third one fails", 4: 40, 5: 50}
    assert [sorted(batch) for batch in place.batches] == [[0], [1, 2, 3, 4, 5]]


def test_a_batch_that_cannot_end_fails_all_of_its_work() -> None:
    place = Place()

    @contextmanager
    def full_disk() -> Iterator[None]:
        yield
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        place.all.run("here", lambda: 1, lock=place.lock, batch=full_disk())
    assert place.all.run("here", lambda: 1, lock=place.lock, batch=place.batch()) == 1


def test_who_holds_the_lock_already_is_not_stuck() -> None:
    place = Place()
    place.batches.append([])
    with place.lock:
        assert place.run(4) == 40
