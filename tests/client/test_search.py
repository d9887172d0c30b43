"""The pure parts of the search: keys, widths, matching, and what is drawn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd_client.connection.memory_header import Memory
from memoryd_client.search.columns import cut, end_of, folded, padded, width_of
from memoryd_client.search.keys import Key, Keys
from memoryd_client.search.matching import matching, row_of
from memoryd_client.search.picker import Picker

# Wide letters, marks on letters, controls, and what would reorder a line.
LETTERS = st.text(st.sampled_from("ab c-茶室é\u0301\u200e\x1b\x07\t👋"), max_size=60)


def memory(name: str, description: str = "") -> Memory:
    return Memory(f"/m/{name}.md", name, description, "project", "project", "today", False, False)


def selected(picker: Picker) -> str:
    return picker.selected.name if picker.selected else ""


def typed(picker: Picker, text: str) -> None:
    for char in text:
        picker.key(Key("", char))


# --- keys ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b"ab", [Key("", "a"), Key("", "b")]),
        ("茶".encode(), [Key("", "茶")]),
        (b"\r", [Key("enter")]),
        (b"\x7f", [Key("backspace")]),
        (b"\x1b[A\x1bOB", [Key("up"), Key("down")]),
        (b"\x1b[5~\x1b[6~", [Key("page-up"), Key("page-down")]),
        (b"\x1b\x1b", [Key("cancel")]),
        (b"\x03", [Key("cancel")]),
        (b"\x1b[1;5C", []),  # Ctrl-Right means nothing here
        (b"\x1bx", []),  # nor does Alt-X
        (b"\xff\xfea", [Key("", "a")]),
        (b"\x00\x01", []),
    ],
)
def test_bytes_are_keys(data: bytes, keys: list[Key]) -> None:
    assert Keys().feed(data) == keys


def test_a_lone_escape_cancels_once_nothing_follows() -> None:
    keys = Keys()
    assert (keys.feed(b"\x1b"), keys.is_waiting) == ([], True)
    assert (keys.flush(), keys.is_waiting) == ([Key("cancel")], False)
    assert keys.flush() == []


@given(st.binary(max_size=80), st.data())
def test_it_does_not_matter_how_the_bytes_arrive(data: bytes, draw: st.DataObject) -> None:
    at = draw.draw(st.integers(0, len(data)))
    whole, parts = Keys(), Keys()
    assert parts.feed(data[:at]) + parts.feed(data[at:]) == whole.feed(data)
    assert parts.is_waiting == whole.is_waiting


# --- widths -------------------------------------------------------------------------------------


@given(LETTERS, st.integers(0, 40))
def test_what_is_cut_fits(text: str, columns: int) -> None:
    assert width_of(cut(text, columns)) <= columns
    assert width_of(end_of(text, columns)) <= columns
    assert width_of(padded(text, columns)) == columns


@given(LETTERS, st.integers(2, 40))
def test_what_is_folded_fits(text: str, columns: int) -> None:
    assert all(width_of(line) <= columns for line in folded(text, columns))


def test_wide_letters_count_twice_and_marks_not_at_all() -> None:
    assert width_of("茶室") == 4
    assert width_of("e\u0301") == 1
    assert cut("茶室茶室", 4) == "茶…"


# --- matching -----------------------------------------------------------------------------------


def test_half_words_match_and_what_recall_found_comes_first() -> None:
    deploy, tabs, tea = memory("Deploy", "On Tuesdays"), memory("Tabs"), memory("Tea")
    everything = [deploy, tabs, tea]
    assert matching("", everything, ()) == everything
    assert matching("depl tues", everything, ()) == [deploy]
    assert matching("t", everything, [tea.path]) == [tea, deploy, tabs]
    assert matching("x", everything, ["/m/gone.md"]) == []


def test_a_memory_is_one_line_without_escape_sequences() -> None:
    assert row_of(memory("Tea", "hot\n\x1b[31mand green")) == "Tea: hot \ufffd[31mand green"
    assert row_of(memory("", "")) == ".md"


# --- what is drawn ------------------------------------------------------------------------------


@given(st.lists(st.tuples(LETTERS, LETTERS), max_size=30), LETTERS, st.data())
def test_a_screen_of_any_size_is_not_overrun(
    texts: list[tuple[str, str]], query: str, draw: st.DataObject
) -> None:
    columns, rows = draw.draw(st.integers(1, 130)), draw.draw(st.integers(1, 40))
    picker = Picker()
    picker.show([memory(f"{place}", text) for place, (text, _) in enumerate(texts)])
    typed(picker, query if draw.draw(st.booleans()) else "")
    preview = "\n".join(text for _, text in texts)
    lines = picker.view(columns, rows, preview)
    assert len(lines) <= rows
    for line in lines:
        assert width_of(line.text + line.beside) <= columns
        assert "\x1b" not in line.text + line.beside or "\x1b" in query
    assert 1 <= picker.cursor(columns) <= columns


def test_the_preview_begins_after_the_header() -> None:
    picker = Picker()
    picker.show([memory("a")])
    header = "---\nname: a\ndescription: --- b\n---\n\n"
    shown = [line.text for line in picker.view(40, 20, f"{header}The text.\n---\nMore.\n")]
    assert shown[shown.index("─" * 40) + 1 :][:3] == ["The text.", "---", "More."]


def test_the_selection_stays_on_its_memory_when_another_one_comes() -> None:
    picker = Picker()
    picker.show([memory("b"), memory("c")])
    picker.key(Key("down"))
    picker.show([memory("a"), memory("b"), memory("c")])
    assert selected(picker) == "c"
    picker.show([memory("a")])
    assert selected(picker) == "a"
    picker.show([])
    assert selected(picker) == ""
    assert picker.key(Key("enter")) is None


def test_an_answer_to_an_older_query_is_not_shown() -> None:
    picker = Picker()
    picker.show([memory("one"), memory("two")])
    typed(picker, "zz")
    picker.recalled("z", ["/m/one.md"])
    assert selected(picker) == ""
    picker.recalled("zz", ["/m/two.md"])
    assert selected(picker) == "two"


def test_words_are_taken_back_one_by_one() -> None:
    picker = Picker("two words")
    picker.key(Key("word-back"))
    assert picker.query == "two"
    picker.key(Key("backspace"))
    assert picker.query == "tw"
    picker.key(Key("clear"))
    assert picker.query == ""
