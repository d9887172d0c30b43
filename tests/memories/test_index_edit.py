"""A line changed by itself gives the index that reading it all would give."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.memories.rules import index
from memoryd.memories.rules.index_edit import pointers_in, with_line, without_lines

NAMES = st.sampled_from(["a.md", "b.md", "sub/c d.md", "ünï.md", "C#.md", "a.md.md"])
OTHER_LINES = st.sampled_from(["# Mine", "", "- [x](https://x/a.md)", "words", "* [p](a.md#part)"])


def pointer(file: str, hook: str = "a hook") -> str:
    return index.pointer(f"About {file}", file, hook)


@st.composite
def indexes(draw: st.DrawFn) -> bytes:
    """An index that matches its folder, with some lines of a person."""
    files = draw(st.lists(NAMES, unique=True, min_size=1))
    lines = [pointer(file) for file in files]
    for line in draw(st.lists(OTHER_LINES, max_size=3)):
        lines.insert(draw(st.integers(0, len(lines))), line)
    pointed = dict.fromkeys([*files, "a.md"], "")
    return index.repaired("\n".join(lines) + "\n", pointed, []).encode()


@given(
    indexes(), st.lists(st.tuples(NAMES, st.sampled_from(["put", "reword", "drop"])), max_size=6)
)
def test_lines_change_one_by_one_as_if_all_were_read(
    data: bytes, changes: list[tuple[str, str]]
) -> None:
    known = pointers_in(data)
    for file, kind in changes:
        if known is None:
            return
        text, files = data.decode(), set(known.counts.elements())
        if kind == "drop":
            after = without_lines(data, known, file)
            whole = index.repaired(text, dict.fromkeys(files - {file}, ""), [])
        else:
            line = pointer(file, kind)
            after = with_line(data, known, file, line)
            whole = index.with_pointer(text, file, line)
        if after is None:  # it says that it does not know
            return
        assert after.decode() == whole
        fresh = pointers_in(after)
        assert fresh is not None
        assert (fresh.counts, fresh.first) == (+known.counts, known.first)
        data = after


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"# no pointers\n",
        b"<!-- - [a](a.md) -->\n- [b](b.md)\n",
        b"```\n- [a](a.md)\n```\n- [b](b.md)\n",
        b"- [a](a.md) \xff\n",
        b"- [a](a.md)",
    ],
)
def test_an_index_that_needs_reading_says_so(data: bytes) -> None:
    assert pointers_in(data) is None


def test_the_first_line_is_not_dropped_blindly() -> None:
    data = b"- [a](a.md)\nwords\n- [b](b.md)\n"
    known = pointers_in(data)
    assert known is not None
    assert without_lines(data, known, "a.md") is None
