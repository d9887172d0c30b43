"""Patterns mean what people expect, and cost no more than pattern times text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.agent.rules.globs import Glob, TooManyAlternatives, fixed_part, step_matches


@pytest.mark.parametrize(
    ("pattern", "fitting", "others"),
    [
        ("*.md", ["a.md", "x/a.md", "x/y/.md"], ["a.mdx", "a/md"]),
        ("src/*.ts", ["src/a.ts"], ["src/x/a.ts", "a/src/a.ts"]),
        ("src/**/*.ts", ["src/a.ts", "src/x/y/a.ts"], ["lib/a.ts"]),
        ("**", ["a", "a/b"], []),
        ("**/x/**", ["x/a", "a/x/b/c"], ["a/b"]),
        ("*.{ts,tsx}", ["a.ts", "b/a.tsx"], ["a.js"]),
        ("{a,b{c,d}}.py", ["a.py", "bc.py", "bd.py"], ["b.py"]),
        ("[a-c]?.txt", ["ax.txt", "cz.txt"], ["dx.txt", "a.txt"]),
        ("[!a].txt", ["b.txt"], ["a.txt"]),
        ("./a.md", ["a.md"], ["b/a.md"]),
        ("a+b(c).md", ["a+b(c).md"], ["aab(c).md"]),
        ("[", ["["], ["a"]),
        ("{a}", ["{a}"], ["a"]),
    ],
)
def test_patterns_match(pattern: str, fitting: list[str], others: list[str]) -> None:
    glob = Glob(pattern)
    assert [path for path in fitting if not glob.matches(path)] == []
    assert [path for path in others if glob.matches(path)] == []


@given(st.text("ab*?.", max_size=8), st.text("ab.", max_size=10))
def test_a_step_matches_as_a_regular_expression_would(pattern: str, name: str) -> None:
    expression = "".join({"*": ".*", "?": "."}.get(sign, re.escape(sign)) for sign in pattern)
    assert step_matches(pattern, name) == bool(re.fullmatch(expression, name))


def test_a_pattern_of_stars_ends() -> None:
    assert not step_matches("*a" * 100 + "b", "a" * 255)
    assert not Glob("/".join(["**", "a"] * 30)).matches("/".join("a" * 29 + "b"))


@pytest.mark.parametrize("pattern", ["{a,b}" * 7, "x/" * 100])
def test_a_pattern_that_multiplies_is_refused(pattern: str) -> None:
    with pytest.raises(TooManyAlternatives):
        Glob(pattern)


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        ("*.md", ("", "*.md")),
        ("src/a/*.md", ("src/a", "*.md")),
        ("/a/b/**/c", ("/a/b", "**/c")),
        ("/*.md", ("/", "*.md")),
        ("a.md", ("", "a.md")),
        ("../*.md", ("..", "*.md")),
    ],
)
def test_the_fixed_part_of_a_pattern_is_where_to_look(pattern: str, parts: tuple[str, str]) -> None:
    assert fixed_part(pattern) == parts
