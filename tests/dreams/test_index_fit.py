"""The index after a dream: always within its limits, and never without a person's words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.dreams.rules.index_fit import IndexedMemory, fitted
from memoryd.memories.rules import index
from tests.support.examples import examples

pytestmark = pytest.mark.rules

NOW = 1_800_000_000.0
DAY = 86_400.0


def memories(count: int, hook: str = "what it is about", **fields: object) -> list[IndexedMemory]:
    """Newest first."""
    return [
        IndexedMemory(
            file=f"n{number}.md",
            line=index.pointer(f"Note {number}", f"n{number}.md", hook),
            type="project",
            modified=NOW - number * DAY,
            **fields,  # type: ignore[arg-type]
        )
        for number in range(count)
    ]


def index_of(listed: list[IndexedMemory]) -> str:
    return "".join(f"{one.line}\n" for one in listed)


def fits(text: str) -> bool:
    return not index.loaded(text).is_cut


def test_long_lines_become_what_the_header_says() -> None:
    own = index.pointer("A", "a.md", "short")
    text = f"# Mine\n\n- [A](a.md) — {'words ' * 60}\n- [B](b.md) — a person's words\n"
    known = [
        IndexedMemory(file="a.md", line=own),
        IndexedMemory(file="b.md", line="- [B](b.md)"),
    ]
    assert fitted(text, known, NOW) == f"# Mine\n\n{own}\n- [B](b.md) — a person's words\n"


def test_long_lines_that_a_person_wrote_stay() -> None:
    own = index.pointer("A", "a.md", "short")
    words = "words of a person " * 20
    for text in (
        f"- [the part](a.md#part) {words}\n",
        f"```\n- [A](a.md) {words}\n```\n{own}\n",
        f"<!--\n- [A](a.md) {words}\n-->\n{own}\n",
    ):
        assert fitted(text, [IndexedMemory(file="a.md", line=own)], NOW) == text


def test_an_index_that_fits_keeps_its_order_and_all_its_lines() -> None:
    listed = memories(200)
    text = index_of(listed[::-1])
    assert fitted(text, listed, NOW) == text


def test_lines_are_shortened_before_a_memory_leaves() -> None:
    listed = memories(190, hook="many words on what this one is about " * 10)
    text = index_of(listed)
    assert not fits(text)
    after = fitted(text, listed, NOW)
    assert fits(after)
    assert set(index.whole_pointers(after.split("\n")).values()) == {one.file for one in listed}


def test_the_oldest_leave_and_one_line_says_so() -> None:
    listed = memories(260)
    after = fitted(index_of(listed), listed, NOW)
    lines = after.splitlines()
    assert len(lines) == 190
    assert lines[-1].startswith("- 71 more memories are not listed here since 2027-01-15T08:00:00Z")
    assert lines[:189] == [one.line for one in listed[:189]]


def test_what_is_used_stays_and_what_claude_md_says_leaves_first() -> None:
    listed = memories(260)
    used = IndexedMemory(
        file="n259.md", line=listed[259].line, type="project", modified=listed[259].modified, uses=9
    )
    said = IndexedMemory(
        file="n0.md", line=listed[0].line, type="user", modified=NOW, is_in_instructions=True
    )
    after = fitted(index_of(listed), [said, *listed[1:259], used], NOW)
    assert used.line in after
    assert said.line not in after


def test_what_a_person_put_there_stays_whatever_its_age() -> None:
    listed = memories(300)
    own = "- [Note 299](n299.md) — read this one first"
    text = f"# Mine\n\nA word of mine.\n\n{own}\n" + index_of(listed[:299])
    after = fitted(text, listed, NOW)
    assert fits(after)
    assert after.startswith(f"# Mine\n\nA word of mine.\n\n{own}\n")


def test_a_second_dream_changes_nothing_and_the_next_lists_what_fits_again() -> None:
    listed = memories(260)
    once = fitted(index_of(listed), listed, NOW)
    assert fitted(once, listed, NOW + 5 * DAY) == once
    fewer = listed[:150]
    again = fitted(once, fewer, NOW + DAY)
    assert "not listed" not in again
    assert set(index.whole_pointers(again.split("\n")).values()) == {one.file for one in fewer}


def test_a_memory_saved_later_is_listed_again_at_once() -> None:
    listed = memories(260)
    text = fitted(index_of(listed), listed, NOW)
    since = index.unlisted_since(text)
    assert since == NOW
    lines = {one.file: one.line for one in listed} | {"new.md": "- [New](new.md)"}
    newer = ["new.md", *(one.file for one in listed if one.modified > since)]
    after = index.repaired(text, lines, newer)
    assert after == f"- [New](new.md)\n{text}"


@given(
    count=st.integers(0, 420),
    own=st.lists(st.text(max_size=60).filter(lambda text: "\n" not in text), max_size=12),
    hook=st.text(max_size=200),
)
@examples(60)
def test_the_limits_hold_for_any_store(count: int, own: list[str], hook: str) -> None:
    listed = memories(count, hook=hook)
    once = fitted("\n".join(own) + "\n" + index_of(listed), listed, NOW)
    assert fits(once)
    assert fitted(once, listed, NOW + DAY) == once
