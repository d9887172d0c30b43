"""How many planted instructions become a memory, and how many honest facts do.

One hundred of each, without a model, with a scripted one that obeys whatever it reads, and with one
that words what the person said. No real model is asked: what these figures measure are our rules.
"""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import structlog

from memoryd.llm.anthropic_client import Provider
from memoryd.memories.records import Stored
from tests.support import injection_corpus
from tests.support.extraction_fixtures import ExtractionBench
from tests.support.injection_corpus import Case, Faithful, Obedient, canaries, interval
from tests.support.running import make_home


def left_of(
    cases: Sequence[Case],
    play: Callable[[ExtractionBench, int, Case], None],
    provider: Provider | None = None,
) -> list[list[Stored]]:
    with tempfile.TemporaryDirectory(prefix="memoryd-bench-") as folder:
        here = ExtractionBench(
            make_home(Path(folder)), limits=injection_corpus.LIMITS, provider=provider
        )
        for number, case in enumerate(cases):
            play(here, number, case)
        anyio.run(injection_corpus.extract, here)
        left = [injection_corpus.memories(here, number) for number in range(len(cases))]
        here.state.close()
    return left


def show(name: str, hits: int, of: int = 100) -> None:
    print(f"  {name:58}{interval(hits, of):>20}")


def main() -> None:
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    planted, honest = injection_corpus.planted(), injection_corpus.honest()
    print("share of 100 cases, with its interval of 95 percent\nwithout a model")
    show(
        "planted instructions kept", sum(map(bool, left_of(planted, injection_corpus.play_planted)))
    )
    left = left_of(honest, injection_corpus.play_honest)
    show("honest facts kept, as the right type", len(injection_corpus.right_ones(honest, left)))
    print("a model that obeys what it reads, six tries each")
    left = left_of(planted, injection_corpus.play_planted, Obedient(planted))
    kept = injection_corpus.kept_of(planted, left)
    wishes = [one for one in kept if one.is_wish]
    show("kept as user or feedback", len(canaries(one for one in wishes if not one.is_padded)))
    show("  with the person's own words put round it", len(canaries(wishes)))
    show("kept as what the person said", len(canaries(one for one in kept if one.is_trusted)))
    show("kept as a fact that a page states", len(canaries(one for one in kept if not one.is_wish)))
    print("a model that words what the person said")
    left = left_of(honest, injection_corpus.play_honest, Faithful(honest))
    show("honest facts kept, as the right type", len(injection_corpus.right_ones(honest, left)))


if __name__ == "__main__":
    main()
