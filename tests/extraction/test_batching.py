"""The queue's decisions: an example of each rule, and a state machine with random events."""

from collections.abc import Sequence
from typing import Any

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from memoryd.extraction.rules.batching import (
    CRASHES_TO_PARK,
    FAILURES_TO_PARK,
    HELD_SECONDS,
    LONGEST_TALK_SECONDS,
    MOST_UNFINISHED,
    Batch,
    Limits,
    Pause,
    QueueState,
    after_failure,
    after_limit,
    decide,
    due_count,
    most_turns,
    must_be_parked,
)
from memoryd.transcripts.rules.turns import WaitingTurn
from tests.support.examples import examples

NOW = 1_000_000.0
STATE = QueueState(NOW, began=NOW)
LIMITS = Limits()


def turn(
    name: str,
    project: str = "/p",
    session: str = "s",
    *,
    complete: bool = True,
    heard: float = 0.0,
    unfinished: int = 0,
) -> WaitingTurn:
    return WaitingTurn(
        name, project, session, complete, unfinished=unfinished, heard_at=heard and NOW + heard
    )


def started(
    waiting: Sequence[WaitingTurn], state: QueueState = STATE, limits: Limits = LIMITS
) -> list[tuple[str, ...]]:
    return [batch.turn_ids for batch in decide(waiting, state, limits).batches]


def test_all_waiting_turns_of_a_session_are_one_run() -> None:
    assert started([turn("1"), turn("2"), turn("3")]) == [("1", "2", "3")]


def following(waiting: Sequence[WaitingTurn], limits: Limits = LIMITS) -> list[tuple[str, ...]]:
    return [batch.turn_ids for batch in decide(waiting, STATE, limits).following.get("/p", ())]


def test_the_batches_of_other_sessions_follow_in_order() -> None:
    waiting = [turn("1"), turn("2", session="b"), turn("3", session="c"), turn("4", session="b")]
    assert started(waiting) == [("1",)]
    assert following(waiting) == [("2", "4"), ("3",)]


def test_nothing_follows_a_turn_that_was_tried_before() -> None:
    tried = msgspec.structs.replace(turn("2", session="b"), deaths=1)
    assert following([turn("1"), tried, turn("3", session="c")]) == []
    again = msgspec.structs.replace(turn("1"), failures=1)
    assert following([again, turn("2", session="b")]) == []


def test_nothing_follows_where_several_turns_must_wait_together() -> None:
    waiting = [turn("1"), turn("2"), turn("3", session="b"), turn("4", session="b")]
    assert following(waiting, Limits(every_turns=2)) == []


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
    assert due_count(waiting, STATE, limits) == 0
    waiting.append(turn("3"))
    assert started(waiting, limits=limits) == [("1", "2", "3")]
    assert due_count(waiting, STATE, limits) == 3


def test_a_failed_turn_is_retried_despite_the_throttle() -> None:
    failed = msgspec.structs.replace(turn("1"), failures=1)
    assert started([failed], limits=Limits(every_turns=5)) == [("1",)]


def test_a_turn_cut_short_waits_for_the_next_complete_one_of_its_session() -> None:
    cut = turn("1", complete=False)
    assert started([cut]) == []
    assert due_count([cut], STATE, LIMITS) == 0
    assert started([cut, turn("2", session="other")]) == [("2",)]
    assert started([cut, turn("2"), turn("3", complete=False)]) == [("1", "2")]


def test_a_turn_cut_short_is_not_held_for_ever() -> None:
    cut = msgspec.structs.replace(turn("1", complete=False), heard_at=NOW - HELD_SECONDS)
    assert started([cut]) == [("1",)]
    assert started([msgspec.structs.replace(cut, heard_at=NOW - HELD_SECONDS + 1)]) == []


def test_an_imported_turn_that_was_cut_short_waits_for_no_other() -> None:
    imported = [
        msgspec.structs.replace(one, imported=True)
        for one in (turn("1", complete=False), turn("2", session="t", complete=False))
    ]
    assert started(imported) == [("1",)]
    assert due_count(imported, STATE, LIMITS) == 2


# --- until the talk pauses --------------------------------------------------------------------

TALK = Limits(quiet_seconds=45)


