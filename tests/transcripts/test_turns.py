"""Entries to turns: when a turn ends, what belongs to it, and which branch is live."""

import json
import random
from typing import Any

import msgspec
import pytest

from memoryd.transcripts.rules.assembler import LONG_REST_SECONDS, REST_SECONDS, Follower
from memoryd.transcripts.rules.entries import OWN_ENTRYPOINT, OWN_RUN_MARKER
from memoryd.transcripts.rules.tree import LINES_REMEMBERED
from memoryd.transcripts.rules.turns import (
    PARTS_MAX,
    TURN_CHARS_MAX,
    Abandoned,
    Turn,
    TurnEvent,
)
from tests.support.secret_samples import ALNUM, Draw
from tests.support.session_script import SessionScript

TASK_DONE: dict[str, Any] = {"promptSource": "system", "origin": {"kind": "task-notification"}}
CUT_OFF = "Your response above was cut off mid-stream."


class Tail:
    """Feeds a script's new lines to a follower, as a tail would."""

    def __init__(self, script: SessionScript) -> None:
        self.script = script
        self.follower = Follower()

    def read(self) -> list[TurnEvent]:
        return self.follower.feed(self.script.data[self.follower.next_offset :])

    def settle(self) -> list[TurnEvent]:
        return self.read() + self.follower.settle()

    def finish(self) -> list[TurnEvent]:
        return self.read() + self.follower.finish()


def turns_of(script: SessionScript) -> list[Turn]:
    return [event for event in Tail(script).finish() if isinstance(event, Turn)]


def outline(events: list[TurnEvent]) -> list[tuple[str, ...]]:
    return [
        (event.ending, *(part.text for part in event.parts))
        for event in events
        if isinstance(event, Turn)
    ]


@pytest.fixture
def script() -> SessionScript:
    return SessionScript()


@pytest.fixture
def tail(script: SessionScript) -> Tail:
    return Tail(script)


# Endings


def test_silence_hands_out_a_finished_turn(script: SessionScript, tail: Tail) -> None:
    script.turn("ask", "reply")
    assert tail.read() == []
    assert tail.follower.awaits_settling
    assert outline(tail.follower.settle()) == [("answered", "ask", "reply")]
    assert tail.follower.settle() == []


def test_lines_without_any_mark_of_the_client_make_turns_too(script: SessionScript) -> None:
    for number in range(2):
        script.put("user", message={"role": "user", "content": f"ask {number}"})
        script.answer(f"reply {number}")
    assert outline(Tail(script).settle()) == [
        ("answered", "ask 0", "reply 0"),
        ("answered", "ask 1", "reply 1"),
    ]


def test_silence_does_not_hand_out_a_running_turn(script: SessionScript, tail: Tail) -> None:
    script.prompt("ask")
    script.call("Bash", {"command": "sleep 600"})
    assert tail.settle() == []
    assert not tail.follower.awaits_settling


@pytest.mark.parametrize("confirmed_by", ["prompt", "turn_duration", "compact_boundary"])
def test_an_ending_is_confirmed_by_a_line_that_can_only_follow_it(
    script: SessionScript, tail: Tail, confirmed_by: str
) -> None:
    script.turn("ask", "reply")
    script.attach("prompt_snapshot")
    script.system("stop_hook_summary")
    assert tail.read() == []
    if confirmed_by == "prompt":
        script.prompt("next")
    else:
        script.system(confirmed_by)
    assert outline(tail.read()) == [("answered", "ask", "reply")]


def test_a_cut_stream_does_not_end_a_turn(script: SessionScript, tail: Tail) -> None:
    script.turn("ask", "half of")
    script.meta(CUT_OFF)
    assert tail.settle() == []
    script.answer("the reply")
    assert outline(tail.settle()) == [("answered", "ask", "half of", "the reply")]


def test_a_stop_hook_that_makes_the_model_continue_extends_the_turn(script: SessionScript) -> None:
    script.turn("ask", "reply")
    script.system("stop_hook_summary")
    script.meta("Stop hook feedback: run the tests first")
    script.answer("tests are green")
    script.prompt("next")
    assert outline(Tail(script).read()) == [("answered", "ask", "reply", "tests are green")]


