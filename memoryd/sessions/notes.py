"""Writes the notes of running sessions, and serves them after a compaction, a resume, or later.

Rules
- One run per session at a time; what arrives meanwhile is covered by one more run.
- A model writes them at the thresholds (`rules/notes`), before a compaction and at the session's
  end. Without one, or while it is unavailable or over budget, they are excerpts, which cost
  nothing: they are refreshed at every finished turn, unless reading the transcript takes long.
  A model with few calls is not asked at the thresholds; what it wrote stays until the next pause.
- "The last session" is the last one that a person held and that has ended: not a scripted run, and
  not one that is still open elsewhere.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

import anyio.to_thread
import msgspec
import structlog

from memoryd.base import paths
from memoryd.base.errors import InvalidInput, NotFound
from memoryd.base.paths import Places
from memoryd.base.timestamps import iso_time
from memoryd.dreams.recent_sessions import living_sessions
from memoryd.extraction.rules.messages import messages
from memoryd.llm.anthropic_client import Provider
from memoryd.llm.guards import DEADLINE_SECONDS
from memoryd.llm.rules import prompts
from memoryd.llm.rules.messages import (
    BudgetReached,
    ModelRequest,
    ProviderDown,
    ProviderPaused,
    ProviderRefused,
    Text,
    ToolDefinition,
    UserTurn,
)
from memoryd.sessions.rules import note_excerpts, notes
from memoryd.system.background import Soon
from memoryd.system.database import Database
from memoryd.system.folder import Folder
from memoryd.system.plain_file import modified_at, read_plain
from memoryd.text.decode import decoded
from memoryd.text.masking.mask import mask, presentable
from memoryd.transcripts.file import ALL_BYTES, open_transcript
from memoryd.transcripts.rules.assembler import living_history, read_entries
from memoryd.transcripts.rules.turns import Turn
from memoryd.transcripts.turn_table import QueuedTurn

USERS_TEXT_BYTES: Final = 64 * 1024
NOTES_BYTES: Final = 1024 * 1024
ANSWER_TOKENS: Final = 16_000
MOST_TURNS_SENT: Final = 40
CHEAP_SECONDS: Final = 0.1
HEAD_BYTES: Final = 256 * 1024
SCRIPTED_ENTRYPOINT: Final = b'"entrypoint":"sdk'

log = structlog.get_logger(__name__)


class NotesAnswer(msgspec.Struct, frozen=True):
    text: str
    updated: str
    session_id: str = ""
    modified: float = 0.0


class NotesWriter(msgspec.Struct, frozen=True):
    """What writes the notes if there is a model: the provider, its model, and the shared tools.

    One with few calls is asked only `at_pauses`: before a compaction, and at the end of a session
    that has notes already.
    """

    provider: Provider
    model: str
    tools: tuple[ToolDefinition, ...]
    at_pauses: bool = False


class SessionNotes:
    def __init__(
        self,
        places: Places,
        database: Database,
        writer: NotesWriter | None,
        run_soon: Soon,
        now: Callable[[], float],
        off_for: Callable[[str], str] = lambda _: "",
    ) -> None:
        self._root = f"{places.claude_dir}/projects"
        self._places = places
        self._database = database
        self._run_soon = run_soon
        self._writer = writer
        self._now = now
        self._off_for = off_for
        self._running: set[str] = set()
        self._again: dict[str, bool] = {}
        self._slow: set[str] = set()
        self._kept: set[str] = set()

    def turn_stored(self, queued: QueuedTurn) -> None:
        """Writes the notes, in the background, if this turn has made them due."""
        transcript = f"{self._root}/{queued.path}"
        self._run_soon("notes", lambda: self.turn_ended(queued.turn, transcript))

    async def turn_ended(self, turn: Turn, transcript: str) -> None:
        if not turn.session_id:
            return
        if reason := await anyio.to_thread.run_sync(self._off_for, turn.session_id):
            log.info("notes-off", session_id=turn.session_id, reason=reason)
            return
        progress = await anyio.to_thread.run_sync(self._progress, turn)
        writer = self._writer
        is_cheap = (writer is None or writer.at_pauses) and turn.session_id not in self._slow
        # What a model with few calls wrote stays until the next pause: excerpts say less.
        if turn.session_id in self._kept:
            return
        if notes.notes_are_due(progress) or (is_cheap and progress.noted_tokens is not None):
            await self.freshen(turn.session_id, transcript, turn.cwd, at_pause=False)

    async def session_ended(self, session_id: str, cwd: str) -> None:
        """Brings notes that exist up to date with the last turns."""
        transcript = await anyio.to_thread.run_sync(self.transcript_of, session_id)
        if await anyio.to_thread.run_sync(self.written, session_id) is not None:
            await self.freshen(session_id, transcript, cwd)
        self._slow.discard(session_id)
        self._kept.discard(session_id)

    async def freshen(
        self, session_id: str, transcript: str, project: str, *, at_pause: bool = True
    ) -> None:
        """Writes the notes now; if a run is in progress, another follows it."""
        if session_id in self._running:
            self._again[session_id] = at_pause or self._again.get(session_id, False)
            return
        self._running.add(session_id)
        try:
            asked: bool | None = at_pause
            while asked is not None:
                await self._write(session_id, transcript, project, at_pause=asked)
                asked = self._again.pop(session_id, None)
        finally:
            self._running.discard(session_id)

    def serve(self, session_id: str) -> NotesAnswer:
        """The notes of a session; if it is too short to have any, excerpts are made now."""
        written = self.written(session_id)
        if written is not None:
            return written
        transcript = self.transcript_of(session_id)
        turns = turns_in(transcript)
        if not turns:
            raise NotFound(f"session {session_id} has no messages yet")
        text = _excerpts(turns, self._template())
        return NotesAnswer(text, iso_time(self._now()), session_id, self._now())

    def written(self, session_id: str) -> NotesAnswer | None:
        """The notes on disk of a session, if there are any."""
        return _notes_at(Path(paths.session_notes(self.transcript_of(session_id))))

    def last_ended(
        self,
        folders: Iterable[str],
        *,
        but: str = "",
        is_here: Callable[[str], bool] = lambda _: True,
    ) -> NotesAnswer | None:
        """The newest notes of a person's session in these folders that has ended, except `but`.

        Projects whose paths differ only in punctuation share a folder: `is_here` tells by the
        directory of a session whether it is meant.
        """
        running = {but, *living_sessions(self._places.claude_dir)}
        found = [
            path
            for folder in folders
            for path in Path(folder).glob("*/session-memory/summary.md")
            if path.parent.parent.name not in running
        ]
        for path in sorted(found, key=modified_at, reverse=True):
            kept = _notes_at(path)
            head = _head_of(path.parent.parent.with_suffix(".jsonl"))
            began_in = notes.cwd_in(head)
            if kept is None or SCRIPTED_ENTRYPOINT in head or (began_in and not is_here(began_in)):
                continue
            return kept
        return None

    def newest_session(self, cwd: str) -> str:
        """The session that was active last in a directory."""
        folder = Path(paths.project_folder(self._places, cwd))
        newest = max(folder.glob("*.jsonl"), key=modified_at, default=None)
        if newest is None:
            raise NotFound(f"no session was seen in {cwd}", hint="memoryd sessions lists them")
        return newest.stem

    def transcript_of(self, session_id: str) -> str:
        if not paths.name_is_plain(session_id):
            raise InvalidInput("a session id must be a plain file name")
        for found in Path(self._root).glob(f"*/{session_id}.jsonl"):
            return str(found)
        raise NotFound(f"there is no session {session_id}", hint="memoryd sessions lists them")

    async def _write(
        self, session_id: str, transcript: str, project: str, *, at_pause: bool
    ) -> None:
        began = self._now()
        turns = await anyio.to_thread.run_sync(turns_in, transcript)
        if not turns:
            return
        writer = self._writer
        if writer is not None and writer.at_pauses and not at_pause:
            writer = None
        text, how = await self._compose(writer, session_id, transcript, turns, project)
        await anyio.to_thread.run_sync(write_notes, transcript, text)
        await anyio.to_thread.run_sync(self._record_progress, session_id, turns)
        if self._now() - began > CHEAP_SECONDS:
            self._slow.add(session_id)
        if how == "model" and self._writer is not None and self._writer.at_pauses:
            self._kept.add(session_id)
        log.info(
            "notes-written",
            session_id=session_id,
            how=how,
            turns=len(turns),
            bytes=len(text),
            ms=round((self._now() - began) * 1000),
        )

    async def _compose(
        self,
        writer: NotesWriter | None,
        session_id: str,
        transcript: str,
        turns: Sequence[Turn],
        project: str,
    ) -> tuple[str, str]:
        template = await anyio.to_thread.run_sync(self._template)
        if writer is not None:
            try:
                text = await self._by_model(writer, session_id, transcript, turns, project)
            except (BudgetReached, ProviderDown, ProviderPaused, ProviderRefused) as error:
                log.warning("notes-without-model", session_id=session_id, reason=error.kind)
            else:
                if text is not None:
                    return text, "model"
        return await anyio.to_thread.run_sync(_excerpts, turns, template), "embedded"

    async def _by_model(
        self,
        writer: NotesWriter,
        session_id: str,
        transcript: str,
        turns: Sequence[Turn],
        project: str,
    ) -> str | None:
        """The model's notes within their limits; None if its answer has another shape."""
        template, opening = await anyio.to_thread.run_sync(
            self._opening, session_id, transcript, turns
        )
        request = ModelRequest(
            job="notes",
            project=project,
            model=writer.model,
            max_tokens=ANSWER_TOKENS,
            system=prompts.system_blocks(),
            turns=(UserTurn(opening),),
            tools=writer.tools,
        )
        answer = await writer.provider.complete(request, DEADLINE_SECONDS)
        if answer.outcome != "complete" or not notes.has_shape_of(answer.text, template):
            log.warning("notes-answer-unusable", session_id=session_id, outcome=answer.outcome)
            return None
        return await anyio.to_thread.run_sync(_within_limits, answer.text)

    def _opening(
        self, session_id: str, transcript: str, turns: Sequence[Turn]
    ) -> tuple[str, tuple[Text, ...]]:
        """The template of the notes and the first message to the model; blocking."""
        template = self._template() or notes.template()
        current, covered = _current(transcript), self._covered(session_id)
        fresh = [turn for turn in turns if turn.ended > covered][-MOST_TURNS_SENT:] or turns[-1:]
        opening = prompts.session_notes_opening(
            template,
            current,
            [message for turn in fresh for message in messages(turn)],
            prompts.NotesLimits(notes.SECTION_TOKENS, notes.TOTAL_TOKENS),
            self._users_text("prompt.md"),
        )
        return template, opening

    def _progress(self, turn: Turn) -> notes.NotesProgress:
        """Counts this turn and returns how far the session is; blocking."""
        self._database.run(
            "insert into session_notes (session_id, tool_calls) values (?, ?)"
            " on conflict (session_id) do update set tool_calls = tool_calls + ?",
            turn.session_id,
            turn.tool_call_count,
            turn.tool_call_count,
        )
        ((calls, noted, noted_calls),) = self._database.run(
            "select tool_calls, noted_tokens, noted_tool_calls from session_notes"
            " where session_id = ?",
            turn.session_id,
        )
        return notes.NotesProgress(
            context_tokens=turn.context_tokens,
            tool_calls=int(str(calls)),
            noted_tokens=None if noted is None else int(str(noted)),
            noted_tool_calls=int(str(noted_calls)),
            asks_for_tools=not turn.complete,
        )

    def _record_progress(self, session_id: str, turns: Sequence[Turn]) -> None:
        self._database.run(
            "insert into session_notes (session_id, noted_tokens, covered) values (?, ?, ?)"
            " on conflict (session_id) do update set noted_tokens = excluded.noted_tokens,"
            " noted_tool_calls = tool_calls, covered = excluded.covered",
            session_id,
            turns[-1].context_tokens,
            turns[-1].ended,
        )

    def _covered(self, session_id: str) -> str:
        rows = self._database.run(
            "select covered from session_notes where session_id = ?", session_id
        )
        return str(rows[0][0]) if rows else ""

    def _template(self) -> str:
        """The user's own template; empty if there is none with a heading."""
        text = self._users_text("template.md")
        return text if notes.titles_of(text) else ""

    def _users_text(self, name: str) -> str:
        path = Path(paths.session_notes_template(self._places)).with_name(name)
        try:
            return decoded(read_plain(path, USERS_TEXT_BYTES))
        except OSError:
            return ""