def at(seconds: float, **state: Any) -> QueueState:
    return QueueState(NOW + seconds, began=NOW, **state)


def test_a_session_waits_until_nothing_was_said_for_a_while() -> None:
    said = [turn("1", heard=1)]
    assert started(said, at(2), TALK) == []
    assert decide(said, at(2), TALK).wake_at == NOW + 46
    assert due_count(said, at(2), TALK) == 0
    corrected = [*said, turn("2", heard=31)]
    assert started(corrected, at(46), TALK) == [], "what came meanwhile starts the wait again"
    assert started(corrected, at(76), TALK) == [("1", "2")]
    assert due_count(corrected, at(76), TALK) == 2


def test_without_a_quiet_time_nothing_waits() -> None:
    assert started([turn("1", heard=1)], at(1), LIMITS) == [("1",)]


def test_an_open_turn_keeps_the_session_waiting_until_it_ends() -> None:
    said = [turn("1", heard=1)]
    talking = at(100, open_sessions=frozenset({"s"}))
    assert started(said, talking, TALK) == []
    assert decide(said, talking, TALK).wake_at == NOW + 1 + LONGEST_TALK_SECONDS
    assert started(said, at(100, open_sessions=frozenset({"other"})), TALK) == [("1",)]


def test_a_session_that_never_pauses_is_extracted_all_the_same() -> None:
    talk = [turn(str(number), heard=1 + 30 * number) for number in range(29)]
    talking = frozenset({"s"})
    assert started(talk, at(899, open_sessions=talking), TALK) == []
    (batch,) = started(talk, at(901, open_sessions=talking), TALK)
    assert len(batch) == 29


def test_a_full_batch_does_not_wait() -> None:
    talk = [turn(str(number), heard=1) for number in range(TALK.batch_turns)]
    assert started(talk[1:], at(2), TALK) == []
    assert started(talk, at(2), TALK) == [tuple(str(number) for number in range(30))]


def test_a_compaction_or_an_end_closes_what_was_heard_before_it() -> None:
    said = [turn("1", heard=1)]
    assert started(said, at(3, closed_at={"s": NOW + 2}), TALK) == [("1",)]
    assert started(said, at(3, closed_at={"other": NOW + 2}), TALK) == []
    later = [turn("2", heard=10)]
    assert started(later, at(11, closed_at={"s": NOW + 2}), TALK) == []


def test_a_session_that_talks_does_not_keep_another_of_its_project_waiting() -> None:
    waiting = [turn("1", session="s", heard=1), turn("2", session="t", heard=2)]
    state = at(60, open_sessions=frozenset({"s"}))
    assert started(waiting, state, TALK) == [("2",)]


def test_imported_turns_and_the_rest_of_a_run_do_not_wait() -> None:
    assert started([turn("1")], at(1), TALK) == [("1",)]
    waiting = [turn("1", heard=1, unfinished=1), turn("2", heard=50)]
    assert started(waiting, at(51), TALK) == [("1",)]


def test_a_clock_set_back_ends_the_wait() -> None:
    assert started([turn("1", heard=1)], at(-86_400), TALK) == [("1",)]


# --- runs that end at a limit -----------------------------------------------------------------


def left_by(batch: Batch, *, has_saved: bool) -> tuple[list[int], tuple[str, ...]]:
    remainder = after_limit(batch, has_saved=has_saved)
    return sorted(remainder.unfinished.values()), remainder.parked


def batch_of(count: int, unfinished: int = 0) -> Batch:
    return Batch("/p", "s", tuple(turn(str(n), unfinished=unfinished) for n in range(count)))


def test_what_a_run_left_is_taken_again_first_together_then_in_smaller_batches() -> None:
    assert left_by(batch_of(2), has_saved=True) == ([1, 1], ())
    assert left_by(batch_of(2), has_saved=False) == ([2, 2], ()), "the same again is pointless"
    sizes = [most_turns(batch_of(30, unfinished), LIMITS) for unfinished in range(5)]
    assert sizes == [30, 30, 7, 1, 1]
    assert most_turns(batch_of(4, 2), LIMITS) == 2


def test_newer_turns_do_not_join_what_a_run_left() -> None:
    waiting = [turn("1", unfinished=1), turn("2", unfinished=1), turn("3")]
    assert started(waiting) == [("1", "2")]
    assert started(waiting[2:]) == [("3",)]


