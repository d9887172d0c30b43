"""Patterns of rules, compared with git itself, and patterns that would never finish."""

import os
import re
import subprocess
import warnings
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memoryd.memories.rules.path_globs import Globs, TooInvolved, escaped_set

FILES = [
    "main.ts",
    "src/main.ts",
    "src/api/v1/users.ts",
    "src/api/v1/users.test.ts",
    "src/gen/schema.ts",
    "lib/src/x.py",
    "docs/a b.md",
    "x[1].txt",
    "README",
]
PATTERNS = [
    ["src/**/*.ts"],
    ["**/*.ts"],
    ["*.ts"],
    ["/*.ts"],
    ["src"],
    ["src/"],
    ["/src"],
    ["README/"],
    ["src/*"],
    ["src/*/v1"],
    ["**/v1/**"],
    ["**"],
    ["**/"],
    ["*.ts", "!src/gen/*.ts"],
    ["*.ts", "!*.test.ts", "src/api/**/users.test.ts"],
    ["!*.ts"],
    ["src/**", "!src/api/"],
    ["docs/a\\ b.md"],
    ["x\\[1\\].txt"],
    ["[r-z]rc/main.?s"],
    ["#README", "README"],
    ["\\README"],
    ["src/**.ts"],
    ["a/**/b/../c"],
    ["x[[]1].txt"],
]


def ignored_by_git(folder: Path, patterns: list[str]) -> set[str]:
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    (folder / ".git/info/exclude").write_text("\n".join(patterns) + "\n", encoding="utf-8")
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", "-z", "--stdin"],
        cwd=folder,
        input="\0".join(FILES).encode(),
        capture_output=True,
        check=False,
    )
    return set(os.fsdecode(done.stdout).split("\0")) - {""}


def test_patterns_match_what_git_matches(tmp_path: Path) -> None:
    for patterns in PATTERNS:
        matched = {file for file in FILES if Globs(patterns).match(file)}
        assert matched == ignored_by_git(tmp_path, patterns), patterns


def test_braces_and_a_leading_dot_are_understood() -> None:
    globs = Globs(["./src/**/*.{ts,tsx}", "{lib,app}/*.{js,jsx}"])
    assert [globs.match(file) for file in ("src/a/b.tsx", "app/x.js", "lib/y.jsx")] == [True] * 3
    assert not globs.match("src/a/b.tsy")
    assert Globs(["{a"]).match("{a")


@pytest.mark.parametrize("pattern", ["!", "a\\", "[z-a]", "/", "//", "", " ", "#"])
def test_a_pattern_that_git_cannot_parse_matches_nothing(pattern: str) -> None:
    assert not Globs([pattern]).match("a")
    assert Globs([pattern, "a"]).match("a")


HOSTILE = [
    (["*" * 30 + "b"], "a" * 60),
    (["a*" * 25 + "z"], "a" * 60),
    (["**/a/" * 20 + "b"], "a/" * 100 + "c"),
    (["**/*a*a*a/**/*a*a*a/b"], "/".join(["a" * 200] * 10)),
    (["{a,b}" * 20], "a" * 20),
]


@pytest.mark.parametrize(("patterns", "path"), HOSTILE)
@pytest.mark.timeout(10)
def test_a_pattern_that_would_never_finish_is_refused(patterns: list[str], path: str) -> None:
    with pytest.raises(TooInvolved):
        Globs(patterns).match(path)


def test_patterns_of_real_projects_are_never_too_involved() -> None:
    path = "packages/web-client/src/features/checkout/components/__tests__/PaymentForm.test.tsx"
    patterns = ["packages/*/src/**/__tests__/**/*.test.{ts,tsx}", "**/*.spec.*", "apps/**/*-e2e/*"]
    assert Globs(patterns).match(path)


@given(
    st.lists(st.text(alphabet="ab/*?[]!{},\\ #.-", max_size=12), max_size=4),
    st.text(alphabet="ab/.", min_size=1, max_size=30),
)
@example(["[[]"], "a")
@example(["[a--b]", "[a||b]", "[a&&b]", "[a~~b]"], "a")
@pytest.mark.timeout(60)
def test_any_pattern_gets_an_answer(patterns: list[str], path: str) -> None:
    with suppress(TooInvolved):
        Globs(patterns).match(path)


SIGNS = "ab-[]^&~|!\\"


@given(
    st.sampled_from(["[", "[^", "[]", "[^]"]),
    st.lists(st.sampled_from(["a", "b", "-", "[", "^", "&", "~", "|", "!", "\\\\"]), max_size=8),
)
def test_an_escaped_set_matches_the_same_characters(start: str, members: list[str]) -> None:
    text = f"{start}{''.join(members)}]"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        before = matched_by(text)
    assert matched_by(escaped_set(text)) == before


def matched_by(regex: str) -> list[str] | None:
    """The signs that match; None if it is not a regular expression."""
    try:
        return [sign for sign in SIGNS if re.fullmatch(regex, sign)]
    except re.error:
        return None
