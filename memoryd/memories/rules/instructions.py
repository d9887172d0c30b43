"""Which instruction files a session gets, in which order, and which must be approved first.

Rules:
- First the machine's CLAUDE.md, then the user's, then those of the project: in every directory from
  the root of the disk down to the working directory `CLAUDE.md` and `.claude/CLAUDE.md`, and after
  all of these the `CLAUDE.local.md` of each. Nearer files come later and so weigh more. With a
  `path`, the directories continue down to that file. Then rules: the machine's, the user's, and
  those of the directories; one with `paths` only if they match that file.
- A worktree inside its own repository already has that repository's files; they are not read again
  on the way down, except CLAUDE.local.md, which no worktree has.
- An import follows its importer, at most five levels deep. A file is served once, so a cycle ends.
- A repository must not reach outside itself. What its files import or link to must be in the
  working tree or inside what the user approved; otherwise it is not read, only listed. Links are
  resolved before that is decided, and the resolved path is the one that is read. The machine's and
  the user's files may import anything, but what they import from the working tree may not.
- The working tree is that of the nearest repository, or else the working directory. A repository
  that contains the whole home does not count: a downloaded folder in it must not reach the rest.
- `claudeMdExcludes` leaves files out by absolute path, never the machine's.
- Only regular text files of at most 1 MiB are read. One over 40,000 characters is flagged.
"""

import posixpath
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, Literal, Protocol

import msgspec
from msgspec import structs

from memoryd.base.errors import InvalidInput
from memoryd.base.paths import Places, expand_home, path_is_usable
from memoryd.memories.rules.instruction_text import InstructionDocument
from memoryd.memories.rules.path_globs import Globs, TooInvolved
from memoryd.memories.rules.project_root import FileSystem, root_at, upward

READ_LIMIT_BYTES: Final = 1024 * 1024
LONG_CHARACTERS: Final = 40_000
IMPORT_LEVELS: Final = 5
FILES_LIMIT: Final = 500
TOTAL_CHARACTERS: Final = 4_000_000
RULES_LIMIT: Final = 200
RULE_LEVELS: Final = 8

EXCLUDES_IGNORED: Final = "claudeMdExcludes is ignored: it could be matched in too many ways"

InstructionKind = Literal["managed", "user", "project", "local", "rule"]


class InstructionFiles(FileSystem, Protocol):
    """The file system for instructions; no method raises."""

    def names_in(self, folder: str) -> Sequence[str]:
        """The names in a folder in a fixed order; empty if it cannot be listed."""

    def document(self, path: str) -> InstructionDocument | None:
        """A parsed text file; None if it is missing, unreadable, too long or not regular text."""


class Instruction(msgspec.Struct, frozen=True, kw_only=True):
    """One file as it is served."""

    kind: InstructionKind
    path: str
    text: str
    warning: str = ""


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """`needs_approval` holds real paths; `warnings` say what was left out or is too long."""

    instructions: tuple[Instruction, ...] = ()
    needs_approval: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class SessionLocation(msgspec.Struct, frozen=True, kw_only=True):
    """Where a session is; all paths are real ones, and `folders` leads from the root downwards.

    `tree` is the working tree, `main` that of the repository's main worktree, `file` what the
    session is about to work on.
    """

    tree: str
    main: str
    folders: tuple[str, ...]
    file: str | None = None

    def repeats(self, directory: str) -> bool:
        """Whether the directory has another version of what is checked out at `tree`."""
        return is_inside(directory, self.main) and not is_inside(directory, self.tree)


def load(
    cwd: str,
    files: InstructionFiles,
    places: Places,
    *,
    path: str | None = None,
    excludes: Sequence[str] = (),
    approved: frozenset[str] = frozenset(),
    every_rule: bool = False,
) -> Loaded:
    """Everything for a session in `cwd`; InvalidInput if `path` is not a path.

    `every_rule` takes the rules that are meant for some files too.
    """
    location = session_location(cwd, files, places, path)
    loader = _Loader(files, places, location, excludes, approved, every_rule=every_rule)
    loader.run()
    return Loaded(
        instructions=tuple(loader.found),
        needs_approval=tuple(loader.needs_approval),
        warnings=tuple(loader.warnings),
    )