def test_a_turn_that_continued_and_was_cut_is_not_complete(script: SessionScript) -> None:
    script.turn("ask", "half of")
    script.meta(CUT_OFF)
    script.prompt("next")
    assert outline(Tail(script).read()) == [("unanswered", "ask", "half of")]


def test_without_a_stop_reason_words_before_the_next_prompt_are_the_answer(
    script: SessionScript,
) -> None:
    script.prompt("ask")
    script.answer("the reply", stop_reason=None)
    script.prompt("next")
    script.call("Read", {"file_path": "/a"}, message={"stop_reason": None})
    script.prompt("another")
    assert [ending for ending, *_ in outline(Tail(script).read())] == ["answered", "unanswered"]


def test_a_file_at_rest_has_answered_although_no_stop_reason_was_written(
    script: SessionScript, tail: Tail
) -> None:
    script.prompt("ask")
    script.answer("the reply", stop_reason=None)
    assert tail.settle() == []
    assert tail.follower.rest(REST_SECONDS - 1) == []
    assert tail.follower.rest_seconds == REST_SECONDS
    assert outline(tail.follower.rest(REST_SECONDS)) == [("answered", "ask", "the reply")]
    assert tail.follower.rest_seconds == 0.0
    assert tail.follower.rest(LONG_REST_SECONDS) == []


def test_rest_is_not_taken_for_the_end_of_a_running_tool(script: SessionScript, tail: Tail) -> None:
    script.prompt("ask")
    script.answer("Let me look.", stop_reason=None)
    call_id = script.call("Bash", {"command": "sleep 9000"}, message={"stop_reason": None})
    tail.read()
    assert tail.follower.rest(LONG_REST_SECONDS - 1) == []
    script.result(call_id, "slept")
    assert tail.read() + tail.follower.rest(REST_SECONDS) == []
    script.answer("Done.", stop_reason=None)
    tail.read()
    [turn] = tail.follower.rest(REST_SECONDS)
    assert isinstance(turn, Turn)
    assert (turn.ending, turn.final) == ("answered", "Done.")


def test_a_turn_that_nobody_works_on_any_more_is_handed_out_as_it_is(
    script: SessionScript, tail: Tail
) -> None:
    script.prompt("ask")
    script.call("Bash", {"command": "make"})
    tail.read()
    [turn] = tail.follower.rest(LONG_REST_SECONDS)
    assert isinstance(turn, Turn)
    assert turn.ending == "unanswered"
    script.answer("It was slow.")
    [late] = tail.settle()
    assert isinstance(late, Turn)
    assert late.continues == turn.id


def test_what_follows_a_settled_turn_is_a_turn_of_its_own_that_names_it(
    script: SessionScript, tail: Tail
) -> None:
    turn_id = script.turn("ask", "half of")
    [first] = tail.settle()
    script.meta(CUT_OFF)
    call_id = script.call("Read", {"file_path": "/a"})
    script.result(call_id, "text of a")
    script.answer("the reply")
    [second] = tail.settle()
    assert outline([first]) == [("answered", "ask", "half of")]
    assert isinstance(second, Turn)
    assert outline([second]) == [("answered", '{"file_path":"/a"}', "text of a", "the reply")]
    assert second.continues == turn_id
    assert second.id != turn_id
    assert not second.is_from_person


def test_a_continuation_can_be_cut_again(script: SessionScript, tail: Tail) -> None:
    script.turn("ask", "a third of")
    tail.settle()
    script.meta(CUT_OFF)
    script.answer("half of")
    script.meta(CUT_OFF)
    assert tail.settle() == []
    script.answer("the reply")
    assert outline(tail.settle()) == [("answered", "half of", "the reply")]


def test_meta_text_of_another_prompt_leaves_the_ending_alone(
    script: SessionScript, tail: Tail
) -> None:
    script.turn("ask", "reply")
    script.meta("text for the next prompt", promptId="another")
    script.meta("text of nobody", promptId=None)
    script.meta("<system-reminder>The session has a name now.</system-reminder>")
    assert outline(tail.settle()) == [("answered", "ask", "reply")]


