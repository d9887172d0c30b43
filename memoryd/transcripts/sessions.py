"""The sessions of a project as a person wants to see them, read from their transcripts on demand.

A session belongs to every project in which one of its live turns took place. The transcript's
folder only says where to look first; what its lines say counts. Text is masked and stripped of
invisible characters, since it is shown in terminals and editors. Everything here blocks.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Final

import msgspec

from memoryd.base.errors import InvalidInput, NotFound, StorageError
from memoryd.base.file_stamp import FileStamp
from memoryd.system.cancellation import stop_if_cancelled
from memoryd.text.invisible import strip_invisible
from memoryd.text.masking.cut import masked_beginning
from memoryd.text.masking.mask import presentable
from memoryd.transcripts.file import ALL_BYTES, open_transcript
from memoryd.transcripts.rules.assembler import living_history, read_entries
from memoryd.transcripts.rules.session_view import conversation, summarize
from memoryd.transcripts.rules.turns import Compacted, Turn, TurnPart
from memoryd.transcripts.scan import scan
from memoryd.transcripts.turn_table import root_named

PEEK_BYTES: Final = 256 * 1024
MASKED_CHARS: Final = 10_000
FIRST_WORDS_CHARS: Final = 200
SHOWN_CHARS_MAX: Final = 4 * 1024 * 1024
KEPT: Final = 5000
NEWEST: Final = 200


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """One session as one row; `turns` counts those of a person."""

    session_id: str
    path: str
    cwd: str
    git_branch: str
    first_prompt: str
    turns: int
    compactions: int
    context_tokens: int
    output_tokens: int
    started: str
    last_activity: str


class Said(msgspec.Struct, frozen=True, omit_defaults=True):
    kind: str
    text: str
    at: str = ""


class WholeSession(Session, frozen=True, kw_only=True):
    """With what was said, oldest first; of a very long one, `parts_left_out` came before that."""

    parts: list[Said]
    parts_left_out: int = 0


class SessionPrompts(msgspec.Struct, frozen=True):
    """What a person said in a session, oldest first, not masked; `path` is its transcript."""

    path: str
    said: list[Said]


class _Known(msgspec.Struct, frozen=True):
    """What was found in a file while it had this stamp."""

    stamp: FileStamp
    projects: frozenset[str]
    session: Session | None


class Sessions:
    def __init__(self, root: str, root_of: Callable[[str], str]) -> None:
        self._root = root
        self._root_of = root_of
        self._first_projects: dict[str, tuple[int, str]] = {}
        self._known: OrderedDict[str, _Known] = OrderedDict()

    def of_project(self, cwd: str, limit: int) -> list[Session]:
        """Newest first."""
        project = self._root_of(cwd)
        files = scan(self._root).files
        found: list[Session] = []
        for path in sorted(files, key=lambda path: -files[path].mtime_ns):
            if self._may_belong(path, files[path], project):
                known = self._look_into(path, files[path])
                if known.session is not None and project in known.projects:
                    found.append(known.session)
            if len(found) == limit:
                break
        return found

    def projects_in(self, folder: str) -> set[str]:
        """The projects in which the newest sessions of one folder of transcripts began."""
        files = scan(self._root).files
        inside = [path for path in files if path.startswith(f"{folder}/")]
        inside.sort(key=lambda path: -files[path].mtime_ns)
        return {self._began_in(path, files[path]) for path in inside[:NEWEST]} - {""}

    def show(self, session_id: str) -> WholeSession:
        """The live branch, tool calls folded; a unique prefix of the id is enough."""
        path = self._find(session_id)
        try:
            history = self._history(path)
        except OSError as error:
            raise StorageError(f"{self._root}/{path}", "read", error) from error
        session = self._session(path, history)
        if session is None:
            raise NotFound(f"session {session_id} is still empty")
        parts = list(_newest(conversation(history)))
        said = [Said(part.kind, _clean(part.text), part.at) for part in reversed(parts)]
        return WholeSession(
            **msgspec.structs.asdict(session),
            parts=said,
            parts_left_out=len(conversation(history)) - len(said),
        )

    def prompts(self, session_id: str) -> SessionPrompts:
        """By its whole id: NotFound if the transcript is gone; StorageError if unreadable."""
        path = self._find(session_id)
        if _id_of(path) != session_id:
            raise NotFound(f"the transcript of session {session_id} is gone")
        try:
            history = self._history(path)
        except OSError as error:
            raise StorageError(f"{self._root}/{path}", "read", error) from error
        turns = (event for event in history if isinstance(event, Turn))
        said = [Said(part.kind, part.text, part.at) for turn in turns for part in turn.prompts]
        return SessionPrompts(f"{self._root}/{path}", said)

    def full_id(self, session_id: str) -> str:
        """The whole id of a session that its start names; as given if no session has it."""
        with suppress(NotFound):
            return _id_of(self._find(session_id))
        return session_id

    def _find(self, session_id: str) -> str:
        files = scan(self._root).files
        by_id: dict[str, str] = {}
        for path in sorted(files, key=lambda path: files[path].mtime_ns):
            by_id[_id_of(path)] = path
        matching = [one for one in by_id if session_id and one.startswith(session_id)]
        if session_id in by_id:
            return by_id[session_id]
        if len(matching) > 1:
            choices = ", ".join(sorted(matching)[:5])
            raise InvalidInput(
                f"{session_id!r} matches several sessions", hint=f"use one of {choices}"
            )
        if not matching:
            raise NotFound(
                f"there is no session {session_id!r}", hint="memoryd sessions lists them"
            )
        return by_id[matching[0]]

    def _may_belong(self, path: str, stamp: FileStamp, project: str) -> bool:
        """Whether the session began in the project, or is known to have moved there later."""
        known = self._known.get(path)
        if known is not None and project in known.projects:
            return True
        return self._began_in(path, stamp) == project

    def _began_in(self, path: str, stamp: FileStamp) -> str:
        inode, first = self._first_projects.get(path, (0, ""))
        if inode != stamp.inode or not first:
            first = self._first_project(path)
            self._first_projects[path] = (stamp.inode, first)
        return first

    def _first_project(self, path: str) -> str:
        try:
            with open_transcript(self._root, path) as file:
                for entry in read_entries(file.chunks(0, PEEK_BYTES)):
                    if entry.place.cwd:
                        return root_named(entry.place.cwd, self._root_of)
        except OSError:
            return ""
        return ""

    def _look_into(self, path: str, stamp: FileStamp) -> _Known:
        known = self._known.get(path)
        if known is None or known.stamp != stamp:
            try:
                history = self._history(path)
            except OSError:
                history = []
            cwds = {event.cwd for event in history if isinstance(event, Turn)}
            projects = frozenset(root_named(cwd, self._root_of) for cwd in cwds)
            known = _Known(stamp, projects, self._session(path, history))
            self._known[path] = known
            if len(self._known) > KEPT:
                self._known.popitem(last=False)
        return known

    def _history(self, path: str) -> list[Turn | Compacted]:
        with open_transcript(self._root, path) as file:
            return living_history(read_entries(file.chunks(0, ALL_BYTES)))

    def _session(self, path: str, history: list[Turn | Compacted]) -> Session | None:
        summary = summarize(history)
        if summary is None:
            return None
        own = {
            "session_id": _id_of(path),
            "path": f"{self._root}/{path}",
            "first_prompt": _first_words(history),
        }
        return Session(**(msgspec.structs.asdict(summary) | own))


def _id_of(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".jsonl")


def _newest(parts: list[TurnPart]) -> Iterator[TurnPart]:
    """Newest first, as many as can be shown."""
    chars = 0
    for part in reversed(parts):
        chars += len(part.text)
        if chars > SHOWN_CHARS_MAX:
            return
        yield part


def _first_words(history: Iterable[Turn | Compacted]) -> str:
    """Masked before shortening: a secret cut in two is not recognised."""
    prompts = (part.text for event in history if isinstance(event, Turn) for part in event.prompts)
    return masked_beginning(strip_invisible(next(prompts, "")[:MASKED_CHARS]), FIRST_WORDS_CHARS)


def _clean(text: str) -> str:
    stop_if_cancelled()  # masking a whole session takes a while
    return presentable(text)
