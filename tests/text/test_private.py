"""What a person marked as private is taken out, however the tags are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.text.private import PRIVATE, public_part, without_private, without_private_in_line


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a <private>b</private> c", f"a {PRIVATE} c"),
        ("a <PRIVATE why='x'>b</ private > c", f"a {PRIVATE} c"),
        ("a < private >b\nc</private>", f"a {PRIVATE}"),
        ("a <private>b <private>c</private> d</private> e", f"a {PRIVATE} e"),
        ("a <private>b <private>c</private> d", f"a {PRIVATE}"),
        ("a <private>b, and never closed", f"a {PRIVATE}"),
        ("<private>a</private><private>b</private>", PRIVATE * 2),
        ("a </private> b", "a </private> b"),
        ("private <privateer> </b>", "private <privateer> </b>"),
    ],
)
def test_a_private_span_leaves_a_mark(text: str, left: str) -> None:
    assert without_private(text) == left


def test_a_raw_line_may_escape_its_tags_or_begin_inside_a_span() -> None:
    escaped = r'{"text":"a \u003cprivate\u003eb\u003c/private\u003e c"}'
    assert without_private_in_line(escaped) == f'{{"text":"a {PRIVATE} c"}}'
    assert without_private_in_line("b</private> c <private>d") == f"{PRIVATE} c {PRIVATE}"


def test_the_public_part_has_no_marks() -> None:
    assert public_part(f"how do we {PRIVATE}  deploy?") == "how do we deploy?"
    assert public_part("two  blanks stay") == "two  blanks stay"


pieces = st.sampled_from(["<private>", "</private>", "<Private a=b>", "x", " ", "\n", "zebra"])


@given(st.lists(pieces, max_size=30))
def test_nothing_inside_a_span_is_left(parts: list[str]) -> None:
    depth, public = 0, []
    for part in parts:
        if part == "</private>":
            public += [part] * (depth == 0)
            depth = max(depth - 1, 0)
        elif part.lower().startswith("<private"):
            depth += 1
        elif not depth:
            public.append(part)
    assert without_private("".join(parts)).replace(PRIVATE, "") == "".join(public)
