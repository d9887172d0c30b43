"""What is saved without a model: the person's statements, each once, the newest one valid."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from memoryd.base import paths
from memoryd.extraction.embedded import EmbeddedExtractor
from memoryd.extraction.inbox import Inbox
from memoryd.extraction.rules.restatement import relation_of
from memoryd.extraction.saver import with_addition
from memoryd.extraction.task import ExtractionTask
from memoryd.memories.inbox_table import InboxTable
from memoryd.memories.records import Listed
from memoryd.memories.scopes import Scopes
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system.database import Database
from memoryd.transcripts.rules.assembler import living_history, read_entries
from memoryd.transcripts.rules.turns import Turn
from memoryd.transcripts.turn_table import LastWords
from tests.support.examples import examples
from tests.support.running import environment
from tests.support.session_script import SessionScript

NOW = 1_794_000_000.0
TABS = "From now on always use tabs in Makefiles, because make insists on them."

MORE_TABS = "Always use tabs in Makefiles and in .mk includes, because make insists on them."
NO_TABS = "Never use tabs in Makefiles, because make insists on spaces now."


class World:
    """A store in the test's home, and an extractor that works on it."""

    def __init__(self, home: Path, project: str) -> None:
        self.state = Database.open(str(home / ".local/state/memoryd/state.db"))
        places = paths.places(environment(home), "linux", 0, str(home))
        scopes = Scopes(places, {}, self.state)
        self.project = scopes.project(project)
        self.store = Store(VersionTable(self.state), now=lambda: NOW)
        self.inbox = Inbox(InboxTable(self.state), scopes, self.store, now=lambda: NOW)
        self.extractor = EmbeddedExtractor(self.store, self.inbox)

    async def extract(
        self, script: SessionScript, *, again: bool = False, earlier: str = ""
    ) -> tuple[str, ...]:
        history = living_history(read_entries([script.data]))
        turns = tuple(event for event in history if isinstance(event, Turn))
        task = ExtractionTask(
            self.project,
            "session-1",
            turns,
            began=NOW,
            is_repeated=again,
            before=LastWords(assistant=earlier),
        )
        outcome = await self.extractor.extract(task)
        assert outcome.verdict == "done"
        return outcome.files

    def alive(self) -> list[Listed]:
        return [one for one in self.store.scan(self.project.memory) if not one.retired]

    def text(self, file: str) -> str:
        return self.store.read(self.project.memory, file).text


@pytest.fixture
def world(home: Path) -> Iterator[World]:
    made = World(home, str(home / "app"))
    yield made
    made.state.close()


def said(*prompts: str) -> SessionScript:
    script = SessionScript()
    for prompt in prompts:
        script.turn(prompt, "Understood.")
    return script


async def test_a_statement_becomes_a_memory_with_its_origin(world: World) -> None:
    (file,) = await world.extract(said(TABS))
    topic = world.store.read(world.project.memory, file).topic
    assert topic.type == "feedback"
    assert topic.trust == "user-said"
    assert topic.source == "session-1"
    assert topic.created == "2026-11-16T01:00:01Z"
    assert topic.body.strip() == TABS


async def test_only_a_persons_own_words_count(world: World) -> None:
    script = SessionScript()
    script.user(f"<bash-input>echo {TABS}</bash-input>")
    script.user(f"<bash-stdout>{TABS}</bash-stdout>")
    script.prompt("read the notes")
    script.result(script.call("Read", {"file_path": "notes"}), TABS)
    script.answer(f"They say: {TABS}")
    script.prompt(f"<task-notification>{TABS}</task-notification>", promptSource="system")
    script.answer("Noted.")
    assert await world.extract(script) == ()


async def test_what_the_agent_saved_is_not_saved_again_and_the_rest_of_the_turn_is(
    world: World,
) -> None:
    memory = Path(world.project.memory.path)
    script = SessionScript()
    script.prompt(f"{TABS} And remember that the nightly build runs on the blue cluster.")
    given = {
        "file_path": f"{memory}/tabs.md",
        "content": "Makefiles are written with tabs: make insists.",
    }
    script.result(script.call("Write", given), "ok")
    script.answer("Saved the tabs.")
    (file,) = await world.extract(script)
    assert "blue cluster" in world.text(file)
    assert "tabs" not in world.text(file)


