"""What the agent itself saved in a turn, however it did so, and whether that covers a statement.

Rules
- A write is a call that did not fail and that changes a memory folder: by an editing tool, by our
  own `remember` tool under whatever name the server has, or by a shell command that redirects,
  copies or moves something there.
- Of a shell command the targets are recognised as far as they are written out. If the command only
  names the folder and writes something, it is a write to an unknown file.
- A statement is saved already if one passage of what was written has most of its significant terms
  and does not say the opposite. So other things that were said in the same turn are still saved.
"""

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Final

import msgspec

from memoryd.extraction.rules.restatement import is_negated
from memoryd.text.lazy_regex import late
from memoryd.text.terms import terms_of
from memoryd.transcripts.rules.turns import Turn, TurnPart

SAVED_SHARE: Final = 0.7
SAME_MATTER_SHARE: Final = 0.5
PASSAGE_TERMS: Final = 40

# They are in any note, and say nothing about its subject.
_OF_ANY_NOTE: Final = """
    always never ever only use using used please must should shall need needs want wants prefer
    prefers like ask asked say said tell told remember keep note memory person user agent assistant
    rule apply why how when make sure let new do
"""

_SENTENCE_END = late(r"(?<=[.!?。！？])\s*|\n+")  # noqa: RUF001 - wide marks too
_EDITS: Final = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
_REMEMBER = late(r"mcp__(?:\w+_)?memoryd__remember")
_SAVED_AS = late(r"Saved as (\S+?)\.(?:\s|$)")
_SHELLS: Final = frozenset({"Bash", "PowerShell"})
_WORD: Final = r"(\"[^\"\n]+\"|'[^'\n]+'|[^\s\"'<>|;&()]+)"
_NO_FILE = late(r"(?:\d|&)?>>?\s*(?:/dev/\w+|&\d)")
_REDIRECT = late(rf"(?<![<\d&-])>>?\|?\s*{_WORD}")
_TEE = late(rf"\btee\s+(?:-\S+\s+)*{_WORD}")
_COPY = late(rf"\b(?:cp|mv|install|ln)\s+(?:-\S+\s+)*{_WORD}\s+(?:\S+\s+)*?{_WORD}\s*(?:$|[;&|\n])")
_CHANGES_FOLDER = late(rf"\bcd\s+{_WORD}")
_WRITES = late(r">|\b(?:tee|cp|mv|install|rsync|dd)\b|\bsed\b.*\s-i|write_text|\bopen\(")
_HOME: Final = ("~/", "$HOME/", "${HOME}/")
_HOME_PARTS_LEAST: Final = 2


class AgentWrite(msgspec.Struct, frozen=True):
    """A memory that the agent wrote; an empty `file` is unknown, an empty `text` too."""

    file: str
    text: str


def saved_by_agent(turn: Turn, folders: Sequence[str]) -> list[AgentWrite]:
    """All that the agent saved in a turn."""
    found = [write for folder in folders for write in writes_into(folder, turn)]
    found += [_remembered(turn, call) for call in _calls(turn) if _REMEMBER.fullmatch(call.tool)]
    return list(dict.fromkeys(found))


def writes_into(folder: str, turn: Turn) -> list[AgentWrite]:
    """What the turn's tools and commands wrote in a folder; files are relative to it."""
    found = [write for call in _calls(turn) for write in _writes_of(call, folder, turn.cwd)]
    named = {write.file for write in found}
    paths = (posixpath.join(turn.cwd, file) for file in turn.files_written)
    # The calls of a long turn may be gone; its files are not.
    files = (file for path in paths if (file := _inside(folder, path)) and file not in named)
    return [*found, *(AgentWrite(file, "") for file in files)]


def is_saved(text: str, saved: Iterable[str]) -> bool:
    """Whether one of these texts says what a statement says."""
    terms = frozenset(_significant_terms(text))
    return bool(terms) and any(
        _has_most(terms, one) and not _is_opposite(text, terms, one) for one in saved
    )


def _has_most(terms: frozenset[str], text: str) -> bool:
    found = _passages(_significant_terms(text))
    return any(len(terms & passage) >= SAVED_SHARE * len(terms) for passage in found)


def _is_opposite(statement: str, terms: frozenset[str], text: str) -> bool:
    """Whether the sentences on the same matter all forbid what the statement asks for, or v.v."""
    on_it = [
        sentence
        for sentence in _SENTENCE_END.split(text)
        if len(terms & frozenset(_significant_terms(sentence))) >= SAME_MATTER_SHARE * len(terms)
    ]
    return bool(on_it) and all(is_negated(one) != is_negated(statement) for one in on_it)


