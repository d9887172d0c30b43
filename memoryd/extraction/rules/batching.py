"""Which waiting turns are extracted together, and when: the queue's decisions, without the queue.

Waiting turns are in a table and every decision is made from that table alone. So nothing has to be
remembered about turns that arrive during a run, and none can be forgotten.

Rules
- A project has one run at a time. Turns that arrive meanwhile wait, and the next run covers all of
  them. Different projects run side by side, up to `parallel`, the longest waiting first.
- A run is about one session: its waiting turns up to the last complete one, oldest first, as many
  as fit into `batch_chars` (one always does).
- Only a complete turn starts a run, and only if `every_turns` of them wait in the project. A turn
  that was cut short goes with the next complete one of its session. If none has come after
  HELD_SECONDS, none will: it counts as complete then. An imported turn always does.
- A failed batch is retried as a whole, together with whatever has arrived since. After the second
  failure its turns are retried one by one, after the others; the third failure parks a turn. So a
  turn that cannot be extracted blocks no others, and is tried three times.
- A daemon crash does not count as a failure of the turns in progress. A turn seen in two crashes is
  retried alone, some time after the start, and after ten crashes it is parked.
- Between failures a project waits 5 seconds, then 10. A pause of all projects (budget, a provider
  that asks for it) counts as no failure. A clock set back before its start ends any pause.
- A pause is probed every ten minutes: money that another job had reserved may be free again.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import msgspec

from memoryd.transcripts.rules.turns import WaitingTurn

HELD_SECONDS = 3600.0
FAILURES_TO_SPLIT = 2
FAILURES_TO_PARK = 3
CRASHES_TO_SPLIT = 2
CRASHES_TO_PARK = 10
FIRST_BACKOFF_SECONDS = 5.0
LONGEST_BACKOFF_SECONDS = 600.0
PAUSE_PROBE_SECONDS = 600.0


def is_suspect(turn: WaitingTurn) -> bool:
    return turn.failures >= FAILURES_TO_SPLIT or turn.deaths >= CRASHES_TO_SPLIT


def must_be_parked(turn: WaitingTurn) -> bool:
    return turn.failures >= FAILURES_TO_PARK or turn.deaths >= CRASHES_TO_PARK


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
    def probe_at(self) -> float:
        return min(self.until, self.since + PAUSE_PROBE_SECONDS)

    def is_over(self, now: float) -> bool:
        return not self.since <= now < self.until

    def may_be_probed(self, now: float) -> bool:
        return self.is_over(now) or now >= self.probe_at


class QueueState(msgspec.Struct, frozen=True):
    """What decides besides the table; `began` is when the daemon started."""

    now: float
    began: float
    running: frozenset[str] = frozenset()
    project_pauses: Mapping[str, Pause] = {}
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
    pause: Pause


def decide(waiting: Sequence[WaitingTurn], state: QueueState, limits: Limits) -> Decision:
    """What to run; `waiting` is oldest first, without turns that are already running."""
    if state.pause is not None and not state.pause.may_be_probed(state.now):
        return Decision(wake_at=state.pause.probe_at)
    batches: list[Batch] = []
    wakes: list[float] = []
    for project, turns in _by_project(waiting):
        if project in state.running:
            continue
        batch = _next_batch(due(turns, limits, state.now))
        if batch is None:
            continue
        pauses = _active_pauses(batch, state)
        if pauses:
            wakes.append(max(pause.until for pause in pauses))
        elif len(state.running) + len(batches) < limits.parallel:
            batches.append(batch)
    return Decision(tuple(batches), min(wakes, default=None))


def due(turns: Sequence[WaitingTurn], limits: Limits, now: float) -> list[WaitingTurn]:
    """The turns of one project that only wait for their run."""
    fresh = [turn for turn in turns if not is_suspect(turn)]
    complete = [turn for turn in fresh if may_start(turn, now)]
    if len(complete) < limits.every_turns and not any(turn.failures for turn in complete):
        fresh = []
    last = {turn.session_id: number for number, turn in enumerate(fresh) if may_start(turn, now)}
    ending = [t for number, t in enumerate(fresh) if number <= last.get(t.session_id, -1)]
    return ending + [turn for turn in turns if is_suspect(turn)]


def due_count(waiting: Sequence[WaitingTurn], limits: Limits, now: float) -> int:
    """How many turns of all projects only wait for their run."""
    return sum(len(due(turns, limits, now)) for _, turns in _by_project(waiting))


def may_start(turn: WaitingTurn, now: float) -> bool:
    """Whether a turn waits for no later one of its session."""
    return turn.complete or turn.imported or now - turn.stored_at >= HELD_SECONDS


def after_failure(batch: Batch, now: float) -> Setback:
    """Each turn of the batch has one more failure; those with too many are parked."""
    failed = [msgspec.structs.replace(turn, failures=turn.failures + 1) for turn in batch.turns]
    parked = tuple(turn.turn_id for turn in failed if must_be_parked(turn))
    tried_again = [turn.failures for turn in failed if not must_be_parked(turn)]
    pause = Pause("failed", now, now + backoff_seconds(max(tried_again, default=0)))
    return Setback(parked, pause)


def backoff_seconds(times: int) -> float:
    """How long to wait after so many failures in a row."""
    if times <= 0:
        return 0.0
    return min(FIRST_BACKOFF_SECONDS * 2.0 ** (times - 1), LONGEST_BACKOFF_SECONDS)


def _by_project(waiting: Sequence[WaitingTurn]) -> Iterator[tuple[str, list[WaitingTurn]]]:
    """Projects, ordered by their oldest turn."""
    order = {turn.project: number for number, turn in reversed(list(enumerate(waiting)))}
    ranked = sorted(waiting, key=lambda turn: order[turn.project])
    return ((name, list(turns)) for name, turns in groupby(ranked, lambda turn: turn.project))


def _next_batch(turns: Sequence[WaitingTurn]) -> Batch | None:
    """What a project runs next, unless it is paused."""
    if not turns:
        return None
    first = turns[0]
    if is_suspect(first):
        return _batch([min(turns, key=lambda turn: turn.deaths)])
    same = [turn for turn in turns if turn.session_id == first.session_id and not is_suspect(turn)]
    return _batch(same)


def _active_pauses(batch: Batch, state: QueueState) -> list[Pause]:
    """What keeps the batch from running yet; empty if nothing does."""
    deaths = max(turn.deaths for turn in batch.turns)
    after_crashes = Pause("crashed", state.began, state.began + backoff_seconds(deaths - 1))
    pauses = (state.project_pauses.get(batch.project), after_crashes)
    return [pause for pause in pauses if pause is not None and not pause.is_over(state.now)]


def _batch(turns: Sequence[WaitingTurn]) -> Batch:
    return Batch(turns[0].project, turns[0].session_id, tuple(turns))