def test_meta_text_without_prompt_ids_leaves_the_ending_alone(
    script: SessionScript, tail: Tail
) -> None:
    script.put("user", message={"content": "ask"})
    script.answer("reply")
    script.put("user", message={"content": "harness text"}, isMeta=True)
    assert outline(tail.settle()) == [("answered", "ask", "reply")]


@pytest.mark.parametrize(
    ("stop_reason", "ending"),
    [
        ("stop_sequence", "stop_sequence"),
        ("max_tokens", "max_tokens"),
        ("refusal", "refusal"),
    ],
)
def test_an_answer_that_was_stopped_ends_an_incomplete_turn(
    script: SessionScript, stop_reason: str, ending: str
) -> None:
    script.prompt("ask")
    script.answer("part of", stop_reason)
    [turn] = Tail(script).settle()
    assert isinstance(turn, Turn)
    assert (turn.ending, turn.complete, turn.final) == (ending, False, None)


@pytest.mark.parametrize("stop_reason", [None, "pause_turn", "tool_use", "of a later client"])
def test_any_other_stop_reason_leaves_the_turn_open(
    script: SessionScript, stop_reason: str | None
) -> None:
    script.prompt("ask")
    script.answer("part of", stop_reason)
    assert Tail(script).settle() == []


def test_end_turn_in_a_message_that_asks_for_a_tool_is_not_an_end(script: SessionScript) -> None:
    script.prompt("ask")
    call = {"type": "tool_use", "id": "t", "name": "Read", "input": {}}
    script.assistant([call], "end_turn", message={"id": "m"})
    script.answer("text beside the call", message={"id": "m"})
    assert Tail(script).settle() == []


def test_an_interrupt_ends_the_turn_and_keeps_what_was_said(script: SessionScript) -> None:
    script.prompt("ask")
    script.answer("Once upon", None)
    script.user([{"type": "text", "text": "[Request interrupted by user]"}])
    [turn] = Tail(script).settle()
    assert outline([turn]) == [("interrupted", "ask", "Once upon", "[Request interrupted by user]")]


def test_an_error_of_the_api_ends_the_turn_unless_an_answer_follows(
    script: SessionScript, tail: Tail
) -> None:
    script.prompt("ask")
    script.system("api_error", error={"status": 529})
    assert tail.settle() == []
    script.answer("API Error: 529", isApiErrorMessage=True, message={"model": "<synthetic>"})
    assert tail.read() == []
    assert tail.follower.awaits_settling
    script.answer("reply after all")
    assert outline(tail.settle()) == [("answered", "ask", "API Error: 529", "reply after all")]


# What belongs to a turn


def test_blocks_of_one_message_with_a_result_between_count_once(
    script: SessionScript,
) -> None:
    script.prompt("ask")
    first = script.call("Agent", {"prompt": "one"}, message={"id": "m"})
    script.result(first, "launched one")
    second = script.call("Agent", {"prompt": "two"}, message={"id": "m"})
    script.result(second, "launched two")
    script.answer("both run")
    [turn] = turns_of(script)
    assert turn.output_tokens == 2 * 40
    assert [part.tool_use_id for part in turn.tool_outputs] == [first, second]


def test_a_prompt_queued_during_a_tool_belongs_to_the_running_turn(script: SessionScript) -> None:
    script.prompt("ask")
    call_id = script.call("Bash", {"command": "sleep 4"})
    script.attach("queued_command", prompt="be brief", humanTurn=True)
    script.result(call_id, "slept")
    script.attach("queued_command", prompt="<task-notification>", humanTurn=False)
    script.answer("brief")
    [turn] = turns_of(script)
    assert [(part.text, part.source) for part in turn.prompts] == [
        ("ask", "typed"),
        ("be brief", "queued"),
    ]
    assert [part.text for part in turn.parts if part.kind == "notice"] == ["<task-notification>"]


