"""The daemon is killed between any two steps of an extraction: no memory is lost or doubled."""

import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import pytest

import memoryd.extraction.rules.statements  # noqa: F401 - once here, and not in every child
from memoryd.agent.rules.limits import RunLimits
from memoryd.base.config import DEFAULT_PRICES, Budget
from memoryd.extraction.task import Extractor
from memoryd.llm.anthropic_client import Provider
from memoryd.llm.guards import MeteredProvider
from memoryd.llm.rules.messages import ModelAnswer, ModelRequest, Text, UserTurn
from memoryd.system.database import Cell, Database
from tests.support.extraction_fixtures import ExtractionBench, memory_text
from tests.support.fault_injection import before_each_call
from tests.support.scripted_model import Call, answer_of, asks, says
from tests.support.thinning import strides


class DeadlyState(Database):
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


async def extract_all(here: ExtractionBench) -> None:
    async with here.working():
        await here.idle()


Maker = Callable[[Path], ExtractionBench]


def deadly(home: Path) -> ExtractionBench:
    return ExtractionBench(home, state_type=DeadlyState)


def deadly_log(home: Path) -> ExtractionBench:
    return ExtractionBench(home, state_type=DeadlyState, mode="log")


def dies(home: Path, fuse: Fuse, *, in_files: bool, make: Maker = deadly) -> bool:
    """Whether a child that extracts everything was killed on the way."""
    child = os.fork()
    if child == 0:
        try:
            here = make(home)
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
    for step in strides():
        here = ExtractionBench(home)
        said = f"From now on always lint module {step}, because CI is slow."
        (turn,) = here.say(said, session=f"s{step}", project=f"p{step}")
        here.state.close()
        has_died = dies(home, Fuse(step), in_files=in_files)
        assert not dies(home, Fuse(-1), in_files=in_files)
        here = ExtractionBench(home)
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
    for step in strides():
        here = ExtractionBench(home)
        said = f"From now on always lint module {step}, because CI is slow."
        (turn,) = here.say(said, session=f"s{step}", project=f"p{step}")
        here.state.close()
        has_died = dies(home, Fuse(step), in_files=in_files, make=deadly_log)
        assert not dies(home, Fuse(-1), in_files=in_files, make=deadly_log)
        here = ExtractionBench(home)
        memory = Path(here.project(f"p{step}").memory.path)
        left = [path for path in memory.rglob("*") if path.is_file() and path.suffix == ".md"]
        (text,) = (path.read_text() for path in left)
        assert here.queue.states([turn]) == {turn: "done"}
        assert text.count(f"lint module {step}") == 1
        here.state.close()
        if not has_died:
            break
    assert step > 10


# --- with a model -----------------------------------------------------------------------------

CALL_USD = (1000 * 0.10 + 100 * 0.50) / 1_000_000


class Counting:
    """A model that notes what it is asked in a file, so that no call of any life is forgotten."""

    def __init__(self, calls: Path) -> None:
        self._calls = calls

    async def complete(self, request: ModelRequest, deadline_seconds: float) -> ModelAnswer:
        del deadline_seconds
        with self._calls.open("a+") as file:
            file.write(f"{request.project}\n")
            file.seek(0)
            number = file.read().splitlines().count(request.project)
        opening = request.turns[0]
        assert isinstance(opening, UserTurn)
        told = " ".join(block.text for block in opening.blocks if isinstance(block, Text))
        if len(request.turns) > 1 or "broke off after it had saved" in told:
            return answer_of(says("Done.", input_tokens=1000, output_tokens=100))
        name = request.project.rpartition("/")[2]
        text = memory_text(f"Lint {name}", body=f"Always lint module {name}.")
        # It never thinks of the same name twice: only what it is told keeps it from doubling.
        write = Call("Write", {"file_path": f"feedback_lint_{number}.md", "content": text})
        return answer_of(asks(write, input_tokens=1000, output_tokens=100))


class MeteredBench(ExtractionBench):
    """Whose model is paid for by the ledger on disk."""

    def _extractor(self, base_url: str, provider: Provider | None) -> Extractor:
        counting = Counting(self.home / "calls")
        metered = MeteredProvider(counting, self.ledger, Budget(), DEFAULT_PRICES)
        return super()._extractor(base_url, provider or metered)


