"""Which text of an instruction file is served, what it imports; any text can be parsed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.memories.rules.instruction_text import (
    IMPORTS_LIMIT,
    parse_instructions,
    without_comments,
)

IMPORTS = [
    ("See @README for more", ["README"]),
    ("@a.md", ["a.md"]),
    ("- @~/.claude/mine.md", ["~/.claude/mine.md"]),
    ("see @./a.md, @../b.md; and (@docs/c.md).", ["./a.md", "../b.md", "docs/c.md"]),
    ("**@a.md** and '@b.md' and [@c.md]", ["a.md", "b.md", "c.md"]),
    ("@/etc/hosts!", ["/etc/hosts"]),
    ("@docs/guide.md#setup", ["docs/guide.md"]),
    ("@my\\ notes.md", ["my notes.md"]),
    ("@a.md @a.md", ["a.md"]),
    ("@übersicht.md", ["übersicht.md"]),
    ("mail me@example.com or x.y@z.org", []),
    ("@ alone, @, and @!", []),
]


@pytest.mark.parametrize(("text", "imports"), IMPORTS)
def test_an_import_begins_a_word_and_ends_before_punctuation(text: str, imports: list[str]) -> None:
    assert list(parse_instructions(text).imports) == imports


CODE = [
    "`@a.md`",
    "``code ` @a.md``",
    "a `span over\ntwo @a.md` lines",
    "```\n@a.md\n```",
    "```sh\n@a.md",
    "~~~~\n```\n@a.md\n~~~~",
    "- item\n  ```\n  @a.md\n  ```",
    "1. ```\n   @a.md\n   ```",
    "> ```\n> @a.md\n> ```",
    "text\n\n    @a.md\n\n    @a.md",
    "\t@a.md",
    "`x`@a.md",
]


@pytest.mark.parametrize("text", CODE)
def test_nothing_is_imported_from_code(text: str) -> None:
    document = parse_instructions(text)
    assert document.imports == ()
    assert document.body == text


NO_CODE = [
    "a lone ` tick and @a.md",
    "`one` @a.md `two`",
    "`` unequal ` @a.md",
    "an open `tick\n\nand @a.md` in the next paragraph",
    "```\ncode\n```\n@a.md",
    "```not a fence``` @a.md",
    "- item\n\n    @a.md",
    "- item\n    - @a.md",
    "a paragraph\n    that goes on: @a.md",
    "~~~\n```\n~~~\n@a.md",
]


@pytest.mark.parametrize("text", NO_CODE)
def test_what_only_resembles_code_is_searched_for_imports(text: str) -> None:
    assert parse_instructions(text).imports == ("a.md",)


COMMENTS = [
    ("a\n<!-- x -->\nb", "a\nb"),
    ("a\n<!-- x\ny\n-->\nb", "a\nb"),
    ("<!-- x --> kept", " kept"),
    ("<!-- x --><!-- y -->\nb", "b"),
    ("<!--\nx\n--> <!--\ny --> kept", " kept"),
    ("<!-->\nb", "b"),
    ("  <!-- x -->\nb", "b"),
    ("a <!-- within a line --> b", "a <!-- within a line --> b"),
    ("<!-- never closed\nb", "<!-- never closed\nb"),
    ("```\n<!-- in code -->\n```", "```\n<!-- in code -->\n```"),
    ("\n    <!-- in code -->", "\n    <!-- in code -->"),
    ("<!--\n```\n-->\n@a.md", "@a.md"),
    ("```\n<!--\n```\nb\n-->", "```\n<!--\n```\nb\n-->"),
]


@pytest.mark.parametrize(("text", "served"), COMMENTS)
def test_a_comment_that_begins_a_line_is_not_served(text: str, served: str) -> None:
    assert parse_instructions(text).body == served
    assert without_comments(text) == served


def test_a_comment_imports_nothing() -> None:
    assert parse_instructions("<!-- @a.md -->\n<!--\n@b.md\n-->").imports == ()


PATHS = [
    ('paths:\n  - "src/**/*.ts"\n  - lib/*', ("src/**/*.ts", "lib/*")),
    ("paths: src/**", ("src/**",)),
    ("paths: a/*, b/*", ("a/*", "b/*")),
    ("paths: ['a/*', \"b/*\"]", ("a/*", "b/*")),
    ('paths: "src/**/*.{ts,tsx}, lib/*"', ("src/**/*.{ts,tsx}", "lib/*")),
    ("paths: {a: b}", ()),
    ("paths:", None),
    ("paths: []", None),
    ("description: about nothing", None),
]


@pytest.mark.parametrize(("header", "globs"), PATHS)
def test_paths_are_read_in_every_form_people_write(
    header: str, globs: tuple[str, ...] | None
) -> None:
    document = parse_instructions(f"---\n{header}\n---\nbody\n")
    assert document.globs == globs
    assert document.body == "body\n"
    assert document.whole == f"---\n{header}\n---\nbody\n"


def test_windows_line_ends_and_invisible_characters_are_removed() -> None:
    assert parse_instructions("a\r\n\u202eb\u200b\r\n").body == "a\nb\n"


def test_imports_beyond_the_limit_stay_text() -> None:
    text = " ".join(f"@f{number}" for number in range(IMPORTS_LIMIT + 10))
    assert len(parse_instructions(text).imports) == IMPORTS_LIMIT


PIECES_OF_ONE_LINE = ["`", "``` ", "`a``b", "<!--", "<!-- -->", "@a ", "- ", "> ", "\t", "*@a"]


@pytest.mark.parametrize("piece", [*PIECES_OF_ONE_LINE, "`\n", "- \n", "<!--\n"])
@pytest.mark.timeout(20)
def test_a_hostile_text_is_parsed_in_one_pass(piece: str) -> None:
    parse_instructions(piece * (400_000 // len(piece)))


PIECES = st.sampled_from(
    ["@a.md", "`", "```", "~~~", "<!--", "-->", "\n", "\n\n", "    ", "- ", "> ", "---\n", "x", " "]
)
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=40).map("".join))


@given(TEXTS)
def test_any_text_can_be_parsed(text: str) -> None:
    document = parse_instructions(text)
    document.whole.encode()
    assert all(path and "\n" not in path for path in document.imports)


@given(st.lists(PIECES, max_size=30).map("".join))
def test_text_without_comments_is_served_whole(text: str) -> None:
    if "<!--" not in text:
        assert parse_instructions(text).whole == text
