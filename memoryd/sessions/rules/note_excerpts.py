"""Session notes without a model: excerpts of what was said and done, marked as such.

Nothing here understands the text. What a person asked, which files and functions were touched,
which commands ran, what failed and what followed is copied, cut and put into its section.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from memoryd.sessions.rules.notes import SECTIONS, NotesSection, render, sections_of, titles_of
from memoryd.text.lazy_regex import late
from memoryd.text.shorten import cut_at_word, one_line
from memoryd.transcripts.rules.turns import Turn, TurnPart

PREFACE: Final = (
    "_Taken from the transcript without a model: excerpts, not a summary. What was meant has to be "
    "read from what was said._"
)
NOT_WITHOUT_A_MODEL: Final = "_Only a model can write this section._"
NOTHING_SEEN: Final = "_Nothing for this section was seen._"
PROMPT_CHARACTERS: Final = 600
ANSWER_CHARACTERS: Final = 1200
LINE_CHARACTERS: Final = 160
NEWEST: Final = 40

_FUNCTION = late(
    r"(?:\bdef|\bfunction|\bfunc|\bfn|\bclass|\binterface|\bstruct|\btype)\s+([A-Za-z_]\w{2,60})"
)


def extracted(turns: Sequence[Turn], template_text: str = "") -> str:
    """The notes of a session from its turns, oldest first, without those on dead branches."""
    found = {
        "Session Title": _title(turns),
        "Current State": _state(turns),
        "Task specification": _task(turns),
        "Files and Functions": _files(turns),
        "Workflow": _commands(turns),
        "Errors & Corrections": _errors(turns),
        "Key results": _results(turns),
        "Worklog": _worklog(turns),
    }
    titles = titles_of(template_text) or tuple(title for title, _ in SECTIONS)
    sections = [
        NotesSection(title, found[title] or NOTHING_SEEN if title in found else NOT_WITHOUT_A_MODEL)
        for title in titles
    ]
    return render(sections, PREFACE)


def is_excerpt(text: str) -> bool:
    """Whether notes were made here, not by a model."""
    return text.startswith(PREFACE)


def with_newest(written: str, unread: Sequence[Turn]) -> str:
    """A model's notes with what happened since: its state and worklog, until the model reads it."""
    state, worklog = _state(unread), _worklog(unread)
    sections = []
    for one in sections_of(written):
        if one.title == "Current State" and state not in one.text:
            sections.append(NotesSection(one.title, f"{state}\n\n{one.text}"))
        elif one.title == "Worklog" and worklog not in one.text:
            sections.append(NotesSection(one.title, f"{one.text}\n{worklog}"))
        else:
            sections.append(one)
    return render(sections)


def _title(turns: Sequence[Turn]) -> str:
    first = next((part.text for turn in turns for part in _asked(turn)), "")
    return _line(first, 80)


def _state(turns: Sequence[Turn]) -> str:
    if not turns:
        return ""
    last = turns[-1]
    asked = " ".join(_line(part.text, 300) for part in _asked(last)) or "(nothing new was asked)"
    lines = [f"Last asked: {asked}", f"That turn was {_ending(last)}."]
    if last.prose:
        lines.append(f"Last words: {cut_at_word(last.prose[-1].text.strip(), ANSWER_CHARACTERS)}")
    if last.git_branch:
        lines.append(f"Branch: {last.git_branch}; directory: {last.cwd}")
    return "\n".join(lines)


def _task(turns: Sequence[Turn]) -> str:
    asked = [part for turn in turns for part in _asked(turn)]
    return _list(
        cut_at_word(part.text.strip(), PROMPT_CHARACTERS)
        for part in asked[:1] + asked[1:][-NEWEST:]
    )


def _files(turns: Sequence[Turn]) -> str:
    written: dict[str, set[str]] = {}
    read: dict[str, None] = {}
    for turn in turns:
        for path in turn.files_written:
            written.setdefault(path, set())
        for call in turn.tool_calls:
            if call.tool in {"Write", "Edit", "MultiEdit"} and call.gist in written:
                written[call.gist].update(_FUNCTION.findall(call.text))
            elif call.tool == "Read" and call.gist:
                read[call.gist] = None
    changed = [
        f"changed {path}" + (f" ({', '.join(sorted(names)[:12])})" if names else "")
        for path, names in written.items()
    ]
    return _list([*changed, *(f"read {path}" for path in read if path not in written)][-80:])


def _commands(turns: Sequence[Turn]) -> str:
    counts: dict[str, int] = {}
    for turn in turns:
        for call in turn.tool_calls:
            if call.tool == "Bash" and call.gist:
                counts[_line(call.gist)] = counts.get(_line(call.gist), 0) + 1
    lines = [f"`{gist}`" + (f" ({n} times)" if n > 1 else "") for gist, n in counts.items()]
    return _list(lines[-NEWEST:])


def _errors(turns: Sequence[Turn]) -> str:
    """What failed or was interrupted, with what the person said next."""
    lines: list[str] = []
    for turn, after in zip(turns, [*turns[1:], None], strict=True):
        calls = {call.tool_use_id: call for call in turn.tool_calls}
        for output in turn.tool_outputs:
            if output.is_error:
                what = calls.get(output.tool_use_id)
                name = f"{what.tool} {_line(what.gist, 60)}" if what else "a tool"
                lines.append(f"failed: {name}, which printed {_printed(output.text)}")
        if turn.ending in {"interrupted", "api_error", "refusal"}:
            then = "; then: " + _line(after.prompts[0].text) if after and after.prompts else ""
            lines.append(f"{_ending(turn)}{then}")
    return _list(lines[-NEWEST:])


def _results(turns: Sequence[Turn]) -> str:
    finals = [turn.final for turn in turns if turn.final]
    return "\n\n".join(cut_at_word(text.strip(), ANSWER_CHARACTERS) for text in finals[-3:])


def _worklog(turns: Sequence[Turn]) -> str:
    lines = []
    for turn in turns:
        asked = " / ".join(_line(part.text, 100) for part in _asked(turn)) or "(continued)"
        tools = f", {turn.tool_call_count} tool calls" if turn.tool_call_count else ""
        lines.append(f"{turn.started[:16].replace('T', ' ')} {asked}: {_ending(turn)}{tools}")
    return _list(lines)


def _asked(turn: Turn) -> list[TurnPart]:
    return [part for part in turn.prompts if part.source != "bash" and part.text.strip()]


def _ending(turn: Turn) -> str:
    words = {"api_error": "ended by an error", "local_command": "a command"}
    return words.get(turn.ending, turn.ending.replace("_", " "))


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines if line.strip())


def _printed(text: str) -> str:
    """Nobody's words: in quotes that the text itself cannot close."""
    return f'"{_line(text).replace(chr(34), chr(39))}"'


def _line(text: str, limit: int = LINE_CHARACTERS) -> str:
    return cut_at_word(one_line(text), limit)
