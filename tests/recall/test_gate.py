"""What is shown although nobody asked."""

import math
from collections.abc import Mapping

import pytest

from memoryd.recall.calibration import DATA, Calibration
from memoryd.recall.rules.background import SMALL_WORD_WEIGHT, Background, rates_in
from memoryd.recall.rules.gate import (
    LEAST_BAR,
    SHARE_OF_BEST,
    PromptWeights,
    bar_is_outdated,
    bar_of,
    evidence_for,
    evidence_in,
    prompt_weights,
    worth_showing,
)
from memoryd.recall.rules.index import Document, Index
from memoryd.recall.rules.search import Question, search, search_unasked
from memoryd.text.terms import terms_of
from tests.support.times import NOW

MEMORIES = {
    "kiln": ("Kiln firing", "The kiln ramps by 90 degrees per hour", "Glaze needs a slow cooling."),
    "push": ("No force push", "Never force push to main", "Commit, then push to a branch."),
    "ferry": ("Ferry times", "Ferries skip Torsholm in winter", "The harbour office decides."),
    "tests": ("Run all tests", "Run the tests before a commit", "Check that the build is green."),
    "labels": ("Label printer", "Labels print at 203 dpi", "Use three dots per barcode module."),
}


def _evidence(index: Index, key: str, prompt: PromptWeights) -> float:
    (found,) = evidence_for(prompt, index, index.slots_of([key]))
    return found


@pytest.fixture(scope="module")
def calibration() -> Calibration:
    return Calibration()


def store(calibration: Calibration, memories: Mapping[str, tuple[str, str, str]]) -> Index:
    index = Index()
    for key, (name, description, body) in memories.items():
        index.put(Document(key, name, description, body, "project", NOW))
    calibration.set_bar(index)
    return index


def shown(calibration: Calibration, index: Index, prompt: str) -> list[str]:
    hits = search_unasked([index], Question(prompt), calibration.background, limit=5, now=NOW)
    return [hit.key for hit in hits]


@pytest.mark.parametrize(
    ("prompt", "key"),
    [
        ("how fast may the kiln cool after a glaze firing", "kiln"),
        ("why does the ferry not stop at Torsholm", "ferry"),
        ("the barcode on the label cannot be scanned", "labels"),
        ("the barcoed on the label cannot be scanned", "labels"),
    ],
)
def test_a_prompt_about_a_memory_is_given_it(
    calibration: Calibration, prompt: str, key: str
) -> None:
    assert shown(calibration, store(calibration, MEMORIES), prompt) == [key]


@pytest.mark.parametrize(
    "prompt",
    [
        "commit it, then open a pull request please",
        "is the build done",
        "run it",
        "rename the module and run the formatter",
        "",
        "can you use three spaces here",
    ],
)
def test_everyday_talk_is_given_nothing_though_a_memory_has_its_words(
    calibration: Calibration, prompt: str
) -> None:
    assert shown(calibration, store(calibration, MEMORIES), prompt) == []


def test_whoever_asks_is_given_what_a_hook_keeps_back(calibration: Calibration) -> None:
    index = store(calibration, MEMORIES)
    asked = search([index], Question("may I force push"), limit=5, now=NOW)
    assert asked[0].key == "push"
    assert shown(calibration, index, "push it") == []


def test_before_its_bar_is_measured_a_store_shows_nothing(calibration: Calibration) -> None:
    index = Index()
    index.put(Document("kiln", "Kiln firing", "The kiln ramps slowly", "", "project", NOW))
    assert shown(calibration, index, "kiln firing ramps") == []
    calibration.set_bar(index)
    assert shown(calibration, index, "kiln firing ramps") == ["kiln"]


def test_a_store_full_of_everyday_words_has_a_higher_bar(calibration: Calibration) -> None:
    chatter = (DATA / "neutral_prompts.txt").read_text("utf-8").splitlines()
    everyday = {str(number): ("Talk", line, "") for number, line in enumerate(chatter)}
    rare = {key: MEMORIES[key] for key in ("kiln", "ferry", "labels")}
    assert store(calibration, everyday).bar > store(calibration, rare).bar == LEAST_BAR


def test_the_steps_to_a_bar_end_with_the_same_bar(calibration: Calibration) -> None:
    index = store(calibration, MEMORIES)
    whole, index.bar = index.bar, math.inf
    steps = sum(1 for _ in calibration.steps_to_bar(index))
    assert steps > 100
    assert index.bar == whole