async def test_what_the_agent_copied_into_the_folder_is_not_saved_again(world: World) -> None:
    memory = world.project.memory
    text = f"---\nname: Tabs\ntype: feedback\n---\n\n{NO_TABS} {TABS}\n"
    world.store.write(memory, "tabs.md", text, over=None, cause="agent")
    script = SessionScript()
    script.prompt(TABS)
    script.result(script.call("Bash", {"command": f"cp /tmp/tabs.md {memory.path}/"}), "")
    script.answer("Saved.")
    assert await world.extract(script) == ()
    assert [one.file for one in world.alive()] == ["tabs.md"]


async def test_a_correction_of_what_the_agent_saved_is_saved(world: World) -> None:
    script = SessionScript()
    script.prompt("Look at the Makefile.")
    given = {"text": "Always use tabs in Makefiles, because make insists on them."}
    script.result(script.call("mcp__memoryd__remember", given), "Saved as /m/tabs.md.")
    script.attach("queued_command", prompt=NO_TABS, commandMode="prompt")
    script.answer("Understood.")
    (file,) = await world.extract(script)
    assert "Never use tabs" in world.text(file)


async def test_words_in_answers_and_refusals_count_and_chosen_labels_do_not(world: World) -> None:
    asked = {"question": "Where do releases go?", "options": [{"label": "Always to staging first"}]}
    script = SessionScript()
    script.prompt("release it")
    for answer in ("Always to staging first", "From now on tag releases with a date."):
        call = script.call("AskUserQuestion", {"questions": [asked]})
        text = f'Your questions have been answered: "{asked["question"]}"="{answer}". You can now'
        script.result(call, f"{text} continue with these answers in mind.")
    refused = script.call("Bash", {"command": "git push --force"})
    reason = "Never force-push to main in this repository."
    script.result(
        refused,
        "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell"
        f" you how to proceed, the user said:\n{reason}",
        is_error=True,
    )
    script.answer("ok")
    bodies = {world.text(file).strip().split("\n")[-1] for file in await world.extract(script)}
    assert bodies == {"From now on tag releases with a date.", reason}


async def test_a_turn_processed_twice_is_saved_once(world: World) -> None:
    script = said(TABS, "I'm a data scientist, new to Rust.")
    assert len(await world.extract(script)) == 2
    before = {one.file: world.text(one.file) for one in world.alive()}
    assert await world.extract(script, again=True) == ()
    assert {one.file: world.text(one.file) for one in world.alive()} == before


async def test_a_restatement_in_other_words_makes_no_second_file(world: World) -> None:
    await world.extract(said(TABS))
    assert await world.extract(said("Always use tabs in Makefiles please!")) == ()
    assert len(world.alive()) == 1


async def test_what_is_new_in_a_restatement_goes_into_the_old_file(world: World) -> None:
    (first,) = await world.extract(said(TABS))
    assert await world.extract(said(MORE_TABS)) == (first,)
    (one,) = world.alive()
    text = world.text(one.file)
    assert "Said on 2026-11-16 at " in text
    assert ".mk includes" in text
    assert await world.extract(said(MORE_TABS), again=True) == ()


async def test_adding_to_a_file_without_an_origin_gives_it_one(world: World) -> None:
    bare = f"---\nname: Tabs\ndescription: d\ntype: feedback\n---\n\n{TABS}\n"
    world.store.write(world.project.memory, "feedback_tabs.md", bare, over=None, cause="user")
    assert await world.extract(said(MORE_TABS)) == ("feedback_tabs.md",)
    topic = world.store.read(world.project.memory, "feedback_tabs.md").topic
    assert (topic.source, topic.trust) == ("session-1", "agent-concluded")
    assert topic.created


async def test_the_opposite_replaces_what_was_said(world: World) -> None:
    (first,) = await world.extract(said(TABS))
    (second,) = await world.extract(said(NO_TABS))
    assert [one.file for one in world.alive()] == [second]
    assert first in world.text(second)


