"""The queue's decisions: an example of each rule, and a state machine with random events."""

from collections.abc import Sequence

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from memoryd.extraction.rules.batching import (
    CRASHES_TO_PARK,
    FAILURES_TO_PARK,
    HELD_SECONDS,
    Batch,
    Limits,
    Pause,
    QueueState,
    after_failure,
    decide,
    due_count,
    must_be_parked,
)
from memoryd.transcripts.rules.turns import WaitingTurn
from tests.support.examples import examples

NOW = 1_000_000.0
STATE = QueueState(NOW, began=NOW)
LIMITS = Limits()


def turn(
    name: str, project: str = "/p", session: str = "s", *, complete: bool = True
) -> WaitingTurn:
    return WaitingTurn(name, project, session, complete)


def started(
    waiting: Sequence[WaitingTurn], state: QueueState = STATE, limits: Limits = LIMITS
) -> list[tuple[str, ...]]:
    return [batch.turn_ids for batch in decide(waiting, state, limits).batches]


def test_all_waiting_turns_of_a_session_are_one_run() -> None:
    assert started([turn("1"), turn("2"), turn("3")]) == [("1", "2", "3")]


def test_a_running_project_is_not_started_again_and_others_are() -> None:
    waiting = [turn("1", "/a"), turn("2", "/b")]
    state = QueueState(NOW, NOW, running=frozenset({"/a"}))
    assert started(waiting, state) == [("2",)]


def test_projects_run_side_by_side_up_to_the_limit_the_oldest_first() -> None:
    waiting = [turn("1", "/a"), turn("2", "/b"), turn("3", "/a"), turn("4", "/c")]
    assert started(waiting) == [("1", "3"), ("2",)]
    assert started(waiting, limits=Limits(parallel=1)) == [("1", "3")]
    assert started(waiting, QueueState(NOW, NOW, running=frozenset({"/x", "/y"}))) == []


def test_two_sessions_of_a_project_are_two_runs_in_turn() -> None:
    waiting = [turn("1", session="s"), turn("2", session="t"), turn("3", session="s")]
    assert started(waiting) == [("1", "3")]
    assert started(waiting[1:2]) == [("2",)]


def test_throttled_turns_wait_for_the_next_and_go_with_it() -> None:
    limits = Limits(every_turns=3)
    waiting = [turn("1"), turn("2")]
    assert started(waiting, limits=limits) == []
    assert due_count(waiting, limits, NOW) == 0
    waiting.append(turn("3"))
    assert started(waiting, limits=limits) == [("1", "2", "3")]
    assert due_count(waiting, limits, NOW) == 3


def test_a_failed_turn_is_retried_despite_the_throttle() -> None:
    failed = msgspec.structs.replace(turn("1"), failures=1)
    assert started([failed], limits=Limits(every_turns=5)) == [("1",)]


def test_a_turn_cut_short_waits_for_the_next_complete_one_of_its_session() -> None:
    cut = turn("1", complete=False)
    assert started([cut]) == []
    assert due_count([cut], LIMITS, NOW) == 0
    assert started([cut, turn("2", session="other")]) == [("2",)]
    assert started([cut, turn("2"), turn("3", complete=False)]) == [("1", "2")]


def test_a_turn_cut_short_is_not_held_for_ever() -> None:
    cut = msgspec.structs.replace(turn("1", complete=False), stored_at=NOW - HELD_SECONDS)
    assert started([cut]) == [("1",)]
    assert started([msgspec.structs.replace(cut, stored_at=NOW - HELD_SECONDS + 1)]) == []


def test_an_imported_turn_that_was_cut_short_waits_for_no_other() -> None:
    imported = [
        msgspec.structs.replace(one, imported=True)
        for one in (turn("1", complete=False), turn("2", session="t", complete=False))
    ]
    assert started(imported) == [("1",)]
    assert due_count(imported, LIMITS, NOW) == 2


