"""The daemon dies between any two steps of an extraction: no memory is lost, none comes twice."""

import os
import signal
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

import anyio
import pytest

import memoryd.statements  # noqa: F401 - once here, and not in every child
from memoryd.config import ProjectMode
from memoryd.state import Cell, State
from tests.faults import before_each_call
from tests.workshop import Workshop


class DeadlyState(State):
    """Says when a statement is about to be run."""

    before: Callable[[], None] = staticmethod(lambda: None)

    def run(self, sql: str, *values: Cell) -> list[tuple[Cell, ...]]:
        self.before()
        return super().run(sql, *values)

    def run_many(self, sql: str, rows: Sequence[Sequence[Cell]]) -> None:
        self.before()
        super().run_many(sql, rows)
        self.before()


class Fuse:
    """Kills the process at its n-th burning."""

    def __init__(self, length: int) -> None:
        self._left = length

    def burn(self) -> int:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0


async def extract_all(here: Workshop) -> None:
    async with here.working():
        await here.idle()


def dies(home: Path, fuse: Fuse, *, in_files: bool, mode: ProjectMode = "topics") -> bool:
    """Whether a child that extracts everything was killed on the way."""
    child = os.fork()
    if child == 0:
        try:
            here = Workshop(home, state_type=DeadlyState, mode=mode)
            if in_files:
                with before_each_call(pytest.MonkeyPatch(), fuse.burn):
                    anyio.run(extract_all, here)
            else:
                here.state.before = lambda: fuse.burn() and None  # type: ignore[attr-defined]  # a DeadlyState
                anyio.run(extract_all, here)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("in_files", [True, False])
def test_a_death_between_any_two_steps_loses_and_doubles_nothing(
    home: Path, in_files: bool
) -> None:
    for step in count(1):
        here = Workshop(home)
        said = f"From now on always lint module {step}, because CI is slow."
        (turn,) = here.say(said, session=f"s{step}", project=f"p{step}")
        here.state.close()
        has_died = dies(home, Fuse(step), in_files=in_files)
        assert not dies(home, Fuse(-1), in_files=in_files)
        here = Workshop(home)
        (text,) = here.files(f"p{step}").values()
        assert here.queue.states([turn]) == {turn: "done"}
        assert text.count(f"lint module {step}") == 3  # its name, its description and its body
        here.state.close()
        if not has_died:
            break
    assert step > 20


@pytest.mark.parametrize("in_files", [True, False])
def test_in_log_mode_a_death_between_any_two_steps_loses_and_doubles_nothing(
    home: Path, in_files: bool
) -> None:
    for step in count(1):
        here = Workshop(home)
        said = f"From now on always lint module {step}, because CI is slow."
        (turn,) = here.say(said, session=f"s{step}", project=f"p{step}")
        here.state.close()
        has_died = dies(home, Fuse(step), in_files=in_files, mode="log")
        assert not dies(home, Fuse(-1), in_files=in_files, mode="log")
        here = Workshop(home)
        memory = Path(here.project(f"p{step}").memory.path)
        left = [path for path in memory.rglob("*") if path.is_file() and path.suffix == ".md"]
        (text,) = (path.read_text() for path in left)
        assert here.queue.states([turn]) == {turn: "done"}
        assert text.count(f"lint module {step}") == 1
        here.state.close()
        if not has_died:
            break
    assert step > 10