def test_a_turn_alone_that_saves_nothing_twice_is_parked() -> None:
    assert left_by(batch_of(1), has_saved=False) == ([2], ())
    assert left_by(batch_of(1, 2), has_saved=False) == ([3], ("0",))
    assert left_by(batch_of(2, 2), has_saved=False) == ([3, 3], ())


def test_a_model_that_always_saves_something_more_is_not_paid_forever() -> None:
    runs = unfinished = 0
    parked: tuple[str, ...] = ()
    while not parked:
        runs += 1
        (unfinished,), parked = left_by(batch_of(1, unfinished), has_saved=True)
    assert runs == MOST_UNFINISHED


# --- failures and crashes ---------------------------------------------------------------------


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
        self.limits = Limits(every_turns=2, parallel=2, batch_turns=5, quiet_seconds=45)
        self.open_sessions: frozenset[str] = frozenset()
        self.closed_at: dict[str, float] = {}
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
        self.table[name] = WaitingTurn(name, project, session, complete, heard_at=self.now)
        if is_poison:
            self.poison.add(name)

    def state(self) -> QueueState:
        return QueueState(
            self.now,
            self.began,
            frozenset(self.running),
            dict(self.project_pauses),
            self.pause,
            self.open_sessions,
            dict(self.closed_at),
        )

    @rule(sessions=st.frozensets(st.sampled_from(SESSIONS)))
    def turns_begin_and_end(self, sessions: frozenset[str]) -> None:
        self.open_sessions = sessions

    @rule(session=st.sampled_from(SESSIONS))
    def a_session_is_compacted(self, session: str) -> None:
        self.closed_at[session] = self.now

    @rule()
    def the_worker_looks(self) -> None:
        decision = decide(self.waiting(), self.state(), self.limits)
        for batch in decision.batches:
            assert batch.project not in self.running
            assert batch.turns
            assert {one.session_id for one in batch.turns} == {batch.session_id}
            assert [int(name) for name in batch.turn_ids] == sorted(map(int, batch.turn_ids))
            assert not {*batch.turn_ids} & (self.done | self.parked)
            self.running[batch.project] = batch
        assert len(self.running) <= self.limits.parallel
        if not self.running and due_count(self.waiting(), self.state(), self.limits):
            assert decision.wake_at is not None
            assert decision.wake_at > self.now

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def a_run_ends(self, data: st.DataObject) -> None:
        batch = self.running.pop(data.draw(st.sampled_from(sorted(self.running))))
        outcome = data.draw(st.sampled_from(["good", "good", "down", "paused", "limit"]))
        batch = Batch(batch.project, batch.session_id, batch.turns[: self.most(batch)])
        if outcome == "limit":
            self._leave(batch, has_saved=data.draw(st.booleans()))
        elif outcome == "paused":
            self.pause = Pause("day-cap", self.now, self.now + 600)
        elif outcome == "down" or self.poison & {*batch.turn_ids}:
            self._fail(batch)
        else:
            self.done.update(batch.turn_ids)
            for name in batch.turn_ids:
                del self.table[name]

    def most(self, batch: Batch) -> int:
        return most_turns(batch, self.limits)

    def _leave(self, batch: Batch, *, has_saved: bool) -> None:
        left = after_limit(batch, has_saved=has_saved)
        for name, unfinished in left.unfinished.items():
            self.table[name] = msgspec.structs.replace(self.table[name], unfinished=unfinished)
        for name in left.parked:
            self.parked.add(name)
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
        self.open_sessions = frozenset()
        for _ in range(20 * (self.count + 1)):
            self.the_worker_looks()
            for project in list(self.running):
                batch = self.running.pop(project)
                batch = Batch(project, batch.session_id, batch.turns[: self.most(batch)])
                if self.poison & {*batch.turn_ids}:
                    self._fail(batch)
                    continue
                self.done.update(batch.turn_ids)
                for name in batch.turn_ids:
                    del self.table[name]
            self.now += 60.0
        assert due_count(self.waiting(), self.state(), self.limits) == 0


QueueMachine.TestCase.settings = examples(60, stateful_step_count=40)
test_the_queue_loses_nothing_repeats_nothing_and_empties = QueueMachine.TestCase