def test_the_same_words_in_a_longer_memory_are_less_evidence(calibration: Calibration) -> None:
    long = " ".join(f"word{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(400))
    index = store(
        calibration,
        {"short": ("Kiln", "kiln glaze", "cooling"), "long": ("Kiln", "kiln glaze", long)},
    )
    prompt = prompt_weights("kiln glaze cooling", calibration.background, {})
    assert _evidence(index, "short", prompt) > _evidence(index, "long", prompt)


def test_the_evidence_of_one_memory_is_that_of_its_slot(calibration: Calibration) -> None:
    index = store(calibration, MEMORIES)
    prompt = prompt_weights("kiln glaze ferry harbour", calibration.background, {})
    for key in ("kiln", "ferry"):
        (slot,) = index.slots_of([key])
        assert _evidence(index, key, prompt) == pytest.approx(evidence_in(index, prompt)[slot])


def test_one_common_word_is_no_evidence(calibration: Calibration) -> None:
    index = store(calibration, MEMORIES)
    common = prompt_weights("what about tests", calibration.background, {})
    rare = prompt_weights("what about kilns", calibration.background, {})
    assert _evidence(index, "tests", common) == 0.0
    assert _evidence(index, "kiln", rare) > 0.0


def test_a_long_prompt_needs_more_than_a_short_one(calibration: Calibration) -> None:
    index = store(calibration, MEMORIES)
    short = prompt_weights("cooling the kiln", calibration.background, {})
    long = prompt_weights(
        "cooling the kiln, polishing glass, painting windows, tuning violins, feeding goats",
        calibration.background,
        {},
    )
    assert _evidence(index, "kiln", long) < _evidence(index, "kiln", short)


def test_what_is_far_behind_the_best_is_left_out() -> None:
    bar = 0.2
    assert worth_showing([(1.0, bar), (SHARE_OF_BEST, bar), (0.5, bar), (0.1, bar)]) == [
        True,
        True,
        False,
        False,
    ]
    assert worth_showing([(0.1, bar), (0.3, 0.25)]) == [False, True]
    assert worth_showing([(0.1, bar), (0.15, bar)]) == [False, False]
    assert worth_showing([]) == []


def test_a_bar_is_never_below_the_least_and_follows_the_neutral_prompts() -> None:
    assert bar_of([], 30) == bar_of([0.0] * 100, 30) == LEAST_BAR
    assert LEAST_BAR < bar_of([0.0] * 50 + [0.5] * 50, 30) < bar_of([0.0] * 50 + [0.9] * 50, 30)


def test_the_bar_is_higher_where_memories_are_long() -> None:
    neutral = [number / 100 for number in range(100)]
    assert bar_of(neutral, 30) < bar_of(neutral, 90) < bar_of(neutral, 150) == bar_of(neutral, 900)


def test_one_change_matters_in_a_small_store_and_not_in_a_large_one() -> None:
    assert bar_is_outdated(1, 10)
    assert not bar_is_outdated(0, 10)
    assert not bar_is_outdated(1, 1_000)
    assert bar_is_outdated(100, 1_000)


def test_rare_words_weigh_more_than_common_ones(calibration: Calibration) -> None:
    weight = calibration.background.weight
    assert 0 <= weight(*terms_of("use")) < weight(*terms_of("database")) < weight("zirconium") <= 1
    assert weight("qzxvwk") == 1.0
    assert weight("8473") == weight("zq") == SMALL_WORD_WEIGHT


def test_words_of_prompts_about_nothing_weigh_less_but_not_against_themselves() -> None:
    rates = {"glaze": 1e-5, "kiln": 1e-5}
    background = Background(rates, ["glaze it", "more glaze", "yes"])
    assert background.weight("glaze") < background.weight("kiln")
    assert background.weight("glaze", but_one_prompt=True) > background.weight("glaze")
    once = Background(rates, ["glaze it", "yes"])
    assert once.weight("glaze", but_one_prompt=True) == Background(rates).weight("glaze")


def test_without_a_table_all_words_weigh_alike() -> None:
    assert Background({}).weight("use") == Background({}).weight("kiln") == 1.0


def test_a_line_of_the_table_is_a_class_and_its_terms() -> None:
    rates = rates_in("0 use\n10 kiln glaze\n")
    assert rates["use"] == 1.0
    assert rates["kiln"] == rates["glaze"] == pytest.approx(1.25**-10)
