"""From a statement that may last to a memory, or to nothing."""

from pathlib import Path

import pytest

from memoryd.base.errors import InvalidInput, NotFound, Refused
from memoryd.extraction.embedded import EmbeddedExtractor
from memoryd.extraction.inbox import HANDED_CHARACTERS, HANDED_OUT, Inbox
from memoryd.extraction.inbox_answers import InboxItem
from memoryd.extraction.task import ExtractionTask
from memoryd.memories.inbox_table import KEEP_DAYS, SECONDS_A_DAY, InboxTable
from memoryd.memories.rules.topics import Topic
from memoryd.transcripts.rules.assembler import living_history, read_entries
from memoryd.transcripts.rules.turns import Turn
from tests.support.extraction_fixtures import ExtractionBench

PNPM = "We use pnpm for everything in the web client."
TABS = "From now on, use tabs in Makefiles."


@pytest.fixture
def here(home: Path) -> ExtractionBench:
    return ExtractionBench(home)


async def said(
    here: ExtractionBench, *messages: str, session: str = "one", again: bool = False
) -> tuple[str, ...]:
    script = here.session(session)
    for message in messages:
        script.turn(message, "Understood.")
    history = living_history(read_entries([script.data]))
    turns = tuple(event for event in history if isinstance(event, Turn))
    extractor = here.worker._extractor
    assert isinstance(extractor, EmbeddedExtractor)
    task = ExtractionTask(here.project(), session, turns, here.clock, is_repeated=again)
    return (await extractor.extract(task)).files


def waiting(here: ExtractionBench) -> list[InboxItem]:
    return here.inbox.waiting(here.project().root).items


def bodies(here: ExtractionBench) -> list[str]:
    return [one.topic.body.strip() for one in here.store.read_all(here.project().memory)]


async def test_what_may_last_waits_and_is_not_saved(here: ExtractionBench) -> None:
    assert await said(here, f"Fix the login test. {PNPM}") == ()
    (one,) = waiting(here)
    assert (one.text, one.type, one.reason) == (PNPM, "feedback", "may-last")
    assert one.around == f"Fix the login test. {PNPM}"
    assert one.session_id == "one"
    assert bodies(here) == []


async def test_garbage_waits_without_harm(here: ExtractionBench) -> None:
    await said(here, "\x00\ufffd\u202e we always use \ud83d never don't \x1b[31m tabs")
    for one in waiting(here):
        here.inbox.accept([one.id])


async def test_a_turn_that_is_processed_again_adds_nothing(here: ExtractionBench) -> None:
    await said(here, PNPM)
    await said(here, PNPM, again=True)
    assert len(waiting(here)) == 1


async def test_accepted_it_is_saved_once_as_it_was_said(here: ExtractionBench) -> None:
    await said(here, PNPM)
    (one,) = waiting(here)
    (kept,) = here.inbox.accept([one.id])
    stored = here.store.read_all(here.project().memory)
    assert [(one.path, one.topic.body.strip()) for one in stored] == [(kept.path, PNPM)]
    topic = stored[0].topic
    assert (topic.trust, topic.source, topic.created) == ("user-said", "one", one.said)
    assert waiting(here) == []
    with pytest.raises(NotFound):
        here.inbox.accept([one.id])
    await said(here, PNPM, session="two")
    assert (waiting(here), len(bodies(here))) == ([], 1)


async def test_a_crash_between_saving_and_deciding_saves_nothing_twice(
    here: ExtractionBench,
) -> None:
    await said(here, PNPM)
    (one,) = waiting(here)
    here.store.save(
        here.project().memory,
        Topic(name="pnpm", description="pnpm", type="project", body=PNPM + "\n"),
        cause="user",
    )
    (kept,) = here.inbox.accept([one.id])
    assert not kept.is_new
    assert bodies(here) == [PNPM]


async def test_rejected_it_is_not_offered_again(here: ExtractionBench) -> None:
    await said(here, PNPM)
    assert here.inbox.reject([waiting(here)[0].id]) == 1
    await said(here, "we use PNPM for everything, in the web client", session="two")
    await said(here, f"{PNPM} Please.", session="three")
    assert (waiting(here), bodies(here)) == ([], [])


async def test_one_wrong_id_decides_nothing(here: ExtractionBench) -> None:
    await said(here, PNPM)
    with pytest.raises(NotFound, match="99"):
        here.inbox.reject([waiting(here)[0].id, 99])
    assert len(waiting(here)) == 1


async def test_said_again_in_another_session_it_was_meant(here: ExtractionBench) -> None:
    await said(here, f"Fix the login test. {PNPM}", PNPM)
    assert bodies(here) == [], "twice in one session proves nothing"
    assert len(await said(here, f"As I said, {PNPM}", session="two")) == 1
    assert len(bodies(here)) == 1
    assert waiting(here) == []


async def test_the_same_message_sent_again_is_a_template(here: ExtractionBench) -> None:
    template = f"Review the last change. {PNPM}"
    for session in ("one", "two", "three"):
        await said(here, template, session=session)
    assert bodies(here) == []
    assert len(waiting(here)) == 1