def test_a_queued_prompt_after_a_turn_was_handed_out_opens_one(
    script: SessionScript, tail: Tail
) -> None:
    script.turn("ask", "reply")
    tail.settle()
    script.attach("queued_command", prompt="one more thing", humanTurn=True)
    script.answer("done")
    [turn] = tail.settle()
    assert isinstance(turn, Turn)
    assert outline([turn]) == [("answered", "one more thing", "done")]
    assert not turn.continues


def test_a_notice_opens_a_turn_that_is_not_a_person_s(script: SessionScript) -> None:
    script.user("<task-notification>agent done", **TASK_DONE)
    script.answer("The helper is done.")
    [turn] = turns_of(script)
    assert turn.complete
    assert not turn.is_from_person
    assert turn.prompts == ()


def test_a_custom_command_is_a_prompt_and_its_body_is_not(script: SessionScript) -> None:
    text = "<command-message>review</command-message>\n<command-name>/review</command-name>"
    script.user(f"{text}\n<command-args>the parser</command-args>")
    script.meta("You are a reviewer. Read the diff.")
    script.answer("Looks fine.")
    assert outline(Tail(script).settle()) == [("answered", "/review the parser", "Looks fine.")]


def test_a_local_command_is_complete_with_its_output(script: SessionScript, tail: Tail) -> None:
    script.turn("ask", "reply")
    script.meta("<local-command-caveat>not a request")
    script.user("<command-name>/context</command-name>")
    script.user("<local-command-stdout>12k tokens</local-command-stdout>")
    assert outline(tail.settle()) == [
        ("answered", "ask", "reply"),
        ("local_command", "/context", "12k tokens"),
    ]


def test_output_of_a_command_never_joins_a_turn_that_was_answered(script: SessionScript) -> None:
    script.turn("ask", "reply")
    script.system("local_command", content="<command-name>/rename</command-name>")
    script.system("local_command", content="<local-command-stdout>renamed</local-command-stdout>")
    assert outline(Tail(script).settle()) == [("answered", "ask", "reply")]


def test_shell_input_waits_for_the_answer(script: SessionScript, tail: Tail) -> None:
    script.user("<bash-input> make test</bash-input>")
    script.user("<bash-stdout>ok</bash-stdout><bash-stderr>slow</bash-stderr>")
    assert tail.settle() == []
    script.answer("Green.")
    assert outline(tail.settle()) == [("answered", "! make test", "ok\nslow", "Green.")]


@pytest.mark.parametrize("keys", [{}, {"entrypoint": OWN_ENTRYPOINT}])
def test_our_own_runs_are_not_turns(script: SessionScript, keys: dict[str, Any]) -> None:
    script.turn("before", "one")
    script.prompt("extract" if keys else OWN_RUN_MARKER + " extract", **keys)
    call_id = script.call("Write", {"file_path": "/memory/x.md"}, **keys)
    script.result(call_id, "written", **keys)
    script.answer("saved", **keys)
    script.turn("after", "two")
    assert outline(Tail(script).settle()) == [
        ("answered", "before", "one"),
        ("answered", "after", "two"),
    ]


def test_side_chains_are_skipped(script: SessionScript) -> None:
    script.prompt("ask")
    leaf = script.leaf
    script.prompt("task for a helper", isSidechain=True)
    script.answer("done by the helper", isSidechain=True)
    script.leaf = leaf
    script.answer("reply")
    assert outline(Tail(script).settle()) == [("answered", "ask", "reply")]


def test_a_failed_write_wrote_nothing_and_one_without_a_result_did(script: SessionScript) -> None:
    script.prompt("ask")
    for path in ("/a", "/b", "/a"):
        script.result(script.call("Write", {"file_path": path}), "ok")
    script.result(script.call("Edit", {"file_path": "/denied"}), "no", is_error=True)
    script.call("NotebookEdit", {"notebook_path": "/c.ipynb"})
    script.answer("done")
    [turn] = turns_of(script)
    assert turn.files_written == ("/a", "/b", "/c.ipynb")
    assert turn.tool_call_count == 5


# The tree


