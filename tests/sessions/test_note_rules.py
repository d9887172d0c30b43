"""Notes are written when due, keep their sections and stay within their limits."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.sessions.rules import notes
from memoryd.sessions.rules.note_excerpts import NOT_WITHOUT_A_MODEL, extracted
from memoryd.sessions.rules.notes import NotesProgress, NotesSection, notes_are_due
from memoryd.transcripts.rules.assembler import living_history, read_entries
from memoryd.transcripts.rules.turns import Turn

FIXTURES = Path(__file__).parents[1] / "data/claude-code"


@pytest.mark.parametrize(
    ("progress", "due"),
    [
        (NotesProgress(9_999, 50), False),
        (NotesProgress(10_000, 0), True),
        (NotesProgress(14_999, 50, noted_tokens=10_000), False),
        (NotesProgress(15_000, 0, noted_tokens=10_000), True),
        (NotesProgress(15_000, 2, noted_tokens=10_000, asks_for_tools=True), False),
        (NotesProgress(15_000, 3, noted_tokens=10_000, asks_for_tools=True), True),
        (NotesProgress(15_000, 9, 10_000, noted_tool_calls=7, asks_for_tools=True), False),
        (NotesProgress(4_000, 9, noted_tokens=90_000), False),  # compacted, not yet grown
        (NotesProgress(6_000, 9, noted_tokens=90_000), True),
    ],
)
def test_when_notes_are_due(progress: NotesProgress, due: bool) -> None:
    assert notes_are_due(progress) is due


def test_the_template_has_the_ten_sections() -> None:
    assert len(notes.titles_of(notes.template())) == 10
    assert notes.titles_of(notes.template())[0] == "Session Title"
    assert notes.has_shape_of(notes.template(), notes.template())
    assert not notes.has_shape_of("# Session Title\n", notes.template())


def test_a_long_section_loses_its_oldest_lines_and_says_so() -> None:
    text = "\n".join(f"line {number} of the log" for number in range(2000))
    cut = notes.cut_section(NotesSection("Worklog", text), 2000)
    assert notes.tokens_in(cut.text) <= 2000
    assert cut.text.endswith("line 1999 of the log")
    assert "older lines left out" in cut.text


def test_the_least_important_section_is_cut_first() -> None:
    full = "x" * 7_000 + "\nlast line"
    sections = [NotesSection(title, full) for title, _ in notes.SECTIONS]
    fitted = {one.title: one.text for one in notes.fit(sections, notes.TOTAL_TOKENS)}
    assert fitted["Current State"] == full
    assert fitted["Task specification"] == full
    assert fitted["Worklog"] != full


SECTION = st.builds(
    NotesSection, st.sampled_from([title for title, _ in notes.SECTIONS]), st.text()
)


@given(st.lists(SECTION, max_size=10), st.integers(1, 400))
def test_notes_never_exceed_their_limits(sections: list[NotesSection], times: int) -> None:
    long = [NotesSection(one.title, (one.text + "\n") * times) for one in sections]
    text = notes.render(long)
    headings = sum(len(one.title) + 6 for one in long)
    assert notes.tokens_in(text) <= notes.TOTAL_TOKENS + headings + 10 * 50


def turns_of(case: str) -> list[Turn]:
    found: list[Turn] = []
    for path in sorted((FIXTURES / case / "projects").glob("*/*.jsonl")):
        history = living_history(read_entries([path.read_bytes()]))
        found += [one for one in history if isinstance(one, Turn)]
    return found


def test_notes_without_a_model_hold_what_was_asked_done_and_answered() -> None:
    turns = turns_of("c02_tools_thinking")
    text = extracted(turns)
    assert notes.titles_of(text) == notes.titles_of(notes.template())
    sections = {one.title: one.text for one in notes.sections_of(text)}
    assert turns[0].prompts[0].text.split()[0] in sections["Task specification"]
    assert "changed " in sections["Files and Functions"]
    assert sections["Workflow"].startswith("- `")
    assert "answered" in sections["Worklog"]
    assert sections["Learnings"] == NOT_WITHOUT_A_MODEL
    assert "without a model" in text


def test_failures_and_interrupts_are_noted_with_what_followed() -> None:
    assert "failed: Bash" in extracted(turns_of("c13_tool_failures"))
    assert "interrupted" in extracted(turns_of("c11_interrupts"))


@pytest.mark.parametrize("case", sorted(path.name for path in FIXTURES.glob("c*")))
def test_every_session_can_be_noted(case: str) -> None:
    turns = turns_of(case)
    assert notes.has_shape_of(extracted(turns), notes.template())


def test_the_users_own_template_decides_the_sections() -> None:
    text = extracted(turns_of("c01_text_only"), "# Worklog\n# My questions\n")
    assert notes.titles_of(text) == ("Worklog", "My questions")


def test_where_it_stopped_is_title_and_state() -> None:
    text = extracted(turns_of("c02_tools_thinking"))
    where = notes.where_it_stopped(text)
    assert "Last asked:" in where
    assert len(where) <= 1500
    assert notes.where_it_stopped("nothing here") == ""