def turns_in(transcript: str) -> list[Turn]:
    """The turns of a session that are not on a dead branch, the current one included."""
    above, name = os.path.split(transcript)
    root, folder = os.path.split(above)
    try:
        with open_transcript(root, f"{folder}/{name}") as file:
            history = living_history(read_entries(file.chunks(0, ALL_BYTES)))
    except OSError:
        return []
    return [one for one in history if isinstance(one, Turn)]


def write_notes(transcript: str, text: str) -> None:
    """Writes the notes beside their transcript, durably and nowhere else."""
    notes_path, folder = paths.session_notes(transcript), str(Path(transcript).parent)
    inside = notes_path.removeprefix(f"{folder}/")
    with Folder.open(folder) as opened:
        current = opened.current(inside)
        opened.write(inside, text.encode(), over=current.version if current else None)


def _notes_at(path: Path) -> NotesAnswer | None:
    """Notes as a model may see them; a person may have edited or removed them."""
    try:
        text = presentable(decoded(read_plain(path, NOTES_BYTES)))
    except OSError:
        return None
    modified = modified_at(path)
    return NotesAnswer(text, iso_time(modified), path.parent.parent.name, modified)


def _head_of(transcript: Path) -> bytes:
    try:
        with transcript.open("rb") as file:
            return file.read(HEAD_BYTES)
    except OSError:
        return b""


def _current(transcript: str) -> str:
    written = _notes_at(Path(paths.session_notes(transcript)))
    return written.text if written else ""


def _excerpts(turns: Sequence[Turn], template: str) -> str:
    return mask(note_excerpts.extracted(turns, template))


def _within_limits(answer: str) -> str:
    return mask(notes.render(notes.sections_of(answer)))
