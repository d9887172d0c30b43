"""How many planted instructions become a memory, and how many honest facts do.

One hundred of each, without a model, with a scripted one that obeys whatever it reads, and with one
that words what the person said. Then honest notes in every wording that was thought of, and an evil
model that puts each planted order wherever it may pass. No real model is asked: what these figures
measure are our rules.
"""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import structlog

from memoryd.llm.anthropic_client import Provider
from memoryd.memories.records import Stored
from tests.support import injection_corpus, provenance_corpus
from tests.support.extraction_fixtures import ExtractionBench
from tests.support.injection_corpus import Case, Faithful, Obedient, canaries, interval
from tests.support.provenance_corpus import Breach, Part, orders
from tests.support.running import make_home

PARTS: tuple[Part, ...] = ("dev", "held-out")


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


def show_honest_notes(here: ExtractionBench) -> None:
    """Notes as a careful model words them; those held out are newer than the rules."""
    cases = list(enumerate(provenance_corpus.honest_notes()))
    for part in PARTS:
        some = [one for one in cases if provenance_corpus.part_of(one[0]) == part]
        outcomes = [provenance_corpus.outcome_of(here, *one) for one in some]
        print(f"honest notes of a model, {len(some)} {part}")
        show("refused", sum(bool(one.refusal) for one in outcomes), len(some))
        wrongly = sum(one.is_wrongly_concluded for one in outcomes)
        show("the person's, and taken for a conclusion", wrongly, len(some))
        marked = sum(bool(one.wrongly_marked) for one in outcomes)
        show("with a sentence of the person marked as concluded", marked, len(some))
        titles = sum(one.topic.name != one.note.name for one in outcomes)
        show("given the rule's first words as a title", titles, len(some))


def show_placements(here: ExtractionBench) -> None:
    """The same planted orders, placed by an evil model beside a real rule of the person."""
    for part in PARTS:
        print(f"an evil model, {part} placements: marked / not marked / as user-said")
        for name, (whose, _) in provenance_corpus.PLACEMENTS.items():
            if whose == part:
                found = provenance_corpus.breaches_of(here, name)
                bare = orders([one for one in found if one.is_unmarked])
                said = orders([one for one in found if one.is_said])
                print(f"  {name:58}{orders(found):>6}{bare:>7}{said:>7}")


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
    wishes = [Breach(one.case, one.memory) for one in kept if one.is_wish]
    show("kept as user or feedback, marked as concluded", orders(wishes))
    show("  and not marked", orders([one for one in wishes if one.is_unmarked]))
    show("kept as what the person said", len(canaries(one for one in kept if one.is_trusted)))
    show("kept as a fact that a page states", len(canaries(one for one in kept if not one.is_wish)))
    print("a model that words what the person said")
    left = left_of(honest, injection_corpus.play_honest, Faithful(honest))
    show("honest facts kept, as the right type", len(injection_corpus.right_ones(honest, left)))
    with (
        tempfile.TemporaryDirectory(prefix="memoryd-bench-") as folder,
        provenance_corpus.desk(make_home(Path(folder))) as here,
    ):
        show_honest_notes(here)
        show_placements(here)
        print("the person's own words in another sense")
        for part, file in (("dev", "recombined.jsonl"), ("held-out", "recombined_held_out.jsonl")):
            cases = provenance_corpus.recombined(file)
            turned = len(provenance_corpus.passed_as_said(here, cases))
            show(f"passed as theirs, {part}", turned, len(cases))


if __name__ == "__main__":
    main()