def session_location(
    cwd: str, files: FileSystem, places: Places, path: str | None
) -> SessionLocation:
    start = files.real_path(cwd)
    home = files.real_path(places.home)
    trees = (one for one in upward(start) if root_at(one, files) is not None)
    tree = next((one for one in trees if not is_inside(home, one)), start)
    folders = [*upward(start)][::-1]
    file = None
    if path is not None:
        file = _named_file(path, start, files, places)
        folder = file if files.is_dir(file) else posixpath.dirname(file)
        further = [one for one in upward(folder) if is_inside(one, tree) and one not in folders]
        folders += further[::-1]
    main = root_at(tree, files) or tree
    return SessionLocation(tree=tree, main=main, folders=tuple(folders), file=file)


def is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(posixpath.join(folder, ""))


def _named_file(path: str, cwd: str, files: FileSystem, places: Places) -> str:
    """The file by its real folder and its own name: a link means itself, not its target."""
    full = posixpath.normpath(posixpath.join(cwd, expand_home(path, places.home)))
    if not path_is_usable(full):
        raise InvalidInput("path must be the path of a file")
    folder, name = posixpath.split(full)
    return posixpath.join(files.real_path(folder), name)


class _Origin(msgspec.Struct, frozen=True, kw_only=True):
    """What made us read a file, and what it may therefore reach.

    With `within`, only that folder and the working tree; `rules_of` is the folder that the `paths`
    of a rule are relative to.
    """

    kind: InstructionKind
    within: str | None = None
    rules_of: str = ""
    can_be_excluded: bool = True


