"""Which waiting turns are extracted together, and when: the queue's decisions, without the queue.

What is waiting stands in a table, and every decision is made afresh from it; so nothing has to be
remembered about turns that came while a run was on, and none of them can be forgotten.

Rules
- A project has one run at a time. What comes meanwhile waits, and the next run covers all of it.
  Different projects run side by side, as many as `parallel` says, the longest waiting first.
- A run is about one session: its waiting turns up to the last complete one, oldest first, as many
  as fit into `batch_chars` (one always does).
- Only a complete turn starts a run, and only when `every_turns` of them wait in the project. A turn
  that was cut short goes along with the next complete one of its session.
- A failed batch is tried again as a whole, whatever came in addition with it. After the second
  failure its turns are tried one by one, behind the others; the third failure parks a turn. So a
  turn that cannot be extracted holds up nobody, and is tried three times.
- A death of the daemon is no failure of the turns that it was at. But who was there twice goes on
  alone, a while after the start, and after ten deaths a turn is parked.
- Between failures a project rests 5 seconds, then 10. A pause of all projects (money, a provider
  that asks for it) counts as nothing. A clock set back before its beginning ends any pause.
- A pause is tested every ten minutes: money that another job had reserved may be free again.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import msgspec

from memoryd.transcripts.rules.turns import WaitingTurn

FAILURES_TO_SPLIT = 2
FAILURES_TO_PARK = 3
DEATHS_TO_SPLIT = 2
DEATHS_TO_PARK = 10
FIRST_REST_SECONDS = 5.0
LONGEST_REST_SECONDS = 600.0
PAUSE_TEST_SECONDS = 600.0


def is_suspect(turn: WaitingTurn) -> bool:
    return turn.failures >= FAILURES_TO_SPLIT or turn.deaths >= DEATHS_TO_SPLIT


def is_hopeless(turn: WaitingTurn) -> bool:
    return turn.failures >= FAILURES_TO_PARK or turn.deaths >= DEATHS_TO_PARK


class Limits(msgspec.Struct, frozen=True):
    every_turns: int = 1
    parallel: int = 2
    batch_chars: int = 120_000


class Pause(msgspec.Struct, frozen=True):
    """No run from `since` to `until`, both in seconds since the epoch."""

    reason: str
    since: float
    until: float

    @property
    def test_at(self) -> float:
        return min(self.until, self.since + PAUSE_TEST_SECONDS)

    def is_over(self, now: float) -> bool:
        return not self.since <= now < self.until

    def may_be_tested(self, now: float) -> bool:
        return self.is_over(now) or now >= self.test_at


class Moment(msgspec.Struct, frozen=True):
    """What besides the table decides; `began` is when the daemon did."""

    now: float
    began: float
    running: frozenset[str] = frozenset()
    rests: Mapping[str, Pause] = {}
    pause: Pause | None = None


class Batch(msgspec.Struct, frozen=True):
    project: str
    session_id: str
    turns: tuple[WaitingTurn, ...]

    @property
    def turn_ids(self) -> tuple[str, ...]:
        return tuple(turn.turn_id for turn in self.turns)


class Decision(msgspec.Struct, frozen=True):
    """What to start now, and when to look again if nothing happens until then."""

    batches: tuple[Batch, ...] = ()
    wake_at: float | None = None


class Setback(msgspec.Struct, frozen=True):
    """What a failed run leads to."""

    parked: tuple[str, ...]
    rest: Pause


def decide(waiting: Sequence[WaitingTurn], moment: Moment, limits: Limits) -> Decision:
    """What to run; `waiting` holds no turn that is running already, the oldest first."""
    if moment.pause is not None and not moment.pause.may_be_tested(moment.now):
        return Decision(wake_at=moment.pause.test_at)
    batches: list[Batch] = []
    wakes: list[float] = []
    for project, turns in _by_project(waiting):
        if project in moment.running:
            continue
        batch = _next_batch(due(turns, limits))
        if batch is None:
            continue
        rests = _rests(batch, moment)
        if rests:
            wakes.append(max(rest.until for rest in rests))
        elif len(moment.running) + len(batches) < limits.parallel:
            batches.append(batch)
    return Decision(tuple(batches), min(wakes, default=None))


def due(turns: Sequence[WaitingTurn], limits: Limits) -> list[WaitingTurn]:
    """The turns of one project that wait for nothing but their time."""
    fresh = [turn for turn in turns if not is_suspect(turn)]
    complete = [turn for turn in fresh if turn.complete]
    if len(complete) < limits.every_turns and not any(turn.failures for turn in complete):
        fresh = []
    last = {turn.session_id: number for number, turn in enumerate(fresh) if turn.complete}
    ending = [t for number, t in enumerate(fresh) if number <= last.get(t.session_id, -1)]
    return ending + [turn for turn in turns if is_suspect(turn)]


def due_count(waiting: Sequence[WaitingTurn], limits: Limits) -> int:
    """How many turns of all projects wait for nothing but their time."""
    return sum(len(due(turns, limits)) for _, turns in _by_project(waiting))


def after_failure(batch: Batch, now: float) -> Setback:
    """Its turns have one failure more; those for which it was the last are parked."""
    failed = [msgspec.structs.replace(turn, failures=turn.failures + 1) for turn in batch.turns]
    parked = tuple(turn.turn_id for turn in failed if is_hopeless(turn))
    tried_again = [turn.failures for turn in failed if not is_hopeless(turn)]
    rest = Pause("failed", now, now + rest_seconds(max(tried_again, default=0)))
    return Setback(parked, rest)


def rest_seconds(times: int) -> float:
    """How long to wait after something went wrong so many times in a row."""
    return min(FIRST_REST_SECONDS * 2 ** (times - 1), LONGEST_REST_SECONDS) if times > 0 else 0.0


def _by_project(waiting: Sequence[WaitingTurn]) -> Iterator[tuple[str, list[WaitingTurn]]]:
    """Projects in the order of their oldest turn."""
    order = {turn.project: number for number, turn in reversed(list(enumerate(waiting)))}
    ranked = sorted(waiting, key=lambda turn: order[turn.project])
    return ((name, list(turns)) for name, turns in groupby(ranked, lambda turn: turn.project))


def _next_batch(turns: Sequence[WaitingTurn]) -> Batch | None:
    """What a project runs next, unless it rests."""
    if not turns:
        return None
    first = turns[0]
    if is_suspect(first):
        return _batch([min(turns, key=lambda turn: turn.deaths)])
    same = [turn for turn in turns if turn.session_id == first.session_id and not is_suspect(turn)]
    return _batch(same)


def _rests(batch: Batch, moment: Moment) -> list[Pause]:
    """Why a batch may not run yet, if it may not."""
    deaths = max(turn.deaths for turn in batch.turns)
    after_deaths = Pause("died", moment.began, moment.began + rest_seconds(deaths - 1))
    rests = (moment.rests.get(batch.project), after_deaths)
    return [rest for rest in rests if rest is not None and not rest.is_over(moment.now)]


def _batch(turns: Sequence[WaitingTurn]) -> Batch:
    return Batch(turns[0].project, turns[0].session_id, tuple(turns))
