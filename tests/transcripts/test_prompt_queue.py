"""Prompts typed in mid-turn that only the queue shows: each is heard once, in its turn."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.transcripts.rules.assembler import REST_SECONDS, Follower
from memoryd.transcripts.rules.turns import Turn, TurnEvent
from tests.support.session_script import SessionScript


class QueueScript(SessionScript):
    def queue(self, operation: str, content: Any = None, **keys: Any) -> None:
        line = {"operation": operation, "uuid": None} | keys
        leaf = self.leaf
        self.put("queue-operation", **(line | ({"content": content} if content else {})))
        self.leaf = leaf

    def work(self) -> None:
        self.result(self.call("Bash", {"command": "make"}), "ok")


def heard(events: list[TurnEvent]) -> list[list[str]]:
    return [[p.text for p in one.prompts] for one in events if isinstance(one, Turn)]


def all_of(script: SessionScript) -> list[list[str]]:
    follower = Follower()
    return heard(follower.feed(script.data) + follower.finish())


@pytest.fixture
def script() -> QueueScript:
    made = QueueScript()
    made.prompt("first")
    made.work()
    return made


def test_what_only_the_queue_shows_belongs_to_the_running_turn(script: QueueScript) -> None:
    script.queue("enqueue", "also the docs")
    script.queue("remove")
    script.work()
    script.answer("done", stop_reason=None)
    script.turn("second", "ok")
    assert all_of(script) == [["first", "also the docs"], ["second"]]


def test_it_stands_where_it_was_said(script: QueueScript) -> None:
    script.queue("enqueue", "also the docs")
    script.answer("done", stop_reason=None)
    script.prompt("second")
    follower = Follower()
    (turn,) = follower.feed(script.data)
    assert isinstance(turn, Turn)
    assert [part.kind for part in turn.parts][-2:] == ["prompt", "assistant"]
    assert turn.ending == "answered"


@pytest.mark.parametrize("operation", ["dequeue", "remove"])
def test_a_queued_prompt_that_becomes_a_turn_is_heard_once(
    script: QueueScript, operation: str
) -> None:
    script.queue("enqueue", "second")
    script.answer("done")
    script.queue(operation)
    script.turn("second", "ok")
    assert all_of(script) == [["first"], ["second"]]


def test_queued_prompts_that_are_joined_into_one_are_heard_once(script: QueueScript) -> None:
    script.queue("enqueue", "second")
    script.queue("enqueue", "third")
    script.answer("done")
    script.turn("second\nthird", "ok")
    assert all_of(script) == [["first"], ["second\nthird"]]


def test_queued_prompts_that_follow_one_by_one_are_heard_once(script: QueueScript) -> None:
    script.queue("enqueue", "second")
    script.queue("enqueue", "third")
    script.answer("done")
    script.turn("second", "ok")
    script.turn("third", "ok")
    assert all_of(script) == [["first"], ["second"], ["third"]]


@pytest.mark.parametrize("attachment_first", [True, False])
def test_a_prompt_that_an_attachment_repeats_is_heard_once(
    script: QueueScript, attachment_first: bool
) -> None:
    script.queue("enqueue", "be brief")
    if attachment_first:
        script.attach("queued_command", prompt="be brief", commandMode="prompt")
    script.queue("remove", "be brief", reason="absorbed_mid_turn")
    if not attachment_first:
        script.attach("queued_command", prompt="be brief", commandMode="prompt")
    script.answer("done")
    assert all_of(script) == [["first", "be brief"]]


def test_an_absorbed_prompt_is_in_the_turn_that_silence_hands_out(script: QueueScript) -> None:
    script.queue("enqueue", "be brief")
    script.queue("remove", "be brief", reason="absorbed_mid_turn")
    script.answer("done")
    follower = Follower()
    assert heard(follower.feed(script.data) + follower.settle()) == [["first", "be brief"]]


def test_what_went_back_into_the_input_field_was_not_said(script: QueueScript) -> None:
    script.queue("enqueue", "wrong window")
    script.queue("enqueue", "wait")
    script.queue("popAll", "wrong window\nwait")
    script.queue("enqueue", "oops")
    script.queue("popAll")
    script.answer("done")
    assert all_of(script) == [["first"]]


@pytest.mark.parametrize(
    "content",
    [
        "<task-notification>\nalways x\n</task-notification>",
        '<teammate-message teammate_id="a">always x</teammate-message>',
        "/compact keep the rules",
        "Implement the following plan:\n\nalways x",
        "   ",
        7,
    ],
)
def test_what_a_machine_queued_is_nobodys_words(script: QueueScript, content: Any) -> None:
    script.queue("enqueue", content)
    script.answer("done")
    assert all_of(script) == [["first"]]


def test_a_prompt_queued_while_nothing_runs_waits_for_its_turn() -> None:
    script = QueueScript()
    script.queue("enqueue", "first")
    script.queue("dequeue")
    script.turn("another session's copy", "ok")
    script.turn("first", "ok")
    assert all_of(script) == [["another session's copy"], ["first"]]


def test_what_is_left_in_the_queue_of_a_file_at_rest_is_a_turn_of_its_own(
    script: QueueScript,
) -> None:
    script.queue("enqueue", "and mind the gap")
    script.answer("done")
    follower = Follower()
    (first,) = follower.feed(script.data) + follower.settle()
    assert isinstance(first, Turn)
    assert heard([first]) == [["first"]]
    (late,) = follower.rest(REST_SECONDS)
    assert isinstance(late, Turn)
    assert heard([late]) == [["and mind the gap"]]
    assert (late.session_id, late.cwd) == (script.session_id, script.cwd)
    assert late.continues == first.id
    assert follower.rest_seconds == 0.0


def test_a_secret_in_the_queue_is_masked_in_what_is_stored(script: QueueScript) -> None:
    token = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    script.queue("enqueue", f"the token is {token}")
    follower = Follower()
    follower.feed(script.data)
    assert token.encode() not in follower.snapshot()
    assert token not in str(heard(follower.finish()))


steps = st.lists(
    st.sampled_from(["a", "b", "c"]).flatmap(
        lambda text: st.sampled_from(
            [
                ("enqueue", text),
                ("remove", text),
                ("prompt", text),
                ("attach", text),
                ("popAll", ""),
            ]
        )
    ),
    max_size=15,
)


@given(steps, st.integers(0, 30))
def test_a_restart_anywhere_hears_the_same(given_steps: list[tuple[str, str]], cut: int) -> None:
    script = QueueScript()
    script.prompt("first")
    for step, text in given_steps:
        match step:
            case "prompt":
                script.turn(text, "ok")
            case "attach":
                script.attach("queued_command", prompt=text, commandMode="prompt")
            case _:
                script.queue(step, text, reason="absorbed_mid_turn")
    head = b"".join(line + b"\n" for line in script.lines[:cut])
    follower = Follower()
    events = follower.feed(head)
    follower = Follower.restore(follower.snapshot())
    events += follower.feed(script.data[len(head) :]) + follower.finish()
    assert heard(events) == all_of(script)