def test_a_rewind_abandons_the_turns_after_its_parent(script: SessionScript, tail: Tail) -> None:
    script.turn("one", "1")
    back_to = script.leaf
    abandoned = [script.turn("two", "2"), script.turn("three", "3")]
    tail.settle()
    script.leaf = back_to
    script.turn("four", "4")
    events = tail.settle()
    assert [event.turn_id for event in events if isinstance(event, Abandoned)] == abandoned
    assert outline(events) == [("answered", "four", "4")]


def test_a_rewind_to_the_start_abandons_everything(script: SessionScript, tail: Tail) -> None:
    first = script.turn("one", "1")
    tail.settle()
    script.leaf = None
    script.turn("again", "2")
    assert Abandoned(first) in tail.settle()


def test_a_turn_that_is_rewound_before_it_was_handed_out_never_is(
    script: SessionScript, tail: Tail
) -> None:
    script.turn("one", "1")
    tail.settle()
    back_to = script.leaf
    script.turn("two", "2")
    script.leaf = back_to
    script.turn("three", "3")
    assert outline(tail.settle()) == [("answered", "three", "3")]


def test_a_second_rewind_does_not_abandon_a_turn_twice(script: SessionScript, tail: Tail) -> None:
    script.turn("one", "1")
    back_to = script.leaf
    gone = []
    for text in ("two", "three"):
        gone.append(Abandoned(script.turn(text, text)))
        tail.settle()
        script.leaf = back_to
    script.turn("four", "4")
    events = tail.settle()
    assert [event for event in events if isinstance(event, Abandoned)] == gone[-1:]


def test_a_continuation_is_abandoned_with_its_turn(script: SessionScript, tail: Tail) -> None:
    script.turn("one", "1")
    back_to = script.leaf
    turn_id = script.turn("two", "half of")
    tail.settle()
    script.meta(CUT_OFF)
    rest_id = script.answer("the rest")
    tail.settle()
    script.leaf = back_to
    script.turn("three", "3")
    events = tail.settle()
    assert [event for event in events if isinstance(event, Abandoned)] == [
        Abandoned(turn_id),
        Abandoned(rest_id),
    ]


@pytest.mark.parametrize("parent", ["a line that could not be read", 17])
def test_an_unknown_parent_abandons_nothing(
    script: SessionScript, tail: Tail, parent: object
) -> None:
    script.turn("one", "1")
    tail.settle()
    script.prompt("two", parentUuid=parent)
    script.answer("2")
    assert outline(tail.settle()) == [("answered", "two", "2")]


def test_parallel_results_hang_on_their_calls_and_abandon_nothing(
    script: SessionScript, tail: Tail
) -> None:
    script.prompt("ask")
    first = script.call("Bash", {"command": "a"}, message={"id": "m"})
    leaf = script.leaf
    second = script.call("Bash", {"command": "b"}, message={"id": "m"})
    script.result(first, "of a", parentUuid=leaf)
    script.result(second, "of b")
    script.answer("both ran")
    script.turn("next", "reply")
    events = tail.settle()
    assert len(events) == 2
    assert [part.text for part in turns_of(script)[0].tool_outputs] == ["of a", "of b"]


def test_a_thousand_repeated_lines_change_nothing(script: SessionScript, tail: Tail) -> None:
    for number in range(500):
        script.turn(f"ask {number}", f"reply {number}")
    assert len(tail.settle()) == 500
    for line in list(script.lines):
        script.raw(line)
    assert tail.settle() == []
    script.turn("new", "reply")
    assert outline(tail.settle()) == [("answered", "new", "reply")]


def test_an_answer_without_a_known_prompt_is_not_a_turn(script: SessionScript) -> None:
    script.prompt("ask")
    script.answer("reply")
    del script.lines[0]
    assert Tail(script).finish() == []


# State


def test_a_first_start_follows_only_what_comes_after(script: SessionScript) -> None:
    script.turn("old", "1")
    data = script.data
    script.turn("new", "2")
    whole = Follower.from_offset(len(data), after_newline=True)
    assert outline(whole.feed(script.data[len(data) :]) + whole.settle()) == [
        ("answered", "new", "2")
    ]
    torn = Follower.from_offset(len(data) - 10, after_newline=False)
    assert outline(torn.feed(script.data[len(data) - 10 :]) + torn.settle()) == [
        ("answered", "new", "2")
    ]
    assert torn.bad_lines == 0