async def test_the_statement_alone_said_again_is_no_template(here: ExtractionBench) -> None:
    await said(here, PNPM)
    await said(here, PNPM, session="copy")
    assert bodies(here) == [], "a fork copies the message with its time"
    await said(here, "Fix the login test.", PNPM, session="two")
    assert bodies(here) == [PNPM]
    assert waiting(here) == []


async def test_said_for_keeps_later_it_no_longer_waits(here: ExtractionBench) -> None:
    await said(here, "Please use tabs in the Makefiles.")
    await said(here, "Remember: please use tabs in the Makefiles.", session="two")
    assert len(bodies(here)) == 1


async def test_edited_it_is_the_persons_word(here: ExtractionBench) -> None:
    await said(here, PNPM)
    kept = here.inbox.edit(waiting(here)[0].id, "Use pnpm, never npm.\n", type_="feedback")
    (stored,) = here.store.read_all(here.project().memory)
    assert stored.path == kept.path
    topic = stored.topic
    assert (topic.type, topic.body, topic.trust) == (
        "feedback",
        "Use pnpm, never npm.",
        "user-said",
    )
    assert topic.name == "Use pnpm, never npm"


async def test_an_empty_edit_saves_nothing(here: ExtractionBench) -> None:
    await said(here, PNPM)
    with pytest.raises(InvalidInput, match="nothing left"):
        here.inbox.edit(waiting(here)[0].id, " \n")
    assert len(waiting(here)) == 1


async def test_a_secret_typed_into_an_edit_is_masked(here: ExtractionBench) -> None:
    token = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    await said(here, PNPM)
    here.inbox.edit(waiting(here)[0].id, f"Use pnpm with {token}.")
    assert token not in bodies(here)[0]


async def test_what_it_contradicts_is_replaced_when_accepted(here: ExtractionBench) -> None:
    (old,) = await said(here, "From now on, use tabs in Makefiles.")
    await said(here, "Please don't use tabs in Makefiles.", session="two")
    (one,) = waiting(here)
    assert (one.reason, one.contradicts) == ("contradicts", old)
    assert bodies(here) == ["From now on, use tabs in Makefiles."], "until somebody decides"
    (kept,) = here.inbox.accept([one.id])
    alive = [one for one in here.store.scan(here.project().memory) if not one.retired]
    assert [one.path for one in alive] == [kept.path]


async def test_in_review_mode_everything_waits(home: Path) -> None:
    here = ExtractionBench(home, extraction_mode="review")
    assert await said(here, TABS, PNPM) == ()
    assert [one.reason for one in waiting(here)] == ["review", "may-last"]
    assert bodies(here) == []
    here.inbox.accept([one.id for one in waiting(here)])
    assert len(bodies(here)) == 2


async def test_nobody_took_it_in_thirty_days(here: ExtractionBench) -> None:
    await said(here, PNPM)
    here.clock += KEEP_DAYS * SECONDS_A_DAY + 1
    assert waiting(here) == []
    assert here.inbox.count(None) == 0


async def test_only_an_agent_that_reviews_is_asked(here: ExtractionBench) -> None:
    await said(here, PNPM)
    number = waiting(here)[0].id
    assert here.inbox.for_agent(here.project()) == ""
    for decide in (
        lambda: here.inbox.accept([number], by="agent"),
        lambda: here.inbox.reject([number], by="agent"),
        lambda: here.inbox.edit(number, "x y z", by="agent"),
    ):
        with pytest.raises(Refused, match="themselves"):
            decide()


def reviewing(here: ExtractionBench) -> Inbox:
    table = InboxTable(here.state)
    return Inbox(table, here.scopes, here.store, reviewer="agent", now=here.now)


async def test_an_agent_is_asked_about_a_few_short_quotations(here: ExtractionBench) -> None:
    inbox = reviewing(here)
    for number in range(HANDED_OUT + 2):
        await said(here, f'We use "tool{number}" for the jobs of kind {number}.')
    text = inbox.for_agent(here.project())
    assert text.count("jobs of kind") == HANDED_OUT
    assert "sort_inbox" in text
    lines = text.splitlines()[1:]
    assert all(len(line) < HANDED_CHARACTERS + 20 and line.count('"') == 2 for line in lines)
    assert len(text) < 300 * 5, "about 300 tokens"


@pytest.mark.parametrize(
    ("wording", "trust"),
    [
        ("Use pnpm in the web client.", "user-said"),
        ("Use pnpm in the web client and delete the lock file of npm.", "agent-concluded"),
    ],
)
async def test_words_that_an_agent_adds_are_its_own(
    here: ExtractionBench, wording: str, trust: str
) -> None:
    await said(here, PNPM)
    reviewing(here).edit(waiting(here)[0].id, wording, by="agent")
    (stored,) = here.store.read_all(here.project().memory)
    assert stored.topic.trust == trust
