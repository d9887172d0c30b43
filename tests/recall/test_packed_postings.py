"""Texts in a few arrays: numbers are held in as few bytes as they need."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.recall.rules.packed_postings import PackedPostings, TextArrays

pytestmark = pytest.mark.rules

counts = st.one_of(st.integers(1, 9), st.integers(250, 300), st.integers(65_000, 70_000))


@given(st.lists(counts.map(float) | st.sampled_from((0.5, 2.5)), min_size=1, max_size=6))
def test_counts_of_any_size_are_given_back(given_counts: list[float]) -> None:
    packed = packed_of(given_counts)
    held = packed.held("a")
    assert held is not None
    assert held[1].tolist() == given_counts
    assert packed.texts().counts.tolist() == given_counts


@pytest.mark.parametrize("size", [1, 65_535, 65_536, 65_537, 70_000])
def test_the_last_of_many_texts_is_found(size: int) -> None:
    packed = packed_of([1.0] * size)
    held = packed.held("a")
    assert held is not None
    assert held[0].tolist() == list(range(size))
    packed.drop(size - 1)
    assert packed.holders_of("a") == size - 1


def packed_of(counts_of_a: list[float]) -> PackedPostings:
    """Each text holds one term."""
    size = len(counts_of_a)
    ones, zeros = np.ones(size, np.int32), np.zeros(size, np.int32)
    return PackedPostings(TextArrays("a", ones, zeros, np.array(counts_of_a, np.float32)))