class _Loader:
    def __init__(
        self,
        files: InstructionFiles,
        places: Places,
        location: SessionLocation,
        excludes: Sequence[str],
        approved: frozenset[str],
        *,
        every_rule: bool = False,
    ) -> None:
        self._every_rule = every_rule
        self._files = files
        self._places = places
        self._location = location
        self._approved = approved
        self._served: set[str] = set()
        self._entered: set[str] = set()
        self._characters = 0
        self.found: list[Instruction] = []
        # Dicts as ordered sets: each path or warning is listed once.
        self.needs_approval: dict[str, None] = {}
        self.warnings: dict[str, None] = {}
        try:
            self._excludes = Globs(expand_home(glob, places.home) for glob in excludes)
        except TooInvolved:
            self._excludes = Globs(())
            self._warn(EXCLUDES_IGNORED)

    def run(self) -> None:
        places, location = self._places, self._location
        managed = _Origin(kind="managed", can_be_excluded=False)
        self._take(places.managed_instructions_file, managed)
        self._take(f"{places.claude_dir}/CLAUDE.md", _Origin(kind="user"))
        for folder in location.folders:
            if not location.repeats(folder):
                origin = _Origin(kind="project", within=folder)
                self._take(posixpath.join(folder, "CLAUDE.md"), origin)
                self._take(posixpath.join(folder, ".claude/CLAUDE.md"), origin)
        for folder in location.folders:
            local = posixpath.join(folder, "CLAUDE.local.md")
            self._take(local, _Origin(kind="local", within=folder))
        managed = _Origin(kind="rule", rules_of=location.tree, can_be_excluded=False)
        self._take_rules(places.managed_rules_dir, managed)
        self._take_rules(f"{places.claude_dir}/rules", _Origin(kind="rule", rules_of=location.tree))
        for folder in location.folders:
            if not location.repeats(folder):
                origin = _Origin(kind="rule", within=folder, rules_of=folder)
                self._take_rules(posixpath.join(folder, ".claude/rules"), origin)

    def _take_rules(self, folder: str, origin: _Origin) -> None:
        for path in islice(self._rule_files(folder, origin, RULE_LEVELS), RULES_LIMIT):
            self._take(path, origin)

    def _rule_files(self, folder: str, origin: _Origin, levels: int) -> Iterator[str]:
        if not levels or not self._files.is_dir(folder) or len(self._entered) >= RULES_LIMIT:
            return
        real = self._files.real_path(folder)
        if real in self._entered or not self._may_be_read(folder, real, origin):
            return
        self._entered.add(real)
        for name in self._files.names_in(real):
            path = posixpath.join(folder, name)
            if name.endswith(".md"):
                yield path
            else:
                yield from self._rule_files(path, origin, levels - 1)

    def _take(self, path: str, origin: _Origin, level: int = 0) -> None:
        """Serves one file and what it imports, if it exists, is new, wanted and allowed."""
        if not self._files.is_file(path):
            return
        real = self._files.real_path(path)
        if real in self._served or self._is_excluded(path, real, origin):
            return
        if not self._may_be_read(path, real, origin) or self._is_full():
            return
        document = self._files.document(real)
        name = real if level else path
        if document is None:
            limit = f"{READ_LIMIT_BYTES:,} bytes"
            self._warn(f"{name} is left out: it is not a text file of at most {limit}")
        elif self._is_wanted(name, document, origin):
            self._served.add(real)
            self._serve(name, document, origin)
            if level < IMPORT_LEVELS:
                self._take_imports(name, real, document, origin, level)

    def _take_imports(
        self, path: str, real: str, document: InstructionDocument, origin: _Origin, level: int
    ) -> None:
        from_repository = level > 0 and is_inside(real, self._location.tree)
        within = self._location.tree if origin.within is not None or from_repository else None
        onward = structs.replace(origin, within=within, rules_of="")
        for mention in document.imports:
            named = expand_home(mention, self._places.home)
            self._take(posixpath.join(posixpath.dirname(path), named), onward, level + 1)

    def _serve(self, path: str, document: InstructionDocument, origin: _Origin) -> None:
        text = document.body if origin.rules_of else document.whole
        warning = ""
        if document.characters > LONG_CHARACTERS:
            warning = (
                f"{path} has {document.characters:,} characters; beyond {LONG_CHARACTERS:,},"
                " instructions tend to be overlooked: shorten it, or split it into rules"
            )
            self._warn(warning)
        if text := text.strip("\n"):
            self.found.append(Instruction(kind=origin.kind, path=path, text=text, warning=warning))
            self._characters += len(text)

    def _is_wanted(self, path: str, document: InstructionDocument, origin: _Origin) -> bool:
        """Whether a rule applies to the current file; everything else always does."""
        if not origin.rules_of or document.globs is None or self._every_rule:
            return True
        file, folder = self._location.file, posixpath.join(origin.rules_of, "")
        if file is None or not file.startswith(folder):
            return False
        try:
            return Globs(document.globs).match(file.removeprefix(folder))
        except TooInvolved:
            self._warn(f"{path} is left out: its paths could be matched in too many ways")
            return False

    def _is_excluded(self, path: str, real: str, origin: _Origin) -> bool:
        try:
            return origin.can_be_excluded and any(
                self._excludes.match(one.removeprefix("/")) for one in (path, real)
            )
        except TooInvolved:
            self._warn(EXCLUDES_IGNORED)
            return False

    def _may_be_read(self, path: str, real: str, origin: _Origin) -> bool:
        """Whether its origin may reach it; if not, it is listed as needing approval."""
        if origin.within is None:
            return True
        if is_inside(real, self._location.tree) or is_inside(real, origin.within):
            return True
        if not self._approved.isdisjoint(upward(real)):
            return True
        self.needs_approval[real] = None
        self._warn(f"{path} leads outside the project, to {real}: left out until approved")
        return False

    def _is_full(self) -> bool:
        if len(self.found) < FILES_LIMIT and self._characters < TOTAL_CHARACTERS:
            return False
        self._warn("there are more instructions than any session can use: the rest is left out")
        return True

    def _warn(self, words: str) -> None:
        self.warnings[words] = None
