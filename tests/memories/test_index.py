"""MEMORY.md is a person's file; only our own lines in it change."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memoryd.memories.rules import index

HAND_MADE = """# My memory

<!-- - [not](one.md) -->
Some words.

- [Older](older.md) — a hook of mine
- [Site](https://example.test/x.md) — a link
* [Oldest](./oldest.md)
"""


def pointed_file(line: str) -> str | None:
    return index.whole_pointers([line]).get(0)


def test_a_pointer_is_one_short_line() -> None:
    line = index.pointer("A [tricky]\ntitle", "user_a.md", "many words " * 40)
    assert line.startswith("- [A (tricky) title](user_a.md) — many words")
    assert line.endswith("…")
    assert len(line) <= 150


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("- [a](b.md) — c", "b.md"),
        ("* [a](./sub/b.md)", "sub/b.md"),
        ("  - [a](<b c.md>)", "b c.md"),
        ("- [a](b%20c.md)", "b c.md"),
        ("- [a \\] b](c.md)", "c.md"),
        ("- [a]( <b.md> )", "b.md"),
        ("- [a](b.md#part)", None),
        ("- [a](C#.md)", "C#.md"),
        ("- [a](#b.md)", None),
        ("- [a](~/b.md)", None),
        ("- [a](%2Fetc/b.md)", None),
        ("- [a](https://x/b.md)", None),
        ("- [a](/etc/b.md)", None),
        ("- [a](b.txt)", None),
        ("plain [a](b.md)", None),
        ("- no link", None),
    ],
)
def test_only_pointers_to_files_beside_the_index_are_ours(line: str, file: str | None) -> None:
    assert pointed_file(line) == file


def test_a_line_of_blanks_is_read_at_once() -> None:
    started = time.process_time()
    for blanks in ("- [a](" + " " * 20_000 + "x", "- [a](<" + " " * 20_000 + ">", " " * 20_000):
        assert pointed_file(blanks) is None
    assert time.process_time() - started < 1


RELATIVE_NAMES = (
    st.text(max_size=40)
    .map(lambda stem: stem + ".md")
    .filter(lambda name: not name.startswith("/") and ".." not in name.split("/"))
)


@given(st.text(max_size=100), RELATIVE_NAMES, st.text(max_size=200))
@example("t", "Notes (draft).md", "h")
@example("", "a<b>[c].md", "")
@example("<!-- t", "~x.md", "h <!-- -->")
@example("<\\!--", "#x.md", "")
@example("t", " 100%20\n.md#x.md", "h")
@example("t", "./x.md", "h")
@example("t", "\u3164\u200b.md", "h")
def test_any_file_name_is_read_back_from_its_pointer(title: str, file: str, hook: str) -> None:
    line = index.pointer(title, file, hook)
    assert pointed_file(line) == file
    assert index.repaired(f"{line}\n", {file: line}, [file]) == f"{line}\n"


@pytest.mark.parametrize("file", ["a.md", "user_role-2.md", "sub/b.c.md", "größe/日本.md"])
def test_an_ordinary_name_is_written_as_it_is(file: str) -> None:
    assert index.pointer("T", file, "") == f"- [T]({file})"


def test_a_new_pointer_goes_above_the_others_and_nothing_else_moves() -> None:
    after = index.with_pointer(HAND_MADE, "new.md", "- [New](new.md)")
    assert after == HAND_MADE.replace("- [Older]", "- [New](new.md)\n- [Older]")


def test_a_known_pointer_is_changed_in_place() -> None:
    after = index.with_pointer(HAND_MADE, "oldest.md", "- [X](oldest.md)")
    assert after == HAND_MADE.replace("* [Oldest](./oldest.md)", "- [X](oldest.md)")


def test_a_repair_fixes_what_is_wrong_and_nothing_more() -> None:
    text = HAND_MADE + "- [Again](older.md)\n- [Gone](gone.md)\n"
    files = {"older.md": "-", "oldest.md": "-", "b.md": "- [B](b.md)", "c.md": "- [C](c.md)"}
    after = index.repaired(text, files, ["c.md", "older.md", "b.md"])
    assert after == HAND_MADE.replace("- [Older]", "- [C](c.md)\n- [B](b.md)\n- [Older]")


@pytest.mark.parametrize(
    "link", ["../README.md", "sub/../../x.md", "%2E%2E/x.md", "team/t.md", "./logs/x.md"]
)
def test_a_repair_keeps_pointers_to_places_where_topics_cannot_be(link: str) -> None:
    text = f"- [x]({link})\n- [x]({link}) again\n"
    assert index.repaired(text, {}, []) == text


def test_a_link_to_a_part_counts_as_a_pointer_and_stays_while_its_file_exists() -> None:
    text = "- [one](a.md#one)\n- [two](a.md#two)\n"
    assert index.repaired(text, {"a.md": "- [A](a.md)"}, ["a.md"]) == text
    assert index.with_pointer(text, "a.md", "- [A](a.md)") == text
    assert index.repaired(text, {}, []) == ""


def test_a_link_to_a_part_does_not_replace_the_pointer_to_the_whole() -> None:
    text = "- [one](a.md#one)\n- [A](a.md)\n"
    assert index.repaired(text, {"a.md": "-"}, ["a.md"]) == text
    assert index.with_pointer(text, "a.md", "- [B](a.md)") == text.replace("[A]", "[B]")


def test_a_correct_index_is_not_changed() -> None:
    text = "no newline at the end\n- [a](a.md)"
    assert index.repaired(text, {"a.md": "- other words"}, ["a.md"]) is text


def test_pointers_in_a_code_block_are_ignored() -> None:
    text = "```\n- [a](gone.md)\n```\n- [b](b.md)\n"
    assert index.repaired(text, {"b.md": ""}, ["b.md"]) == text


@given(
    st.text("- [](a.md)\n`<!>", max_size=120),
    st.sets(st.sampled_from(["a.md", "b.md"])),
    st.booleans(),
)
def test_a_second_repair_changes_nothing(text: str, names: set[str], oldest_last: bool) -> None:
    files = {name: f"- [{name}]({name})" for name in names}
    once = index.repaired(text, files, sorted(names), oldest_last=oldest_last)
    assert index.repaired(once, files, sorted(names), oldest_last=oldest_last) == once


@given(st.integers(0, 20), st.sets(st.integers(0, 19)), st.sets(st.integers(0, 19)))
def test_older_memories_go_below_all_others_and_newer_ones_above(
    count: int, listed: set[int], left_out: set[int]
) -> None:
    files = {f"m{at}.md": f"- [M](m{at}.md)" for at in range(count)}
    text = "# Mine\n" + "".join(f"- [M](m{at}.md)\n" for at in sorted(listed) if at < count)
    missing = [f"m{at}.md" for at in range(count) if at not in left_out]
    lines = index.repaired(text, files, missing, oldest_last=True).splitlines()
    expected = [at for at in range(count) if at in listed or at not in left_out]
    last = max((at for at in listed if at < count), default=count)
    above = [at for at in expected if at < last and at not in listed]
    kept = [at for at in expected if at in listed]
    below = [at for at in expected if at > last]
    assert lines == ["# Mine", *(files[f"m{at}.md"] for at in (*above, *kept, *below))]


def test_lines_are_cut_first_then_bytes() -> None:
    short = "".join(f"- line {n}\n" for n in range(201))
    loaded = index.loaded(short)
    assert loaded.text == "".join(f"- line {n}\n" for n in range(200))
    assert "200 of 201 lines" in loaded.warning
    long = ("- " + "x" * 297 + "\n") * 150
    assert len(index.loaded(long).text) == 300 * (25_000 // 300)


@given(st.text(max_size=200).map(lambda text: text * 300))
def test_loading_keeps_both_limits_and_a_second_time_changes_nothing(text: str) -> None:
    once = index.loaded(text)
    assert len(once.text.encode("utf-8", "replace")) <= 25_000
    assert once.text.count("\n") <= 200
    assert text.startswith(once.text)
    assert index.loaded(once.text).text == once.text
    assert once.is_cut == (once.text != text)


def test_what_fits_exactly_is_not_cut() -> None:
    assert not index.loaded("x\n" * 200).is_cut
    assert not index.loaded("x" * 25_000).is_cut
    assert index.loaded("x" * 25_001).is_cut


@given(st.integers(0, 450), st.booleans())
def test_the_head_of_an_index_loads_as_the_whole_does(lines: int, ends: bool) -> None:
    whole = "\n".join(f"- [n{at}](n{at}.md)" for at in range(lines)) + ("\n" if ends else "")
    data = whole.encode()
    head = data[: index.end_of_head(data)]
    size = index.size_of(data) if len(head) < len(data) else None
    assert index.loaded(head.decode(), size) == index.loaded(whole)
