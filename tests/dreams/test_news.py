"""What a model dream reads: the news and what is near it."""

import pytest

from memoryd.base.config import Price
from memoryd.dreams.rules.news import NEIGHBOURS, estimate, reading
from memoryd.dreams.rules.plan import BelievedMemory
from tests.support.dream_fixtures import DAY, NOW, memory_text
from tests.support.dream_year import year_of

pytestmark = pytest.mark.rules

PRICE = Price(input_usd=2.0, output_usd=10.0)


def store(count: int) -> list[BelievedMemory]:
    return [
        BelievedMemory(one.file, memory_text(one.text, name=one.text), NOW - 9 * DAY)
        for one in year_of(count=count)
    ]


def test_before_the_first_dream_everything_is_news() -> None:
    memories = store(40)
    assert reading(memories, 0.0).files == {one.file for one in memories}


def test_later_only_the_news_and_its_neighbours_are_read() -> None:
    memories = store(200)
    new = BelievedMemory(
        "new.md", memory_text("Deploys of the billing importer run on Sundays."), NOW
    )
    near = BelievedMemory(
        "near.md", memory_text("Deploys of the billing importer run on Mondays."), NOW - DAY
    )
    found = reading([*memories, near, new], NOW - DAY / 2)
    assert {"new.md", "near.md"} <= found.files
    assert len(found.files) <= 1 + NEIGHBOURS
    assert found.pairs[0] == ("near.md", "new.md")


def test_nothing_new_is_nothing_to_read() -> None:
    assert reading(store(50), NOW).files == frozenset()


def test_the_cost_grows_with_the_news_and_not_with_the_store() -> None:
    def usd(count: int, news: int) -> float:
        sizes = [(NOW if number < news else 0.0, 400) for number in range(count)]
        return estimate(sizes, NOW - DAY, PRICE, 5.0).usd

    assert usd(5000, 10) == usd(100, 10)
    assert usd(5000, 100) > 2 * usd(5000, 10)
    assert usd(100, 0) < usd(100, 10)


def test_an_estimate_is_never_more_than_the_limit_of_a_run() -> None:
    found = estimate([(NOW, 100_000)] * 500, 0.0, PRICE, 0.5)
    assert (found.usd, found.most_usd, found.read) == (0.5, 0.5, 500)