def deadly_model(home: Path) -> ExtractionBench:
    return MeteredBench(home, state_type=DeadlyState)


@pytest.mark.parametrize("in_files", [True, False])
def test_with_a_model_a_death_between_any_two_steps_loses_doubles_and_forgets_nothing(
    home: Path, in_files: bool
) -> None:
    calls = home / "calls"
    for step in strides():
        here = ExtractionBench(home)
        project = f"p{step}"
        (turn,) = here.say(f"always lint module {project}", session=project, project=project)
        here.state.close()
        has_died = dies(home, Fuse(step), in_files=in_files, make=deadly_model)
        assert not dies(home, Fuse(-1), in_files=in_files, make=deadly_model)
        here = ExtractionBench(home)
        (text,) = here.files(project).values()
        memory = here.project(project).memory
        assert here.queue.states([turn]) == {turn: "done"}
        assert text.count(f"Always lint module {project}.") == 1
        assert f"source: {project}\n" in text
        assert "trust: user-said\n" in text
        here.store.repair(memory)  # as the next look at the directory does
        assert here.store.read(memory, "MEMORY.md").text.count("(feedback_lint_") == 1
        made = calls.read_text().splitlines().count(str(home / project))
        check_bill(here, str(home / project), made)
        here.state.close()
        if not has_died:
            break
    assert step > 20


RULES = ("parser", "lexer", "linker")


class Limited:
    """A model that has three notes to write, in runs of two calls; it goes by what it is told."""

    def __init__(self, calls: Path) -> None:
        self._calls = calls

    async def complete(self, request: ModelRequest, deadline_seconds: float) -> ModelAnswer:
        del deadline_seconds
        with self._calls.open("a+") as file:
            file.write("call\n")
            number = file.tell()
        opening = request.turns[0]
        assert isinstance(opening, UserTurn)
        told = " ".join(block.text for block in opening.blocks if isinstance(block, Text))
        told = told.partition("broke off after it had saved")[2].partition("Do not")[0]
        left = [rule for rule in RULES if f"feedback_{rule}_" not in told]
        if not left:
            return answer_of(says("Nothing more."))
        return answer_of(asks(*(self._note(rule, number) for rule in left)))

    def _note(self, rule: str, number: int) -> Call:
        text = memory_text(f"Lint {rule}", body=f"Always lint the {rule}.")
        # It never thinks of the same name twice: only what it is told keeps it from doubling.
        file = {"file_path": f"feedback_{rule}_{number}.md", "content": text}
        return Call("Write", file)


def deadly_limited(home: Path) -> ExtractionBench:
    return ExtractionBench(
        home,
        state_type=DeadlyState,
        provider=Limited(home / "calls"),
        run_limits=RunLimits(tool_calls=2),
    )


@pytest.mark.parametrize("in_files", [True, False])
def test_a_death_in_runs_that_end_at_a_limit_loses_and_doubles_nothing(
    home: Path, in_files: bool
) -> None:
    said = "\n".join(f"always lint the {rule}" for rule in RULES)
    for step in strides():
        here = ExtractionBench(home)
        project = f"p{step}"
        (turn,) = here.say(said, session=project, project=project)
        here.state.close()
        has_died = dies(home, Fuse(step), in_files=in_files, make=deadly_limited)
        assert not dies(home, Fuse(-1), in_files=in_files, make=deadly_limited)
        here = ExtractionBench(home)
        assert here.queue.states([turn]) == {turn: "done"}
        texts = list(here.files(project).values())
        assert [sum(f"lint the {rule}.\n" in text for text in texts) for rule in RULES] == [1, 1, 1]
        assert here.state.run("select * from tries") == []
        here.state.close()
        if not has_died:
            break
    assert step > 20


def check_bill(here: ExtractionBench, project: str, made: int) -> None:
    """Every call that was made is debited, and at most one that was not."""
    rows = here.state.run("select usd, is_open from spending where project = ?", project)
    open_calls = sum(bool(is_open) for _, is_open in rows)
    assert made <= len(rows) <= made + 1
    assert open_calls <= 1
    assert sum(float(str(usd)) for usd, _ in rows) >= made * CALL_USD * 0.999
    assert here.backlog.waiting() == []
    assert here.state.run("select * from tries") == []
