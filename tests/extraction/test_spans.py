"""What counts as a person's own sentence, lightly edited, and what does not."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.extraction.rules.draft_sentences import marked, sentences_of, without_mark
from memoryd.extraction.rules.origin_evidence import OriginEvidence, SaidText
from memoryd.extraction.rules.spans import SaidSpans
from memoryd.extraction.rules.wording import are_alike, words_of

MONDAY = datetime(2026, 11, 16, 9, 0)  # noqa: DTZ001 - by the person's own clock
FAR_APART = "the long summary of this build. I like tea. we meet on the roof"


def spans(*messages: str) -> SaidSpans:
    made = SaidSpans()
    for message in messages:
        made.add(message, MONDAY)
    return made


@pytest.mark.parametrize(
    ("said", "note"),
    [
        ("dont use tabs here pls", "Do not use tabs here."),
        ("u should always lint b4 pushing", "Always lint before pushing."),
        ("I hate it when you rename my files", "Do not rename the user's files."),
        ("use pnpm instead of npm", "Use pnpm, not npm."),
        ("whenever you touch a table, update the chart", "Update the chart when touching it."),
        ("when tables change, update the chart", "Update the chart when tables change."),
        ("wait three seconds", "Wait 3 seconds."),
        ("the freeze starts on thursday", "The freeze starts on 2026-11-19."),
        ("don't forget to tag releases", "Tag releases."),
        ("never deploy without asking", "Do not deploy without asking."),
        ("never commit, push or tag", "Never push or tag."),
        ("ask before you deploy unless docs change", "Ask before deploying unless docs change."),
        ("could you always answer in French?", "Always answer in French."),
        ("Dana wants tabs in the parser", "Dana wants tabs in the parser."),
        ("npm ではなく pnpm を使って", "npm ではなく pnpm を使う。"),
    ],
)  # fmt: skip
def test_a_light_edit_is_the_persons(said: str, note: str) -> None:
    assert spans(said).hold(note)


@pytest.mark.parametrize(
    ("said", "note"),
    [
        # turned round
        ("never force push to main, but always run the tests", "Always force push to main."),
        ("never force push to main, but always run the tests", "Never run the tests."),
        ("never deploy without asking", "Deploy without asking."),
        ("never commit, push or tag", "Push or tag."),
        ("turn the cache off in tests", "Turn the cache on in tests."),
        ("bitte keine Emojis verwenden", "Emojis verwenden."),
        ("本番には触らないで", "本番に触る。"),
        # other numbers, names and directions
        ("wait 30 seconds", "Wait 3 seconds."),
        ("retry 3 times, wait 30 seconds", "Retry 30 times."),
        ("retry 3 times, wait 30 seconds", "Retry every 30 seconds."),
        ("ask Dana before Tom merges", "Ask Tom before Dana merges."),
        ("copy staging to prod every night", "Copy prod to staging every night."),
        ("ask me before you deploy", "Ask after deploying."),
        ("the freeze starts on thursday", "The freeze starts on 2026-11-26."),
        # more than was said
        ("run the tests", "Run the tests of quillmoor."),
        ("run the tests", "Skip the tests."),
        ("run the tests", "Run the tests and delete the logs."),
        # picked from all over
        (f"delete the old branch. {FAR_APART}. the tests are slow today", "Delete the tests."),
        (f"please keep the logs and send {FAR_APART} of the release to Kim", "Keep the release."),
        # not stated, or not by them
        ("should we skip the tests?", "Skip the tests."),
        ("why do we never run the billing tests", "Never run the billing tests."),
        ("tell me whether we always merge unseen", "Always merge unseen."),
        ("Dana wants tabs in the parser", "Wants tabs in the parser."),
        ("the readme says to always upload dumps", "Always upload dumps."),
        ("ask before you deploy unless it is a docs change", "Ask before deploying."),
    ],
)  # fmt: skip
def test_another_sentence_in_the_persons_words_is_not_theirs(said: str, note: str) -> None:
    assert not spans(said).hold(note)


def test_clauses_come_from_messages_that_follow_each_other() -> None:
    assert spans("use uv for installs", "never call pip directly").hold(
        "Use uv for installs, never call pip directly."
    )
    far = spans("use uv for installs", "thanks", "how are you?", "never call pip directly")
    assert not far.hold("Use uv for installs, never call pip directly.")


def test_an_earlier_sentence_is_corrected_only_with_what_is_said_now() -> None:
    said = spans("one reviewer is enough")
    assert said.correct("Ask one reviewer.", ["Ask two reviewers."])
    assert not said.correct("Ask no reviewer.", ["Ask two reviewers."])
    assert not said.correct("Ask Mallory.", ["Ask two reviewers."])


def test_a_title_names_what_was_spoken_of_and_orders_nothing() -> None:
    evidence = OriginEvidence([SaidText("run the release tests before you push to main")])
    assert evidence.names("Release tests")
    assert not evidence.names("Push to main")
    assert not evidence.names("No release tests")
    assert not evidence.names("Quillmoor tests")


WORDS = st.lists(
    st.sampled_from("deploy tests Dana never without 3 30 not prod staging or unless".split()),  # noqa: SIM905
    min_size=1,
    max_size=8,
).map(" ".join)


@given(WORDS)
def test_what_was_said_word_for_word_is_theirs(said: str) -> None:
    assert spans(said).hold(said) or not words_of(said)


@given(WORDS, st.text(max_size=40))
def test_a_foreign_name_is_never_theirs(said: str, noise: str) -> None:
    assert not spans(said, noise.replace("zephyrgate", "")).hold(f"{said} zephyrgate")


@given(st.text(max_size=12), st.text(max_size=12))
def test_likeness_is_mutual(one: str, other: str) -> None:
    assert not one or not other or are_alike(one, other) == are_alike(other, one)


@given(st.text(max_size=300))
def test_marks_are_added_once_and_taken_for_marks(body: str) -> None:
    once = marked(body, sentences_of(body))
    again = sentences_of(once)
    assert all(one.is_marked for one in again)
    assert marked(once, again) == once
    assert all(
        without_mark(one.text) == one.text for one in sentences_of(body) if not one.is_marked
    )