def _calls(turn: Turn) -> Iterator[TurnPart]:
    failed = {part.tool_use_id for part in turn.tool_outputs if part.is_error}
    return (call for call in turn.tool_calls if call.tool_use_id not in failed)


def _writes_of(call: TurnPart, folder: str, cwd: str) -> Iterator[AgentWrite]:
    if call.tool in _EDITS:
        path = _given(call, "file_path") or _given(call, "notebook_path")
        if file := _inside(folder, posixpath.join(cwd, path)):
            yield AgentWrite(file, _content(call))
    elif call.tool in _SHELLS:
        command = _given(call, "command") or call.text
        yield from _shell_writes(_NO_FILE.sub(" ", command), folder, cwd)


def _shell_writes(command: str, folder: str, cwd: str) -> Iterator[AgentWrite]:
    base = cwd
    if moved := _CHANGES_FOLDER.search(command):
        base = _resolved(moved[1], folder, cwd)
    targets = [one[1] for pattern in (_REDIRECT, _TEE) for one in pattern.finditer(command)]
    for copy in _COPY.finditer(command):
        target = _resolved(copy[2], folder, base)
        into = posixpath.join(target, posixpath.basename(_bare(copy[1])))
        targets.append(into if target == folder else copy[2])
    files = [file for one in targets if (file := _inside(folder, _resolved(one, folder, base)))]
    yield from (AgentWrite(file, command) for file in files)
    names_folder = any(suffix in command for suffix in (folder, *_home_suffixes(folder)))
    if not files and names_folder and _WRITES.search(command):
        yield AgentWrite("", command)


def _resolved(word: str, folder: str, cwd: str) -> str:
    path = _bare(word)
    for home in _HOME:
        if path.startswith(home):
            rest = path.removeprefix(home)
            for suffix in _home_suffixes(folder):
                if rest == suffix or rest.startswith(f"{suffix}/"):
                    return posixpath.normpath(folder + rest.removeprefix(suffix))
            return path
    return posixpath.normpath(posixpath.join(cwd, path))


def _home_suffixes(folder: str) -> Iterator[str]:
    """What may follow the home folder in the path, the longest first; we need not know the home."""
    parts = folder.strip("/").split("/")
    for start in range(1, len(parts) - _HOME_PARTS_LEAST + 1):
        yield "/".join(parts[start:])


def _inside(folder: str, path: str) -> str:
    """The path relative to the folder; empty if it is elsewhere."""
    normal = posixpath.normpath(path)
    return normal.removeprefix(f"{folder}/") if normal.startswith(f"{folder}/") else ""


def _bare(word: str) -> str:
    return word.strip("\"'")


def _remembered(turn: Turn, call: TurnPart) -> AgentWrite:
    outputs = (part.text for part in turn.tool_outputs if part.tool_use_id == call.tool_use_id)
    named = _SAVED_AS.search(next(outputs, ""))
    return AgentWrite(posixpath.basename(named[1]) if named else "", _content(call))


def _content(call: TurnPart) -> str:
    """The texts that a call writes; the whole input if it was cut."""
    given = _decoded(call)
    if given is None:
        return call.text.replace("\\n", " ")
    edits = given.get("edits")
    sources = [given, *(edits if isinstance(edits, list) else [])]
    keys = ("name", "description", "content", "text", "new_string", "new_source")
    found = [one.get(key) for one in sources if isinstance(one, dict) for key in keys]
    return "\n".join(text for text in found if isinstance(text, str))


def _given(call: TurnPart, key: str) -> str:
    value = (_decoded(call) or {}).get(key)
    return value if isinstance(value, str) else ""


def _decoded(call: TurnPart) -> dict[str, object] | None:
    try:
        return msgspec.json.decode(call.text, type=dict[str, object])
    except (ValueError, RecursionError):
        return None


def _significant_terms(text: str) -> list[str]:
    """The terms that say what a text is about, in order."""
    ignored = _insignificant()
    return [term for term in terms_of(text) if term not in ignored]


@cache
def _insignificant() -> frozenset[str]:
    return frozenset(terms_of(_OF_ANY_NOTE))


def _passages(terms: Sequence[str]) -> list[frozenset[str]]:
    """The terms in overlapping passages, so that any half passage is whole in one of them."""
    starts = range(0, max(len(terms) - PASSAGE_TERMS // 2, 1), PASSAGE_TERMS // 2)
    found = (frozenset(terms[start : start + PASSAGE_TERMS]) for start in starts)
    return [passage for passage in found if passage]
