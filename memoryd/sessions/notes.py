"""Writes the notes of running sessions, and serves them after a compaction, a resume, or later.

Rules
- One run per session at a time; what arrives meanwhile is covered by one more run.
- A model writes them at the thresholds (`rules/notes`), also in the middle of a long turn, before a
  compaction and at the session's end; there, excerpts of what is new are added at once. Of a turn
  that it has read in part it is sent the rest.
- Without one, or while it is unavailable or over budget, they are excerpts, which cost nothing:
  they are refreshed at every finished turn, unless reading the transcript takes long. A model with
  few calls is not asked at the thresholds; what it wrote stays until the next pause.
- "The last session" is the last one that a person held and that has ended: not a scripted run, and
  not one that is still open elsewhere.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
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
from memoryd.sessions.note_files import (
    NotesAnswer,
    current_text,
    head_of,
    notes_at,
    turns_in,
    write_notes,
)
from memoryd.sessions.notes_table import NotesTable
from memoryd.sessions.rules import note_excerpts, notes
from memoryd.system.background import Soon
from memoryd.system.database import Database
from memoryd.system.plain_file import modified_at, read_plain
from memoryd.text.decode import decoded
from memoryd.text.masking.mask import mask
from memoryd.transcripts.rules.open_turn import OpenTurn
from memoryd.transcripts.rules.turns import Turn
from memoryd.transcripts.turn_table import QueuedTurn

USERS_TEXT_BYTES: Final = 64 * 1024
ANSWER_TOKENS: Final = 16_000
MOST_TURNS_SENT: Final = 40
CHEAP_SECONDS: Final = 0.1
SCRIPTED_ENTRYPOINT: Final = b'"entrypoint":"sdk'

log = structlog.get_logger(__name__)


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
        self._table = NotesTable(database)
        self._run_soon = run_soon
        self._writer = writer
        self._now = now
        self._off_for = off_for
        self._running: set[str] = set()
        self._again: dict[str, bool] = {}
        self._slow: set[str] = set()
        self._kept: set[str] = set()
        self._open: dict[str, OpenTurn] = {}

    def turn_grew(self, turn: OpenTurn) -> None:
        """Writes the notes, in the background, if a turn that still runs has made them due."""
        before = self._open.get(turn.session_id)
        self._open[turn.session_id] = turn
        is_longer = before is None or before.context_tokens != turn.context_tokens
        if is_longer and turn.session_id not in self._running:
            self._run_soon("notes", lambda: self.turn_runs(turn))

    async def turn_runs(self, turn: OpenTurn) -> None:
        if turn.session_id in self._kept or turn.session_id in self._running:
            return
        progress = await anyio.to_thread.run_sync(self._progress_with, turn)
        if progress is not None and notes.notes_are_due(progress):
            transcript = f"{self._root}/{turn.path}"
            await self.freshen(turn.session_id, transcript, turn.cwd, at_pause=False)

    def _progress_with(self, turn: OpenTurn) -> notes.NotesProgress | None:
        """How far a session is with a turn that still runs; None if memory is off for it."""
        return None if self._off_for(turn.session_id) else self._table.with_open(turn)

    def turn_stored(self, queued: QueuedTurn) -> None:
        """Writes the notes, in the background, if this turn has made them due."""
        self._open.pop(queued.turn.session_id, None)
        transcript = f"{self._root}/{queued.path}"
        self._run_soon("notes", lambda: self.turn_ended(queued.turn, transcript))

    async def turn_ended(self, turn: Turn, transcript: str) -> None:
        if not turn.session_id:
            return
        progress = await anyio.to_thread.run_sync(self._progress_after, turn)
        if progress is None:
            return
        writer = self._writer
        is_cheap = (writer is None or writer.at_pauses) and turn.session_id not in self._slow
        # What a model with few calls wrote stays until the next pause: excerpts say less.
        if turn.session_id in self._kept:
            return
        if notes.notes_are_due(progress) or (is_cheap and progress.noted_tokens is not None):
            await self.freshen(turn.session_id, transcript, turn.cwd, at_pause=False)

    def _progress_after(self, turn: Turn) -> notes.NotesProgress | None:
        """Counts a finished turn, unless memory is off for its session. One wake-up for both."""
        if reason := self._off_for(turn.session_id):
            log.info("notes-off", session_id=turn.session_id, reason=reason)
            return None
        return self._table.count(turn)

    async def session_ended(self, session_id: str, cwd: str) -> None:
        """Brings notes that exist up to date with the last turns."""
        transcript = await anyio.to_thread.run_sync(self.transcript_of, session_id)
        if await anyio.to_thread.run_sync(self.written, session_id) is not None:
            await self.note_quickly(session_id, transcript)
            await self.freshen(session_id, transcript, cwd)
        self._slow.discard(session_id)
        self._kept.discard(session_id)

    async def note_quickly(self, session_id: str, transcript: str) -> None:
        """Adds the newest turns as excerpts, at once: the next reader cannot wait for a model."""
        if session_id in self._running or session_id in self._slow:
            return
        self._running.add(session_id)
        try:
            await anyio.to_thread.run_sync(self._note_quickly, session_id, transcript)
        finally:
            self._running.discard(session_id)

    def _note_quickly(self, session_id: str, transcript: str) -> None:
        turns, written = turns_in(transcript), current_text(transcript)
        covered = self._table.covered(session_id)
        unread = [notes.unread_of(turn, covered) for turn in turns if turn.ended > covered]
        if not unread or not written:
            return
        if note_excerpts.is_excerpt(written):
            write_notes(transcript, _excerpts(turns, self._template()))
        else:
            write_notes(transcript, mask(note_excerpts.with_newest(written, unread)))

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
        return notes_at(Path(paths.session_notes(self.transcript_of(session_id))))

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
            kept = notes_at(path)
            head = head_of(path.parent.parent.with_suffix(".jsonl"))
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
        running = self._open.get(session_id)
        turns = await anyio.to_thread.run_sync(turns_in, transcript)
        if not turns:
            return
        writer = self._writer
        if writer is not None and writer.at_pauses and not at_pause:
            writer = None
        calls = running.tool_calls if running else 0
        recorded = partial(self._table.record, session_id, turns[-1], uncounted_calls=calls)
        text, how = await self._compose(writer, session_id, transcript, turns, project)
        await anyio.to_thread.run_sync(write_notes, transcript, text)
        await anyio.to_thread.run_sync(recorded)
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
        current, covered = current_text(transcript), self._table.covered(session_id)
        fresh = [turn for turn in turns if turn.ended > covered][-MOST_TURNS_SENT:] or turns[-1:]
        opening = prompts.session_notes_opening(
            template,
            current,
            [text for turn in fresh for text in messages(notes.unread_of(turn, covered))],
            prompts.NotesLimits(notes.SECTION_TOKENS, notes.TOTAL_TOKENS),
            self._users_text("prompt.md"),
        )
        return template, opening

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


def _excerpts(turns: Sequence[Turn], template: str) -> str:
    return mask(note_excerpts.extracted(turns, template))


def _within_limits(answer: str) -> str:
    return mask(notes.render(notes.sections_of(answer)))