def test_turns_of_a_batch_that_failed_twice_run_one_by_one_after_the_others() -> None:
    twice = [msgspec.structs.replace(turn(name), failures=2) for name in "ab"]
    assert started([*twice, turn("c")]) == [("c",)]
    assert started(twice) == [("a",)]


def test_failures_lead_to_longer_waits_and_the_third_parks() -> None:
    batch = Batch("/p", "s", (turn("1"),))
    waits, parked = [], []
    for failures in range(FAILURES_TO_PARK):
        tried = msgspec.structs.replace(batch.turns[0], failures=failures)
        setback = after_failure(Batch("/p", "s", (tried,)), NOW)
        waits.append(setback.pause.until - NOW)
        parked.append(setback.parked)
    assert waits == [5.0, 10.0, 0.0]
    assert parked == [(), (), ("1",)]


def test_a_paused_project_says_when_to_look_again() -> None:
    pause = Pause("failed", NOW, NOW + 5)
    state = QueueState(NOW + 1, NOW, project_pauses={"/p": pause})
    decision = decide([turn("1"), turn("2", "/other")], state, LIMITS)
    assert [batch.project for batch in decision.batches] == ["/other"]
    assert decision.wake_at == NOW + 5
    assert started([turn("1")], QueueState(NOW + 5, NOW, project_pauses={"/p": pause})) == [("1",)]


def test_a_pause_stops_everything_and_ends_by_itself() -> None:
    pause = Pause("breaker-open", NOW, NOW + 300)
    paused = decide([turn("1")], QueueState(NOW + 10, NOW, pause=pause), LIMITS)
    assert paused.batches == ()
    assert paused.wake_at == NOW + 300
    assert started([turn("1")], QueueState(NOW + 300, NOW, pause=pause)) == [("1",)]


def test_a_long_pause_is_probed_every_ten_minutes() -> None:
    pause = Pause("day-cap", NOW, NOW + 36_000)
    assert decide([turn("1")], QueueState(NOW, NOW, pause=pause), LIMITS).wake_at == NOW + 600
    assert started([turn("1")], QueueState(NOW + 600, NOW, pause=pause)) == [("1",)]
    assert not pause.is_over(NOW + 600)


def test_a_clock_set_back_ends_a_pause() -> None:
    pause = Pause("day-cap", NOW, NOW + 3600)
    assert started([turn("1")], QueueState(NOW - 86_400, NOW, pause=pause)) == [("1",)]


def test_a_turn_seen_in_two_crashes_runs_alone_and_later() -> None:
    waiting = [msgspec.structs.replace(turn("1"), deaths=2), turn("2")]
    assert started(waiting) == [("2",)]
    alone = decide(waiting[:1], STATE, LIMITS)
    assert alone.batches == ()
    assert alone.wake_at == NOW + 5
    assert started(waiting[:1], QueueState(NOW + 5, began=NOW)) == [("1",)]


def test_ten_crashes_park_a_turn() -> None:
    assert not must_be_parked(msgspec.structs.replace(turn("1"), deaths=CRASHES_TO_PARK - 1))
    assert must_be_parked(msgspec.structs.replace(turn("1"), deaths=CRASHES_TO_PARK))


PROJECTS, SESSIONS = ("/a", "/b", "/c"), ("s", "t")


