"""The pairs that the index of terms finds are those that a look at every pair finds."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from memoryd.dreams.rules.near_memories import NearMemories, Pair
from memoryd.dreams.rules.similarity import ComparedMemory, flattened
from memoryd.memories.rules.topics import Topic
from tests.support.examples import examples

WORDS = ("cache", "queue", "parser", "lexer", "the", "!", "use", "Cache")
BODIES = st.lists(st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join), max_size=9)


def memories_saying(bodies: list[str], name: str = "m") -> list[ComparedMemory]:
    return [
        ComparedMemory(f"{name}{number}.md", Topic(body=body)) for number, body in enumerate(bodies)
    ]


def can_match(one: ComparedMemory, other: ComparedMemory) -> bool:
    is_within = one.term_set <= other.term_set and one.terms
    is_around = other.term_set <= one.term_set and other.terms
    return bool(one.bare == other.bare or is_within or is_around)


def files_of(pairs: list[Pair]) -> list[tuple[str, str]]:
    return [(one.file, other.file) for one, other in pairs]


@examples(300)
@given(BODIES)
def test_all_pairs_that_can_match_are_found(bodies: list[str]) -> None:
    every = sorted(memories_saying(bodies), key=lambda one: one.file)
    expected = [pair for pair in combinations(every, 2) if can_match(*pair)]
    assert files_of(NearMemories(every).pairs()) == files_of(expected)


@examples(300)
@given(BODIES, BODIES, st.sets(st.integers(0, 8)))
def test_with_news_those_with_one_of_them_are_found(
    bodies: list[str], new_bodies: list[str], gone: set[int]
) -> None:
    old = memories_saying(bodies)
    near = NearMemories(old)
    news = memories_saying(new_bodies)  # they take the place of old ones with their names
    kept = [one for number, one in enumerate(old) if number not in gone]
    current = {one.file: one for one in [*kept, *news]}
    expected = [
        pair
        for pair in combinations(sorted(current.values(), key=lambda one: one.file), 2)
        if can_match(*pair) and any(one in news for one in pair)
    ]
    found = near.pairs_with(news, current)
    assert files_of(found) == files_of(expected)
    assert all(current[one.file] is one for pair in found for one in pair)


@examples(300)
@given(st.text(st.characters(max_codepoint=127)))
def test_plain_text_is_flattened_as_any_other(text: str) -> None:
    assert f"{flattened(text)} é".strip() == flattened(f"{text} é")
