"""Work in a thread pauses while somebody waits for an answer, and still comes to its end."""

import threading
import time

from memoryd.system import giving_way as courtesy
from memoryd.system.cancellation import cancellable
from memoryd.system.giving_way import WORK_SECONDS, give_way, giving_way


class Waiting(threading.Event):
    """Somebody waits; how often work paused for them, and who is served then."""

    def __init__(self, served_after: int = 1_000_000) -> None:
        super().__init__()
        self.pauses = 0
        self._served_after = served_after

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout == courtesy.PAUSE_SECONDS
        self.pauses += 1
        if self.pauses == self._served_after:
            self.set()
        return self.is_set()


def work() -> None:
    """Longer than work may go on before it pauses."""
    until = time.monotonic() + WORK_SECONDS
    while time.monotonic() < until:
        pass


def test_work_pauses_while_somebody_waits_and_goes_on_in_between() -> None:
    waiting = Waiting()
    with giving_way(waiting):
        for _ in range(3):
            work()
            give_way()
            give_way()  # it has only just gone on
    assert waiting.pauses == 3


def test_work_does_not_pause_once_everybody_is_served() -> None:
    waiting = Waiting(served_after=2)
    with giving_way(waiting):
        for _ in range(5):
            work()
            give_way()
    assert waiting.pauses == 2


def test_a_loop_that_can_be_cancelled_gives_way() -> None:
    waiting = Waiting()
    with giving_way(waiting):
        for _ in cancellable(range(3)):
            work()
    assert waiting.pauses == 2


def test_work_inside_that_others_wait_for_does_not_pause() -> None:
    waiting = Waiting()
    with giving_way(waiting):
        work()
        with giving_way(None):
            give_way()
        assert waiting.pauses == 0
        give_way()
    assert waiting.pauses == 1


def test_work_of_which_nobody_said_so_does_not_pause() -> None:
    give_way()
    with giving_way(None):
        give_way()