class QueueMachine(RuleBasedStateMachine):
    """A table of turns, a worker that follows every decision, and random events."""

    def __init__(self) -> None:
        super().__init__()
        self.limits = Limits(every_turns=2, parallel=2)
        self.now = self.began = NOW
        self.table: dict[str, WaitingTurn] = {}
        self.running: dict[str, Batch] = {}
        self.project_pauses: dict[str, Pause] = {}
        self.pause: Pause | None = None
        self.done: set[str] = set()
        self.parked: set[str] = set()
        self.poison: set[str] = set()
        self.count = 0

    def waiting(self) -> list[WaitingTurn]:
        busy = {name for batch in self.running.values() for name in batch.turn_ids}
        return [one for name, one in self.table.items() if name not in busy]

    @rule(
        project=st.sampled_from(PROJECTS),
        session=st.sampled_from(SESSIONS),
        complete=st.booleans(),
        is_poison=st.sampled_from([False, False, False, True]),
    )
    def a_turn_arrives(self, project: str, session: str, complete: bool, is_poison: bool) -> None:
        self.count += 1
        name = str(self.count)
        self.table[name] = WaitingTurn(name, project, session, complete, stored_at=self.now)
        if is_poison:
            self.poison.add(name)

    @rule()
    def the_worker_looks(self) -> None:
        state = QueueState(
            self.now, self.began, frozenset(self.running), dict(self.project_pauses), self.pause
        )
        decision = decide(self.waiting(), state, self.limits)
        for batch in decision.batches:
            assert batch.project not in self.running
            assert batch.turns
            assert {one.session_id for one in batch.turns} == {batch.session_id}
            assert [int(name) for name in batch.turn_ids] == sorted(map(int, batch.turn_ids))
            assert not {*batch.turn_ids} & (self.done | self.parked)
            self.running[batch.project] = batch
        assert len(self.running) <= self.limits.parallel
        if not self.running and due_count(self.waiting(), self.limits, self.now):
            assert decision.wake_at is not None
            assert decision.wake_at > self.now

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def a_run_ends(self, data: st.DataObject) -> None:
        batch = self.running.pop(data.draw(st.sampled_from(sorted(self.running))))
        outcome = data.draw(st.sampled_from(["good", "good", "down", "paused"]))
        if outcome == "paused":
            self.pause = Pause("day-cap", self.now, self.now + 600)
        elif outcome == "down" or self.poison & {*batch.turn_ids}:
            self._fail(batch)
        else:
            self.done.update(batch.turn_ids)
            for name in batch.turn_ids:
                del self.table[name]

    def _fail(self, batch: Batch) -> None:
        setback = after_failure(batch, self.now)
        self.project_pauses[batch.project] = setback.pause
        for name in batch.turn_ids:
            one = self.table[name]
            self.table[name] = msgspec.structs.replace(one, failures=one.failures + 1)
        for name in setback.parked:
            self.parked.add(name)
            del self.table[name]

    @rule(seconds=st.sampled_from([1.0, 5.0, 60.0, 601.0, -5000.0]))
    def the_clock_moves(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def the_daemon_is_killed(self) -> None:
        for batch in self.running.values():
            for name in batch.turn_ids:
                one = self.table[name]
                self.table[name] = msgspec.structs.replace(one, deaths=one.deaths + 1)
        self.parked |= {name for name, one in self.table.items() if must_be_parked(one)}
        self.table = {name: one for name, one in self.table.items() if not must_be_parked(one)}
        self.running, self.project_pauses, self.pause = {}, {}, None
        self.began = self.now

    @invariant()
    def no_turn_is_lost_or_doubled(self) -> None:
        assert len(self.done) + len(self.parked) + len(self.table) == self.count
        assert not self.done & (self.parked | self.table.keys())

    def teardown(self) -> None:
        """Without further failures the queue empties, except for turns that must wait."""
        for _ in range(20 * (self.count + 1)):
            self.the_worker_looks()
            for project in list(self.running):
                batch = self.running.pop(project)
                if self.poison & {*batch.turn_ids}:
                    self._fail(batch)
                    continue
                self.done.update(batch.turn_ids)
                for name in batch.turn_ids:
                    del self.table[name]
            self.now += 60.0
        assert due_count(self.waiting(), self.limits, self.now) == 0


QueueMachine.TestCase.settings = examples(60, stateful_step_count=40)
test_the_queue_loses_nothing_repeats_nothing_and_empties = QueueMachine.TestCase
