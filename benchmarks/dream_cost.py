"""What a dream costs as the store grows: processor time without a model, tokens with one.

Half of each store are short, similar sentences about similar subjects, some of them said again or
contradicted (`tests/support/dream_year`): the hard case for a search for pairs. The other half are
long texts of ordinary words. Each table ends in a slope: the exponent with which the cost grows
(1 is linear, 2 the square, 0 flat).

usage: benchmarks/dream_cost.py [SIZE ...]
"""

import logging
import math
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import linear_regression

import anyio
import msgspec
import structlog
from long_store import COMMON, TOPICS
from results import report

from memoryd.memories.rules import topics
from memoryd.memories.rules.topics import Topic
from tests.dreams.test_model_dream import dreaming
from tests.support.dream_fixtures import DAY, NOW, DreamProject
from tests.support.dream_year import year_of
from tests.support.scripted_model import Message, PrefixCache, SeenRequest, says

SIZES = (100, 500, 1_000, 2_000, 5_000)
GOALS = {500: 1.0, 1_000: 1.5, 2_000: 3.0, 5_000: 8.0}
NEWS = (5, 20, 80)
STORE_OF_NEWS = 1_000
NIGHTLY_NEWS = 10
DEADLINE_SECONDS = 900.0


def filled(project: DreamProject, size: int, *, news: int) -> None:
    """So many memories, of which the last `news` are of today and the others older than a day."""
    dice = random.Random(size)
    words = " ".join((TOPICS, *COMMON)).replace("|", " ").replace("/", " ").split()
    short = iter(year_of(seed=size, days=size, count=size))
    project.memory.mkdir(parents=True, exist_ok=True)
    for number in range(size):
        is_new = number >= size - news
        at = project.now - (DAY / 4 if is_new else (2 + (size - number) / size * 30) * DAY)
        body = " ".join(dice.choices(words, k=dice.randint(40, 120)))
        name, type_ = " ".join(dice.choices(words, k=5)), topics.TYPES[number % 4]
        if number % 2:
            one = next(short)
            body, name, type_ = one.text, one.text.rstrip(".!")[:60], one.type
        topic = Topic(
            name=name,
            description=" ".join(body.split()[:12]),
            type=type_,
            created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at)),
            trust="user-said",
            body=f"{body}\n\n**Why:** {' '.join(dice.choices(words, k=12))}.\n",
        )
        path = project.memory / f"{type_}_{number:05}.md"
        path.write_text(topics.render(topic), encoding="utf-8")
        os.utime(path, (at, at))
    project.store.repair(project.directory)


def slope(points: Sequence[tuple[float, float]]) -> float:
    """The exponent of a power law through the points, by least squares of the logarithms."""
    xs, ys = zip(*((math.log(x), math.log(y)) for x, y in points), strict=True)
    return linear_regression(xs, ys).slope


async def first_and_next(project: DreamProject) -> tuple[float, float]:
    """The processor seconds of a first dream, and of the next night's."""
    spent = []
    project.deadline_seconds = DEADLINE_SECONDS
    async with project.running():
        for _ in range(2):
            began = time.process_time()
            dream = await project.dream()
            spent.append(time.process_time() - began)
            if dream.state != "done":
                raise SystemExit(f"the dream was {dream.state}: {dream.reason}")
            project.pass_time(DAY)
    return spent[0], spent[1]


def read_once(project: DreamProject) -> float:
    """The baseline: the processor seconds of reading and parsing every file."""
    began = time.process_time()
    for path in project.memory.glob("*.md"):
        topics.parse(path.read_text(encoding="utf-8"))
    return time.process_time() - began


def figures_at(size: int) -> dict[str, float]:
    """Seconds of CPU without a model: a first dream, the next night's, and reading each file."""
    with tempfile.TemporaryDirectory() as home:
        project = DreamProject(Path(home))
        filled(project, size, news=NIGHTLY_NEWS)
        read = read_once(project)
        first, again = anyio.run(first_and_next, project)
        project.database.close()
    return {"first dream, CPU s": first, "next night, CPU s": again, "  only read, CPU s": read}


def without_a_model(sizes: Sequence[int]) -> None:
    heads = f"{'first, CPU s':>14}{'goal':>8}{'next night':>12}{'only read':>11}"
    print(f"{'without a model':<20}{heads}")
    points, later = [], []
    for size in sizes:
        first, again, read = figures_at(size).values()
        points.append((size, first))
        later.append((size, again))
        goal, beside = GOALS.get(size, ""), ("reading each file", read)
        report("first dream, CPU", size, first, "s", beside=beside, goal=GOALS.get(size))
        report("next night's dream, CPU", size, again, "s", beside=beside)
        print(f"{size:<20}{first:>14.2f}{goal:>8}{again:>12.2f}{read:>11.2f}", flush=True)
    if len(points) > 1:
        print(f"{'slope':<20}{slope(points):>14.2f}{'':>8}{slope(later):>12.2f}")


async def tokens_of(home: Path, size: int, news: int) -> tuple[int, int, float]:
    """The prompt tokens of a dream whose model adds nothing, the estimate, and its dollars."""
    cache = PrefixCache()

    def answer(request: SeenRequest) -> Message:
        usage = cache.usage_of(request.body)
        return msgspec.structs.replace(says("nothing to do"), usage=usage)

    async with dreaming(home, answer) as (project, _server), project.running():
        project.deadline_seconds = DEADLINE_SECONDS
        filled(project, size, news=news)
        project.lock.write_text("0")
        os.utime(project.lock, (NOW - DAY, NOW - DAY))
        estimate = project.dreamer.status(project.root).estimate
        dream = await project.dream()
        if dream.state != "done" or estimate is None:
            raise SystemExit(f"the dream was {dream.state}: {dream.reason}")
        return dream.summary.input_tokens, estimate.tokens, estimate.usd


def with_a_model(sizes: Sequence[int]) -> None:
    rows = [(size, NIGHTLY_NEWS) for size in sizes] + [(STORE_OF_NEWS, news) for news in NEWS]
    print(f"\n{'with a model':<14}{'news':>6}{'first prompt':>14}{'estimated':>11}{'usd':>9}")
    points: dict[tuple[int, int], int] = {}
    for size, news in rows:
        with tempfile.TemporaryDirectory() as home:
            tokens, estimated, usd = anyio.run(tokens_of, Path(home), size, news)
        points[size, news] = tokens
        print(f"{size:<14}{news:>6}{tokens:>14}{estimated:>11}{usd:>9.4f}", flush=True)
    if len(sizes) < 2:
        return
    by_store = [(size, points[size, NIGHTLY_NEWS]) for size in sizes]
    by_news = [(news, points[STORE_OF_NEWS, news]) for news in NEWS]
    print(f"slope with the store {slope(by_store):.2f}, with the news {slope(by_news):.2f}")


def main() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    sizes = [int(size) for size in sys.argv[1:]] or list(SIZES)
    without_a_model(sizes)
    with_a_model(sizes[::2])


if __name__ == "__main__":
    main()