def test_the_state_of_a_giant_turn_stays_small_and_its_ends_stay_whole(
    script: SessionScript,
) -> None:
    script.prompt("ask")
    for number in range(PARTS_MAX):
        call_id = script.call("Write", {"file_path": f"/{number % 7}", "content": "c" * 2000})
        script.result(call_id, "o" * (9000 if number % 10 == 0 else 900))
    script.answer("p" * 70_000, "tool_use")
    script.answer("done")
    tail = Tail(script)
    tail.read()
    assert len(tail.follower.snapshot()) < 2 * TURN_CHARS_MAX
    [turn] = tail.follower.settle()
    assert isinstance(turn, Turn)
    assert sum(len(part.text) for part in turn.parts) <= TURN_CHARS_MAX
    assert (turn.parts[0].text, turn.final) == ("ask", "done")
    assert turn.tool_call_count == PARTS_MAX
    assert len(turn.files_written) == 7
    assert turn.parts_dropped == 2 * PARTS_MAX + 3 - len(turn.parts)


def test_a_turn_of_prose_alone_is_bounded_too(script: SessionScript) -> None:
    script.prompt("ask")
    for number in range(2 * PARTS_MAX):
        script.answer(f"word {number}", None)
    script.answer("done")
    [turn] = turns_of(script)
    assert len(turn.parts) <= PARTS_MAX
    assert (turn.parts[0].text, turn.parts[1].text != "word 0", turn.final) == ("ask", True, "done")


def test_a_line_of_a_hundred_thousand_blocks_is_bounded(script: SessionScript) -> None:
    script.prompt("ask")
    script.assistant([{"type": "text", "text": "x"}] * 100_000, "end_turn")
    [turn] = turns_of(script)
    assert len(turn.parts) <= PARTS_MAX


def test_the_state_of_a_long_session_stays_small_and_still_knows_a_rewind() -> None:
    script = SessionScript(session_id="0f8fad5b-d9cb-469f-a165-70867728950e")
    tail = Tail(script)
    for number in range(LINES_REMEMBERED):
        script.turn(f"ask {number}", f"reply {number}")
    tail.settle()
    assert len(tail.follower.snapshot()) < 128 * 1024
    back_to = script.leaf
    gone = script.turn("last", "reply")
    tail.settle()
    script.leaf = back_to
    script.turn("instead", "reply")
    assert Abandoned(gone) in tail.settle()


def test_a_snapshot_of_another_kind_is_refused() -> None:
    for snapshot in (b"", b"\xff\xff", msgspec.msgpack.encode([1, 2]), json.dumps({}).encode()):
        with pytest.raises(msgspec.DecodeError):
            Follower.restore(snapshot)


def test_a_secret_is_masked_before_a_turn_or_a_snapshot_can_be_stored(
    script: SessionScript, tail: Tail
) -> None:
    secret = "ghp_" + Draw(random.Random(7)).of(ALNUM, 36)
    script.prompt(f"The token is {secret}")
    call = script.call("Bash", {"command": f"curl -H 'Authorization: token {secret}' x"})
    script.result(call, f"you sent {secret}")
    tail.read()
    assert secret.encode() not in tail.follower.snapshot()
    script.answer(f"I used {secret}.")
    (turn,) = tail.finish()
    assert isinstance(turn, Turn)
    assert secret not in repr(turn)
    assert turn.parts[0].text == "The token is [secret: github-token]"


def test_a_secret_told_in_a_prompt_is_in_no_turn(script: SessionScript) -> None:
    script.prompt("The password of the demo tablet is larkspur, remember it.")
    script.answer("Understood.")
    [turn] = turns_of(script)
    assert "larkspur" not in turn.prompts[0].text
    assert turn.prompts[0].text.startswith("The password of the demo tablet is [secret")
