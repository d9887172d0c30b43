"""Write and Edit: how a model changes the memories of its run.

Rules
- Only Markdown files of the run's one memory directory are changed, and none can be deleted.
- An Edit, and a Write over an existing file, need a Read of that exact version in this run. The
  run's own write counts as one.
- A memory that is written whole has a header (name, description, type) and a body; an Edit must
  not remove either.
- Writes go through the store, so that they are masked, versioned and indexed. The kernel confines
  them to the folders of the memories and of the history.
- If a provenance checker is set, every write passes through it: it records where a text comes from,
  and refuses what may not come from there.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Protocol

import msgspec

from memoryd.agent.rules import access
from memoryd.agent.rules.access import Denied
from memoryd.agent.rules.tool_schemas import EditInput, WriteInput
from memoryd.agent.view import Page, View, as_denials
from memoryd.base.errors import InvalidInput, NotFound, Refused, StorageError
from memoryd.memories.records import Stored
from memoryd.memories.rules import topics
from memoryd.memories.store import TOPIC_LIMIT_BYTES, Store
from memoryd.memories.version_table import Cause
from memoryd.system.folder import Folder
from memoryd.system.landlock import Fence, run_fenced
from memoryd.text.invisible import strip_invisible
from memoryd.text.masking.mask import presentable


class WrittenMemory(msgspec.Struct, frozen=True):
    """A text to write; `over` is the version it replaces, None for a new file."""

    file: str
    text: str
    over: str | None


class MemoryDraft(msgspec.Struct, frozen=True):
    """A memory as the model wants it; `before` is the current one, None if it is new."""

    file: str
    text: str
    before: Stored | None


class ProvenanceCheck(Protocol):
    def was_shown(self, text: str) -> None:
        """A tool of the run has printed this."""

    def attested(self, draft: MemoryDraft) -> str:
        """The text with its provenance added; Denied if it may not be written."""


class WriteTarget(Protocol):
    """Where Write and Edit go in a run."""

    def saw(self, page: Page) -> None:
        """The run has read this."""

    def was_shown(self, text: str) -> None:
        """A tool of the run has printed this."""

    def whole(self, write: WriteInput) -> WrittenMemory:
        """Prepares a Write; Denied if it is not allowed."""

    def edited(self, edit: EditInput) -> WrittenMemory:
        """Prepares an Edit; Denied if it is not allowed."""

    def put(self, change: WrittenMemory) -> Stored:
        """Makes a prepared change."""


class MemoryWriter:
    """Prepares and makes changes, and knows which versions the run has read. Blocks."""

    def __init__(
        self,
        view: View,
        store: Store,
        *,
        cause: Cause,
        session_id: str,
        state_folder: str,
        provenance: ProvenanceCheck | None = None,
    ) -> None:
        self._view = view
        self._store = store
        self._cause: Cause = cause
        self._session_id = session_id
        self._state_folder = state_folder
        self._provenance = provenance
        self._seen: dict[str, str] = {}

    def saw(self, page: Page) -> None:
        """Allows changing the file, as long as it is still this version."""
        if access.is_beneath(page.path, self._view.memory_root):
            self._seen[os.path.relpath(page.path, self._view.memory_root)] = page.version
        else:
            self.was_shown(page.text)

    def was_shown(self, text: str) -> None:
        if self._provenance is not None:
            self._provenance.was_shown(text)

    def whole(self, write: WriteInput) -> WrittenMemory:
        file = self._file(write.file_path)
        text = strip_invisible(write.content)
        _check_memory(text)
        before = self._current(file)
        over = self._seen_version(before) if before else None
        return WrittenMemory(file, self._attested(MemoryDraft(file, text, before)), over)

    def edited(self, edit: EditInput) -> WrittenMemory:
        file = self._file(edit.file_path)
        before = self._current(file)
        if before is None:
            raise Denied("no-file", "there is no such memory; Write it whole")
        over = self._seen_version(before)
        # As the model has read it; the store would mask it anyway.
        old = presentable(before.text)
        text = strip_invisible(replaced(old, edit))
        if _is_memory(old):
            _check_memory(text)
        return WrittenMemory(file, self._attested(MemoryDraft(file, text, before)), over)

    def put(self, change: WrittenMemory) -> Stored:
        """Stores the change; Denied if the file has changed meanwhile."""
        memory = self._view.memory
        write = partial(
            self._store.write,
            memory,
            change.file,
            change.text,
            over=change.over,
            cause=self._cause,
            session_id=self._session_id,
        )
        with ExitStack() as opened, as_denials(), _write_errors_as_denials(change):
            folders = (
                opened.enter_context(Folder.open(memory.path, beneath=memory.beneath, create=True)),
                opened.enter_context(Folder.open(self._state_folder)),
            )
            stored = run_fenced(Fence(writable=tuple(one.handle for one in folders)), write)
        self._seen[stored.file] = stored.version
        return stored

    def _attested(self, draft: MemoryDraft) -> str:
        if self._provenance is None:
            return draft.text
        with as_denials():
            return self._provenance.attested(draft)

    def _file(self, path: str) -> str:
        return access.file_to_write(path, (self._view.memory.path, self._view.memory_root))

    def _current(self, file: str) -> Stored | None:
        with as_denials():
            try:
                return self._store.read(self._view.memory, file)
            except NotFound:
                return None

    def _seen_version(self, stored: Stored) -> str:
        seen = self._seen.get(stored.file)
        if seen is None:
            raise Denied("read-first", f"{stored.file} already exists; Read it first")
        if seen != stored.version:
            raise Denied("changed", "it has changed since you read it; Read it again")
        return seen


def replaced(text: str, edit: EditInput) -> str:
    """The text after the edit; Denied if it is not clear what to replace."""
    if "\r\n" in text:
        # Read does not show line endings, so the model cannot give them.
        old, new = _with_crlf(edit.old_string), _with_crlf(edit.new_string)
        edit = msgspec.structs.replace(edit, old_string=old, new_string=new)
    count = text.count(edit.old_string) if edit.old_string else 0
    if count == 0:
        raise Denied("no-match", "old_string is not in the file; copy it exactly as Read shows it")
    if edit.old_string == edit.new_string:
        raise Denied("no-match", "old_string and new_string are the same")
    if count > 1 and not edit.replace_all:
        raise Denied(
            "ambiguous",
            f"old_string is in the file {count} times; add lines around it, or set replace_all",
        )
    if len(text) + count * (len(edit.new_string) - len(edit.old_string)) > TOPIC_LIMIT_BYTES:
        raise _too_large()
    return text.replace(edit.old_string, edit.new_string)


def _with_crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _check_memory(text: str) -> None:
    topic = topics.parse(text)
    if not (topic.name and topic.description and topic.type):
        raise Denied(
            "no-header",
            "a memory starts with a header between two lines of ---, with name, description and"
            f" type, which is one of {', '.join(topics.TYPES)}",
        )
    if not topic.body.strip():
        raise Denied(
            "empty",
            "a memory needs a text below its header; to retire it, name it under `supersedes:` in"
            " the header of the memory that takes its place",
        )


def _is_memory(text: str) -> bool:
    try:
        _check_memory(text)
    except Denied:
        return False
    return True


def _too_large() -> Denied:
    return Denied("too-large", f"a memory may have at most {TOPIC_LIMIT_BYTES} bytes")


@contextmanager
def _write_errors_as_denials(change: WrittenMemory) -> Iterator[None]:
    try:
        yield
    except InvalidInput as error:
        raise _too_large() from error
    except Refused as error:
        if change.over is not None:
            raise
        words = "use lower-case letters, digits, - and _ in the name of a new file, and end it .md"
        raise Denied("bad-name", words) from error
    except StorageError as error:
        words = "a disk error prevents the write; go on without it"
        raise Denied("storage", words) from error