async def test_a_batch_that_reverses_itself_changes_nothing_when_processed_again(
    world: World,
) -> None:
    script = said(TABS, NO_TABS)
    assert len(await world.extract(script)) == 2
    before = {one.file: world.text(one.file) for one in world.store.scan(world.project.memory)}
    assert await world.extract(script, again=True) == ()
    after = {one.file: world.text(one.file) for one in world.store.scan(world.project.memory)}
    assert after == before


async def test_praise_and_orders_for_now_are_not_saved(world: World) -> None:
    praise = "yep good call stopping there. the warehouses still run old tablets, so ask about sdk"
    assert await world.extract(said(praise, "don't touch the tests, fix the code")) == ()


async def test_an_import_does_not_bring_back_what_was_withdrawn_since(world: World) -> None:
    (newer,) = await world.extract(said("please fix the build", "and the tests", NO_TABS))
    assert await world.extract(said(TABS)) == ()
    assert [one.file for one in world.alive()] == [newer]


async def test_a_secret_in_a_statement_is_not_saved(world: World) -> None:
    token = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    await world.extract(said(f"Remember that deploys always use the token {token} of the bot."))
    assert all(token not in world.text(one.file) for one in world.alive())


@pytest.mark.parametrize(
    ("new", "old", "relation"),
    [
        ("The freeze is on 2026-03-13.", "The freeze is on 2026-03-06.", "reverses"),
        ("The freeze is on 2026-03-06 at 14:00.", "The freeze is on 2026-03-06.", "adds"),
        ("The freeze starts.", "The freeze starts on 2026-03-06.", "same"),
        ("Never mock the clock.", "Always mock the clock.", "reverses"),
        ("Please mock clocks!", "Always mock the clock.", "same"),
        ("Mock the clock and the network.", "Always mock the clock.", "adds"),
        ("Always lint lexer modules.", "Always lint parser modules.", "other"),
        ("Never lint lexer modules.", "Always lint parser modules.", "other"),
        ("Tabs of the sidebar remember where they were scrolled to.", "Use tabs.", "other"),
        ("", "Use tabs.", "other"),
    ],
)
def test_how_two_statements_relate(new: str, old: str, relation: str) -> None:
    assert relation_of(new, old) == relation


def test_taking_something_back_needs_only_half_of_its_words() -> None:
    new, old = "Scratch that, we deploy on Fridays.", "Never deploy on Fridays before a holiday."
    assert relation_of(new, old) == "other"
    assert relation_of(new, old, takes_back=True) == "reverses"


def test_an_addition_goes_above_how_to_apply() -> None:
    whole = with_addition("Use tabs.\n\n**How to apply:** Always.\n", "More.")
    assert whole == "Use tabs.\n\nMore.\n\n**How to apply:** Always.\n"
    assert with_addition("Use tabs.\n", "More.") == "Use tabs.\n\nMore.\n"


SENTENCES = (
    TABS,
    MORE_TABS,
    NO_TABS,
    "I'm a data scientist, new to Rust.",
    "Stop summarising what you did at the end of every reply, I can read the diff.",
    "We deliberately stay on Postgres 14 until the audit in March is over.",
    "Bugs are tracked in the Linear project INGEST.",
    "Always run the linter before you commit.",
    "Actually, scratch that: never run the linter before you commit.",
    "please fix the build",
)


@examples(20, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=5), st.integers(0, 5))
@example([TABS, NO_TABS, TABS], 2)
@example([TABS, MORE_TABS, NO_TABS], 3)
@example([NO_TABS, NO_TABS, TABS], 3)
def test_a_second_attempt_adds_nothing_wherever_the_first_crashed(
    tmp_path_factory: pytest.TempPathFactory, prompts: list[str], kept: int
) -> None:
    """The first attempt got through a part of the turns; the second does all of them."""

    async def play(home: Path, *, crashes: bool) -> list[str]:
        world = World(home, str(home / "app"))
        script = said(*prompts)
        if crashes:
            await world.extract(said(*prompts[:kept]))
        await world.extract(script, again=crashes)
        await world.extract(script, again=True)
        found = sorted(world.text(one.file).partition("created:")[0] for one in world.alive())
        world.state.close()
        return found

    whole = anyio.run(lambda: play(tmp_path_factory.mktemp("a"), crashes=False))
    broken = anyio.run(lambda: play(tmp_path_factory.mktemp("b"), crashes=True))
    assert broken == whole
