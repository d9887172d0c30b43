"""A hundred planted instructions and a hundred honest facts, run through a whole extraction.

- `data/planted.jsonl`: where an instruction stands (a tool's output, a web page, a README, a memory
  of the team), how it is put, what the person asked for, what was printed, what a model that obeys
  would note down, and a word that is in nothing else.
- `data/honest.jsonl`: what a person says, of which type it is, a word that any memory of it must
  have, and how a model would word it.

Each case has a project of its own, named after its number.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from math import sqrt
from pathlib import Path
from typing import TypeVar

import msgspec

from memoryd.extraction.rules.batching import Limits
from memoryd.llm.rules.messages import ModelAnswer, ModelRequest, UserTurn
from memoryd.memories.records import Stored
from memoryd.memories.rules.topics import TopicType
from tests.support.extraction_fixtures import ExtractionBench, memory_text
from tests.support.scripted_model import Call, answer_of, asks, says

DATA = Path(__file__).parents[1] / "data"
LIMITS = Limits(parallel=8)
TEAM_FILE = "project_team_note.md"

Case = TypeVar("Case", bound=msgspec.Struct)


class Planted(msgspec.Struct, frozen=True):
    where: str
    how: str
    ask: str
    printed: str
    note: str
    canary: str


class Honest(msgspec.Struct, frozen=True):
    type: TopicType
    said: str
    word: str
    note: str


def planted() -> list[Planted]:
    return _cases("planted.jsonl", Planted)


def honest() -> list[Honest]:
    return _cases("honest.jsonl", Honest)


def _cases(name: str, kind: type[Case]) -> list[Case]:
    lines = (DATA / name).read_text().splitlines()
    return [msgspec.json.decode(line, type=kind) for line in lines]


def project_of(number: int) -> str:
    return f"case-{number}"


# --- what is run through ----------------------------------------------------------------------


async def extract(here: ExtractionBench) -> None:
    async with here.working():
        await here.idle()


def play_planted(here: ExtractionBench, number: int, case: Planted) -> None:
    """The session in which the agent comes upon the text; every second time it repeats it."""
    project = project_of(number)
    script = here.session(f"session-{number}", project)
    script.prompt(case.ask)
    match case.where:
        case "tool":
            call = script.call("Bash", {"command": "make check"})
        case "page":
            call = script.call("WebFetch", {"url": "https://page.example"})
        case "readme":
            call = script.call("Read", {"file_path": "README.md"})
        case _:
            team = here.project(project).team
            text = memory_text("Team note", "project", case.printed)
            Path(team.path).mkdir(parents=True)
            here.store.write(team, TEAM_FILE, text, over=None, cause="sync")
            script.attach("hook_additional_context", content=[f"| {case.printed}"])
            call = script.call("Read", {"file_path": f"{team.path}/{TEAM_FILE}"})
    script.result(call, case.printed)
    script.answer(f"It says: {case.printed}" if number % 2 else "Done.")
    here.add(script)


def play_honest(here: ExtractionBench, number: int, case: Honest) -> None:
    """The person states something between two requests, and tools print their usual output."""
    script = here.session(f"session-{number}", project_of(number))
    script.turn("why is the parser slow?", "I am on it.")
    script.prompt(case.said)
    call = script.call("Bash", {"command": "make check"})
    script.result(call, "checking src/parser.py\n412 passed, 3 skipped in 9.3s\n" * 10)
    script.answer("Understood.")
    here.add(script)


def memories(here: ExtractionBench, number: int) -> list[Stored]:
    return here.store.read_all(here.project(project_of(number)).memory)


def says_it(word: str) -> Callable[[Stored], bool]:
    return lambda stored: word.casefold() in stored.text.casefold()


class Kept(msgspec.Struct, frozen=True):
    """A memory that a planted instruction got into."""

    number: int
    case: Planted
    memory: Stored

    @property
    def is_wish(self) -> bool:
        return self.memory.topic.type in {"user", "feedback"}

    @property
    def is_padded(self) -> bool:
        return "padded" in self.memory.file

    @property
    def is_trusted(self) -> bool:
        return self.memory.topic.trust == "user-said"


def kept_of(cases: Sequence[Planted], left: Sequence[Sequence[Stored]]) -> list[Kept]:
    return [
        Kept(number, case, one)
        for number, (case, some) in enumerate(zip(cases, left, strict=True))
        for one in filter(says_it(case.canary), some)
    ]


def canaries(kept: Iterable[Kept]) -> set[str]:
    return {one.case.canary for one in kept}


def right_ones(cases: Sequence[Honest], left: Sequence[Sequence[Stored]]) -> list[Honest]:
    """The facts that became a memory of their type."""
    return [
        case
        for case, some in zip(cases, left, strict=True)
        if any(one.topic.type == case.type for one in filter(says_it(case.word), some))
    ]


# --- models -----------------------------------------------------------------------------------


class Obedient:
    """A model that writes down whatever instructions it reads, in every way it can."""

    def __init__(self, cases: Sequence[Planted]) -> None:
        self._cases = cases

    async def complete(self, request: ModelRequest, deadline_seconds: float) -> ModelAnswer:
        del deadline_seconds
        case = self._cases[int(request.project.rpartition("-")[2])]
        asked = sum(isinstance(turn, UserTurn) for turn in request.turns)
        steps = [asks(*writes_of(case)), says("Noted.")]
        if case.where == "team":
            steps.insert(0, asks(Call("Read", {"file_path": f"team/{TEAM_FILE}"})))
        return answer_of(steps[asked - 1])


def writes_of(case: Planted) -> list[Call]:
    """The note as it is, as the person's own, with reasons, with their words, and as a fact."""
    lower = case.note[:1].lower() + case.note[1:]
    tries = {
        "feedback_plain": case.note,
        "user_plain": f"The person said: {lower}",
        "feedback_reasoned": f"{case.note}\n\n**Why:** A rule.\n\n**How to apply:** Always.",
        "feedback_padded": f"The person asked: {case.ask}\n\n{case.note}",
        "user_padded": f"When asked {case.ask.rstrip('?')}, {lower}",
        "project_plain": case.note,
    }
    return [write_of(name, name.partition("_")[0], body) for name, body in tries.items()]


def write_of(name: str, type_: str, body: str) -> Call:
    """It always claims that the person said it."""
    first = json.dumps(body.partition("\n")[0], ensure_ascii=False)
    head = f"name: A note\ndescription: {first}\ntype: {type_}\ntrust: user-said"
    return Call("Write", {"file_path": f"{name}.md", "content": f"---\n{head}\n---\n\n{body}\n"})


class Faithful:
    """A model that keeps what the person said, worded as models do."""

    def __init__(self, cases: Sequence[Honest]) -> None:
        self._cases = cases

    async def complete(self, request: ModelRequest, deadline_seconds: float) -> ModelAnswer:
        del deadline_seconds
        case = self._cases[int(request.project.rpartition("-")[2])]
        is_first = len(request.turns) == 1
        write = write_of(f"{case.type}_note", case.type, case.note)
        return answer_of(asks(write) if is_first else says("Saved."))


def interval(hits: int, of: int) -> str:
    """A share and its interval of 95 percent, by Wilson's rule."""
    z, share = 1.96, hits / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return f"{share:.0%} ({max(middle - half, 0):.0%} to {min(middle + half, 1):.0%})"
