"""A person's wish for privacy inside a turn: what stays of it, and who has not asked for it."""

import pytest

from memoryd.extraction.rules.messages import skip_reason
from memoryd.text.private import PRIVATE
from memoryd.transcripts.rules.assembler import Follower
from memoryd.transcripts.rules.turns import Turn
from memoryd.transcripts.rules.withheld import asks_not_to_remember
from tests.support.session_script import SessionScript

SECRET = "the heron merger"


def turns_of(script: SessionScript) -> list[Turn]:
    """The turns of a whole transcript; no snapshot on the way holds what they may not hold."""
    follower, events = Follower(), []
    for line in script.data.splitlines(keepends=True):
        events += follower.feed(line)
        assert b"heron" not in follower.snapshot()
    return [one for one in [*events, *follower.finish()] if isinstance(one, Turn)]


def test_of_a_prompt_with_a_private_part_only_the_public_words_are_kept() -> None:
    script = SessionScript()
    script.prompt(f"Always use tabs. <private>It is for {SECRET}.</private> Thanks!")
    call = script.call("Bash", {"command": f"grep '{SECRET}' notes.txt"})
    script.result(call, f"notes.txt: {SECRET}")
    script.answer(f"Done. Good luck with {SECRET}!")
    (turn,) = turns_of(script)
    assert [part.text for part in turn.prompts] == [f"Always use tabs. {PRIVATE} Thanks!"]
    assert {part.text for part in turn.parts if part.kind != "prompt"} == {PRIVATE}
    assert "heron" not in repr(turn)
    assert skip_reason(turn, counts_scripts=False) == ""


def test_a_tag_that_is_split_over_blocks_or_cut_away_hides_all_the_same() -> None:
    script = SessionScript()
    blocks = [f"Look: <private>{SECRET}", "and more</private> please"]
    script.prompt([{"type": "text", "text": text} for text in blocks])
    script.answer("Yes.")
    script.prompt(f"<private>{'x' * 100_000} {SECRET}")
    script.answer("Yes.")
    first, second = turns_of(script)
    assert first.prompts[0].text == f"Look: {PRIVATE} please"
    assert second.prompts[0].text == PRIVATE
    assert skip_reason(second, counts_scripts=False) == "private"


def test_what_is_queued_answered_or_refused_is_read_in_the_same_way() -> None:
    script = SessionScript()
    script.prompt("Go on.")
    script.attach("queued_command", prompt=f"<private>{SECRET}</private>", commandMode="prompt")
    question = {"questions": [{"question": "Which?", "options": [{"label": "A"}]}]}
    call = script.call("AskUserQuestion", question)
    script.result(
        call,
        f'User has answered your questions: "Which?"="<private>{SECRET}</private>".',
        toolUseResult={"answers": {"Which?": f"<private>{SECRET}</private>"}},
    )
    script.answer("Yes.")
    (turn,) = turns_of(script)
    assert "heron" not in repr(turn)
    assert [part.text for part in turn.spoken] == ["Go on.", PRIVATE]
    assert {part.text for part in turn.parts} == {"Go on.", PRIVATE}


def test_a_turn_that_shall_not_be_remembered_leaves_nothing() -> None:
    script = SessionScript()
    script.prompt("Always deploy on Mondays.")
    call = script.call("Write", {"file_path": "/home/dev/plan.md", "content": "Monday"})
    script.result(call, "ok")
    script.attach("queued_command", prompt="Don't remember this.", commandMode="prompt")
    script.answer("Understood, Mondays.")
    (turn,) = turns_of(script)
    assert {part.text for part in turn.parts} == {PRIVATE}
    assert turn.files_written == ()
    assert skip_reason(turn, counts_scripts=False) == "private"


def test_what_follows_after_a_turn_was_handed_out_is_withheld_with_it() -> None:
    script = SessionScript()
    script.prompt(f"Don't remember this: {SECRET}.")
    script.answer("Fine.")
    follower = Follower()
    first = [*follower.feed(script.data), *follower.settle()]
    done = len(script.data)
    script.answer(f"One more thing about {SECRET}.")
    later = Follower.restore(follower.snapshot())
    rest = [*later.feed(script.data[done:]), *later.finish()]
    assert "heron" not in repr([*first, *rest])
    assert len(rest) == 1


@pytest.mark.parametrize(
    "prompt",
    [
        "Don't remember this: the key is under the mat.",
        "please do not remember any of this",
        "We sell in March, but don't save that to memory.",
        "Off the record: we sell in March.",
        "Keep this out of your memory please",
        "do not memorize what I said here",
        "Merk dir das nicht: wir verkaufen im März.",
        "Bitte nicht merken, aber: das hier bitte nicht speichern.",
        "No recuerdes esto: vendemos en marzo.",
        "Ne retiens pas ça, on vend en mars.",
        "Non ricordare questo: vendiamo a marzo.",
        "Não guarde isso, vendemos em março.",
        "Onthoud dit niet: we verkopen in maart.",
        "Nie zapamiętuj tego: sprzedajemy w marcu.",
        "Не запоминай это: продаём в марте.",
        "これは覚えないで。三月に売ります。",
        "不要记住这个：我们三月卖。",
    ],
)
def test_a_person_can_ask_that_a_turn_is_not_kept(prompt: str) -> None:
    assert asks_not_to_remember(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "I don't remember this function.",
        "Why don't you remember this?",
        "The form does not remember this value; fix it.",
        "don't save this file yet",
        "Do not store this in the database, but in the cache.",
        "don't remember this setting between runs of the app",
        "never forget to remember this",
        "Das Formular merkt sich das nicht.",
        "Remember this: we deploy on Mondays.",
        "the off-the-record flag should be a checkbox",
    ],
)
def test_talk_about_a_program_is_no_such_wish(prompt: str) -> None:
    assert not asks_not_to_remember(prompt)
