"""Notes are written when due, survive a restart, and are there for the next session."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import msgspec
import pytest

from memoryd.base.config import Credentials, Secret
from memoryd.base.errors import InvalidInput, NotFound
from memoryd.base.paths import Places, places
from memoryd.llm.anthropic_client import AnthropicProvider, endpoint_at
from memoryd.sessions.checkpoints import Checkpoints
from memoryd.sessions.note_files import turns_in
from memoryd.sessions.notes import NotesWriter, SessionNotes
from memoryd.sessions.rules import notes
from memoryd.system.database import Database
from memoryd.transcripts.rules.assembler import Follower
from memoryd.transcripts.rules.open_turn import OpenTurn, open_turn
from memoryd.transcripts.rules.turns import Turn
from tests.support.scripted_model import Script, ScriptedModel, SeenRequest, Status, says
from tests.support.session_script import SessionScript
from tests.support.times import NOW

SESSION = "0c5f3a52-6f6e-4b6e-9d5c-1d2f3a4b5c6d"


class Scene:
    """A home with one growing session."""

    def __init__(self, home: Path) -> None:
        self.places: Places = places({"HOME": str(home)}, "linux", 1000, str(home))
        self.database = Database.open(str(home / "state.db"))
        self.script = SessionScript(SESSION, str(home / "app"))
        self.folder = home / ".claude/projects/-app"
        self.folder.mkdir(parents=True)
        self.path = self.folder / f"{SESSION}.jsonl"
        self.summary = self.folder / SESSION / "session-memory/summary.md"

    def notes(self, writer: NotesWriter | None = None) -> SessionNotes:
        return SessionNotes(self.places, self.database, writer, lambda *_: True, lambda: NOW)

    def turn(self, asked: str, answered: str, context_tokens: int) -> Turn:
        usage = {
            "input_tokens": 0,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": context_tokens,
            "output_tokens": 0,
        }
        self.script.prompt(asked)
        self.script.answer(answered, message={"usage": usage})
        self.path.write_bytes(self.script.data)
        return turns_in(str(self.path))[-1]

    def call(self, tool: str, context_tokens: int) -> OpenTurn:
        """Another call and its result, in a turn that still runs."""
        usage = {"input_tokens": context_tokens, "output_tokens": 0}
        call_id = self.script.call(tool, {"command": "make"}, message={"usage": usage})
        self.script.result(call_id, "made")
        self.path.write_bytes(self.script.data)
        follower = Follower()
        follower.feed(self.script.data)
        found = open_turn(follower.draft, f"{self.folder.name}/{self.path.name}")
        assert found is not None
        return found


@pytest.fixture
def scene(home: Path) -> Scene:
    return Scene(home)


async def test_a_short_session_gets_no_notes_until_it_is_long_enough(scene: Scene) -> None:
    session_notes = scene.notes()
    await session_notes.turn_ended(scene.turn("hello", "hi", 9_000), str(scene.path))
    assert not scene.summary.exists()
    await session_notes.turn_ended(scene.turn("go on", "done", 10_500), str(scene.path))
    assert "go on" in scene.summary.read_text()
    assert scene.summary.stat().st_mode & 0o777 == 0o600


async def test_without_a_model_notes_are_current_after_every_turn(scene: Scene) -> None:
    await scene.notes().turn_ended(scene.turn("one", "a", 12_000), str(scene.path))
    await scene.notes().turn_ended(scene.turn("two", "b", 12_100), str(scene.path))
    assert "two" in scene.summary.read_text()


async def test_a_model_is_asked_when_the_session_has_grown_across_a_restart(scene: Scene) -> None:
    async with a_writer([says(GOOD), says(GOOD)]) as (writer, model):
        await scene.notes(writer).turn_ended(scene.turn("one", "a", 12_000), str(scene.path))
        await scene.notes(writer).turn_ended(scene.turn("two", "b", 16_000), str(scene.path))
        assert len(model.requests) == 1
        await scene.notes(writer).turn_ended(scene.turn("three", "c", 17_500), str(scene.path))
        assert len(model.requests) == 2


async def test_a_secret_does_not_reach_the_notes(scene: Scene) -> None:
    token = "ghp_" + "x7Kp2LmQ9vRt4WzB8nYc3HdF6jSg1TaE5uQo"
    await scene.notes().turn_ended(scene.turn(f"use {token}", "ok", 20_000), str(scene.path))
    assert token not in scene.summary.read_text()


def test_notes_of_a_short_session_are_made_on_request(scene: Scene) -> None:
    scene.turn("what is this", "a thing", 100)
    answer = scene.notes().serve(SESSION)
    assert "what is this" in answer.text
    for unknown in ("no-such-session", "../../etc/passwd"):
        with pytest.raises((NotFound, InvalidInput)):
            scene.notes().serve(unknown)


async def test_the_newest_notes_tell_a_new_session_where_the_last_one_stopped(
    scene: Scene,
) -> None:
    session_notes = scene.notes()
    assert session_notes.last_ended([str(scene.folder)]) is None
    await session_notes.turn_ended(
        scene.turn("fix the build", "half done", 11_000), str(scene.path)
    )
    latest = session_notes.last_ended([str(scene.folder)])
    assert latest is not None
    assert "fix the build" in notes.where_it_stopped(latest.text)
    assert session_notes.last_ended([str(scene.folder)], but=SESSION) is None


@asynccontextmanager
async def a_writer(script: Script) -> AsyncIterator[tuple[NotesWriter, ScriptedModel]]:
    with ScriptedModel(script) as model:
        endpoint = endpoint_at(model.base_url, Credentials(api_key=Secret("made-up")))
        provider = AnthropicProvider(endpoint)
        try:
            yield NotesWriter(provider, "claude-haiku-5-5", ()), model
        finally:
            await provider.aclose()


GOOD = notes.render([notes.NotesSection(title, f"about {title}") for title, _ in notes.SECTIONS])


async def test_the_models_notes_are_written_if_they_have_the_right_shape(scene: Scene) -> None:
    turn = scene.turn("the password is Hunter2-x9!kQ", "noted", 11_000)
    async with a_writer([says(GOOD)]) as (writer, model):
        await scene.notes(writer).turn_ended(turn, str(scene.path))
    assert "about Learnings" in scene.summary.read_text()
    assert "Hunter2" not in str(model.requests[0].body)
    assert "Session Title" in str(model.requests[0].body)


async def test_a_model_is_asked_in_the_middle_of_a_long_turn_for_what_it_has_not_read(
    scene: Scene,
) -> None:
    scene.script.prompt("rewrite the parser")
    async with a_writer([says(GOOD), says(GOOD)]) as (writer, model):
        session_notes = scene.notes(writer)
        await session_notes.turn_runs(scene.call("Early", 9_000))
        assert model.requests == []
        await session_notes.turn_runs(scene.call("Early", 10_500))
        assert len(model.requests) == 1
        for tokens in (12_000, 14_000):
            await session_notes.turn_runs(scene.call("Late", tokens))
        assert len(model.requests) == 1, "it has not grown by enough"
        await session_notes.turn_runs(scene.call("Late", 16_000))
        assert len(model.requests) == 2
        told = str(model.requests[1].body["messages"])
        assert "rewrite the parser" in told
        assert "Late" in told
        assert "Early" not in told
        scene.script.answer("rewritten", message={"usage": {"input_tokens": 16_500}})
        scene.path.write_bytes(scene.script.data)
        await session_notes.turn_ended(turns_in(str(scene.path))[-1], str(scene.path))
        assert len(model.requests) == 2, "nothing happened since"


async def test_a_turn_that_runs_while_notes_are_off_leaves_none(scene: Scene) -> None:
    scene.script.prompt("rewrite the parser")
    off = SessionNotes(
        scene.places, scene.database, None, lambda *_: True, lambda: NOW, lambda _: "switched off"
    )
    await off.turn_runs(scene.call("Bash", 50_000))
    assert not scene.summary.exists()
    await scene.notes().turn_runs(scene.call("Bash", 50_100))
    assert "rewrite the parser" in scene.summary.read_text()


async def test_at_the_end_the_newest_turns_are_in_the_notes_before_the_model_answers(
    scene: Scene,
) -> None:
    found: list[str] = []

    def reply(_: SeenRequest) -> object:
        found.append(scene.summary.read_text() if scene.summary.exists() else "")
        return says(GOOD)

    async with a_writer(reply) as (writer, _):  # type: ignore[arg-type]
        session_notes = scene.notes(writer)
        await session_notes.turn_ended(scene.turn("first", "a", 12_000), str(scene.path))
        scene.turn("last words", "b", 12_100)
        await session_notes.session_ended(SESSION, "/app")
    _, at_the_end = found
    assert "last words" in notes.where_it_stopped(at_the_end)
    assert "about Learnings" in at_the_end, "what the model wrote before stays"
    assert scene.summary.read_text() == GOOD


async def test_a_writer_with_few_calls_is_asked_at_a_compaction_and_at_the_end_alone(
    scene: Scene,
) -> None:
    turn = scene.turn("fix the build", "half done", 11_000)
    async with a_writer([says(GOOD), says(GOOD)]) as (writer, model):
        session_notes = scene.notes(msgspec.structs.replace(writer, at_pauses=True))
        here = (SESSION, str(scene.path), "/app")
        await session_notes.session_ended(SESSION, "/app")
        assert model.requests == [], "a session too short for notes gets none at its end either"
        await session_notes.turn_ended(turn, str(scene.path))
        assert model.requests == []
        assert "fix the build" in scene.summary.read_text(), "until then there are excerpts"
        await session_notes.freshen(*here)
        assert len(model.requests) == 1
        await session_notes.turn_ended(scene.turn("go on", "done", 30_000), str(scene.path))
        assert "about Learnings" in scene.summary.read_text(), "excerpts do not replace them"
        await session_notes.session_ended(SESSION, "/app")
        assert len(model.requests) == 2
    assert "about Learnings" in scene.summary.read_text()


@pytest.mark.parametrize(
    "reply",
    [says("I could not do it."), says(GOOD, stop_reason="max_tokens"), Status(400), Status(529)],
    ids=["no notes", "cut", "refused", "overloaded"],
)
async def test_without_a_usable_answer_excerpts_are_written(scene: Scene, reply: object) -> None:
    turn = scene.turn("fix the build", "half done", 11_000)
    async with a_writer(lambda _: reply) as (writer, _):  # type: ignore[arg-type,return-value]
        await scene.notes(writer).turn_ended(turn, str(scene.path))
    assert "without a model" in scene.summary.read_text()
    assert "fix the build" in scene.summary.read_text()


async def test_the_users_own_template_and_prompt_are_used(scene: Scene, home: Path) -> None:
    folder = home / ".claude/session-memory/config"
    folder.mkdir(parents=True)
    (folder / "template.md").write_text("# Decisions\n# Open\n")
    (folder / "prompt.md").write_text("Write in German.")
    turn = scene.turn("los", "ja", 11_000)
    async with a_writer([says("# Decisions\n\nkeine\n\n# Open\n\nalles\n")]) as (writer, model):
        await scene.notes(writer).turn_ended(turn, str(scene.path))
    assert notes.titles_of(scene.summary.read_text()) == ("Decisions", "Open")
    assert "Write in German." in str(model.requests[0].body)


async def test_concurrent_requests_are_two_runs_in_sequence(scene: Scene) -> None:
    scene.turn("go", "gone", 11_000)
    async with a_writer([says(GOOD), says(GOOD), says(GOOD)]) as (writer, model):
        session_notes = scene.notes(writer)
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for _ in range(5):
                    tasks.start_soon(session_notes.freshen, SESSION, str(scene.path), "/p")
    assert len(model.requests) == 2


def test_a_checkpoint_is_kept_until_it_is_removed(scene: Scene) -> None:
    kept = Checkpoints(scene.places)
    kept.save("/home/dev/app", "before refactoring", "# Session Title\n")
    kept.save("/home/dev/app", "second", "2")
    kept.save("/home/dev/other", "theirs", "3")
    assert {one.name for one in kept.list("/home/dev/app")} == {"before refactoring", "second"}
    assert kept.get("/home/dev/app", "before refactoring")[1] == "# Session Title\n"
    kept.remove("/home/dev/app", "second")
    with pytest.raises(NotFound):
        kept.get("/home/dev/app", "second")
    for bad in ("", "../x", "a/b", ".hidden", "x" * 65, "trailing.", "nul\0"):
        with pytest.raises(InvalidInput):
            kept.save("/home/dev/app", bad, "x")


def test_projects_of_one_slug_have_their_own_checkpoints(scene: Scene) -> None:
    kept = Checkpoints(scene.places)
    one, other = "/home/dev/my.app", "/home/dev/my-app"
    kept.save(one, "start", "mine")
    kept.save(other, "start", "theirs")
    assert (kept.get(one, "start")[1], kept.get(other, "start")[1]) == ("mine", "theirs")
    kept.remove(one, "start")
    assert kept.list(one) == []
    assert [checkpoint.name for checkpoint in kept.list(other)] == ["start"]
    with pytest.raises(NotFound):
        kept.remove(one, "start")
