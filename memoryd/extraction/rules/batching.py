"""Which waiting turns are extracted together, and when: the queue's decisions, without the queue.

Waiting turns are in a table and every decision is made from that table alone. So nothing has to be
remembered about turns that arrive during a run, and none can be forgotten.

Rules
- A project has one run at a time. Turns that arrive meanwhile wait, and the next run covers all of
  them. Different projects run side by side, up to `parallel`, the longest waiting first.
- A run is about one session: its waiting turns up to the last complete one, oldest first, as many
  as fit into `batch_chars` (one always does), and at most `batch_turns`: one run must be able to
  finish them.
- Only a complete turn starts a run, and only if `every_turns` of them wait in the project. A turn
  that was cut short goes with the next complete one of its session. If none has come after
  HELD_SECONDS, none will: it counts as complete then. An imported turn always does.

Waiting until the talk pauses, so that a correction comes with what it corrects
- The turns of a session wait until nothing was heard in it for `quiet_seconds`. While a turn of the
  session is open, the person has said something more: then they wait for its end.
- A session that never pauses is extracted LONGEST_TALK_SECONDS after its oldest waiting turn, and a
  full batch at once. So is what was heard before a compaction or the session's end.
- Imported turns do not wait, nor do those that a run left unfinished. A clock set back before the
  oldest turn ends the wait.
- Which sessions are open, compacted or ended is only known while the daemon runs. A restart forgets
  it, which costs or saves some seconds, and no turn.

A long queue
- Deciding takes as long as the queue is. So a project's next batches are decided with the first,
  and run one after the other while each of them is done at once and whole. What arrives meanwhile
  is in the next decision.

Failures and crashes
- A failed batch is retried as a whole, together with whatever has arrived since. After the second
  failure its turns are retried one by one, after the others; the third failure parks a turn. So a
  turn that cannot be extracted blocks no others, and is tried three times.
- A daemon crash does not count as a failure of the turns in progress. A turn seen in two crashes is
  retried alone, some time after the start, and after ten crashes it is parked.
- Between failures a project waits 5 seconds, then 10. A pause of all projects (budget, a provider
  that asks for it) counts as no failure. A clock set back before its start ends any pause.
- A pause is probed every ten minutes: money that another job had reserved may be free again.

Runs that end at a limit
- The turns stay, and are tried again at once, told what is saved: first the same ones, then half of
  them or a quarter of a full batch, then each alone. Newer turns do not join them. After a run that
  saved nothing the same ones are not tried again together.
- So a run either saves something or the next one has less to do. A turn alone that ends at a limit
  again without having saved anything is parked, and so is any turn after MOST_UNFINISHED such runs:
  a model that never gets done is not paid forever.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, islice

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
LONGEST_TALK_SECONDS = 900.0
SMALLER_BATCH = 2  # as often a turn must have been left unfinished to run with fewer others
ALONE = 3
MOST_UNFINISHED = 6
FOLLOWING_MAX = 64


def is_suspect(turn: WaitingTurn) -> bool:
    return turn.failures >= FAILURES_TO_SPLIT or turn.deaths >= CRASHES_TO_SPLIT


def must_be_parked(turn: WaitingTurn) -> bool:
    return turn.failures >= FAILURES_TO_PARK or turn.deaths >= CRASHES_TO_PARK


class Limits(msgspec.Struct, frozen=True):
    """`quiet_seconds` is 0 without a model: then a turn is extracted as soon as it ends."""

    every_turns: int = 1
    parallel: int = 2
    batch_chars: int = 120_000
    batch_turns: int = 30
    quiet_seconds: float = 0.0
    longest_talk_seconds: float = LONGEST_TALK_SECONDS


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
    """What decides besides the table; `began` is when the daemon started.

    `open_sessions` have a turn that has not ended; what a session said before its time in
    `closed_at` need not wait for more.
    """

    now: float
    began: float
    running: frozenset[str] = frozenset()
    project_pauses: Mapping[str, Pause] = {}
    pause: Pause | None = None
    open_sessions: frozenset[str] = frozenset()
    closed_at: Mapping[str, float] = {}


class Batch(msgspec.Struct, frozen=True):
    project: str
    session_id: str
    turns: tuple[WaitingTurn, ...]

    @property
    def turn_ids(self) -> tuple[str, ...]:
        return tuple(turn.turn_id for turn in self.turns)


class Decision(msgspec.Struct, frozen=True):
    """What to start now, and when to look again if nothing happens until then.

    `following` are the batches of a project that come next if nothing happens until then.
    """

    batches: tuple[Batch, ...] = ()
    wake_at: float | None = None
    following: Mapping[str, tuple[Batch, ...]] = {}


class Setback(msgspec.Struct, frozen=True):
    """What a failed run leads to."""

    parked: tuple[str, ...]
    pause: Pause


class Remainder(msgspec.Struct, frozen=True):
    """What a run that ended at a limit leads to: how often that was so for each of its turns."""

    unfinished: Mapping[str, int]
    parked: tuple[str, ...]


def decide(waiting: Sequence[WaitingTurn], state: QueueState, limits: Limits) -> Decision:
    """What to run; `waiting` is oldest first, without turns that are already running."""
    if state.pause is not None and not state.pause.may_be_probed(state.now):
        return Decision(wake_at=state.pause.probe_at)
    batches: list[Batch] = []
    wakes: list[float] = []
    following: dict[str, tuple[Batch, ...]] = {}
    for project, turns in _by_project(waiting):
        if project in state.running:
            continue
        ready, waits = _by_talk(due(turns, limits, state.now), state, limits)
        wakes += waits
        batch = _next_batch(ready)
        if batch is None:
            continue
        pauses = _active_pauses(batch, state)
        if pauses:
            wakes.append(max(pause.until for pause in pauses))
        elif len(state.running) + len(batches) < limits.parallel:
            batches.append(batch)
            if limits.every_turns == 1:
                following[project] = tuple(islice(_batches_after(batch, ready), FOLLOWING_MAX))
    return Decision(tuple(batches), min(wakes, default=None), following)


def due(turns: Sequence[WaitingTurn], limits: Limits, now: float) -> list[WaitingTurn]:
    """The turns of one project that only wait for their run."""
    fresh = [turn for turn in turns if not is_suspect(turn)]
    complete = [turn for turn in fresh if may_start(turn, now)]
    if len(complete) < limits.every_turns and not any(turn.failures for turn in complete):
        fresh = []
    last = {turn.session_id: number for number, turn in enumerate(fresh) if may_start(turn, now)}
    ending = [t for number, t in enumerate(fresh) if number <= last.get(t.session_id, -1)]
    return ending + [turn for turn in turns if is_suspect(turn)]


def due_count(waiting: Sequence[WaitingTurn], state: QueueState, limits: Limits) -> int:
    """How many turns of all projects only wait for their run."""
    of_projects = (due(turns, limits, state.now) for _, turns in _by_project(waiting))
    return sum(len(_by_talk(turns, state, limits)[0]) for turns in of_projects)


def may_start(turn: WaitingTurn, now: float) -> bool:
    """Whether a turn waits for no later one of its session."""
    is_held_long = 0 < turn.heard_at <= now - HELD_SECONDS
    return turn.complete or turn.imported or is_held_long


def wait_for_talk(turns: Sequence[WaitingTurn], state: QueueState, limits: Limits) -> Pause | None:
    """Until when these waiting turns of one session wait for more talk; None if they do not."""
    heard = [turn.heard_at for turn in turns if turn.heard_at]
    if not (limits.quiet_seconds and heard) or len(turns) >= limits.batch_turns:
        return None
    session_id, oldest = turns[0].session_id, min(heard)
    if state.closed_at.get(session_id, 0.0) >= oldest:
        return None
    latest = oldest + limits.longest_talk_seconds
    if session_id not in state.open_sessions:
        latest = min(latest, max(heard) + limits.quiet_seconds)
    pause = Pause("talk", oldest, latest)
    return None if pause.is_over(state.now) else pause


def most_turns(batch: Batch, limits: Limits) -> int:
    """How many turns one run may take of this batch."""
    unfinished = batch.turns[0].unfinished
    if unfinished >= ALONE:
        return 1
    if unfinished >= SMALLER_BATCH:
        return max(1, min(limits.batch_turns // 4, len(batch.turns) // 2))
    return max(limits.batch_turns, limits.every_turns)


def after_failure(batch: Batch, now: float) -> Setback:
    """Each turn of the batch has one more failure; those with too many are parked."""
    failed = [msgspec.structs.replace(turn, failures=turn.failures + 1) for turn in batch.turns]
    parked = tuple(turn.turn_id for turn in failed if must_be_parked(turn))
    tried_again = [turn.failures for turn in failed if not must_be_parked(turn)]
    pause = Pause("failed", now, now + backoff_seconds(max(tried_again, default=0)))
    return Setback(parked, pause)


def after_limit(batch: Batch, *, has_saved: bool) -> Remainder:
    """Each turn of the batch has been left unfinished once more."""
    counts = {
        turn.turn_id: turn.unfinished + 1 if has_saved else max(turn.unfinished + 1, SMALLER_BATCH)
        for turn in batch.turns
    }
    is_stuck = len(batch.turns) == 1 and batch.turns[0].unfinished > 0 and not has_saved
    parked = (name for name, count in counts.items() if is_stuck or count >= MOST_UNFINISHED)
    return Remainder(counts, tuple(parked))


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
    same = [
        turn
        for turn in turns
        if turn.session_id == first.session_id
        and not is_suspect(turn)
        and bool(turn.unfinished) == bool(first.unfinished)
    ]
    return _batch(same)


def _batches_after(batch: Batch, turns: Sequence[WaitingTurn]) -> Iterator[Batch]:
    """The batches of other sessions in order, as far as no turn of theirs was tried before."""
    if any(_was_tried(turn) for turn in batch.turns):
        return
    sessions: dict[str, list[WaitingTurn]] = {}
    for turn in turns:
        if turn.session_id != batch.session_id:
            sessions.setdefault(turn.session_id, []).append(turn)
    for said in sessions.values():
        if any(_was_tried(turn) for turn in said):
            return
        yield _batch(said)


def _was_tried(turn: WaitingTurn) -> bool:
    return bool(turn.failures or turn.deaths or turn.unfinished)


def _by_talk(
    turns: Sequence[WaitingTurn], state: QueueState, limits: Limits
) -> tuple[list[WaitingTurn], list[float]]:
    """The turns of one project that wait for nothing more to be said; when the others will."""
    if not limits.quiet_seconds:
        return list(turns), []
    talks: dict[str, list[WaitingTurn]] = {}
    for turn in turns:
        if not (is_suspect(turn) or turn.unfinished):
            talks.setdefault(turn.session_id, []).append(turn)
    waits = {name: wait_for_talk(said, state, limits) for name, said in talks.items()}
    held = {turn.turn_id for name, said in talks.items() if waits[name] for turn in said}
    ready = [turn for turn in turns if turn.turn_id not in held]
    return ready, [wait.until for wait in waits.values() if wait]


def _active_pauses(batch: Batch, state: QueueState) -> list[Pause]:
    """What keeps the batch from running yet; empty if nothing does."""
    deaths = max(turn.deaths for turn in batch.turns)
    after_crashes = Pause("crashed", state.began, state.began + backoff_seconds(deaths - 1))
    pauses = (state.project_pauses.get(batch.project), after_crashes)
    return [pause for pause in pauses if pause is not None and not pause.is_over(state.now)]


def _batch(turns: Sequence[WaitingTurn]) -> Batch:
    return Batch(turns[0].project, turns[0].session_id, tuple(turns))
