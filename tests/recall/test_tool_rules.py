"""Which of a person's rules concern a tool call, and whether they were kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.recall.rules.tool_rules import (
    ToolCall,
    compliance,
    concerns,
    rule_in,
    simple_commands,
)


def bash(command: str) -> ToolCall:
    return ToolCall("Bash", command)


def edit(path: str) -> ToolCall:
    return ToolCall("Edit", path=path)


CONCERNED = [
    ("Never edit gen/ by hand.", edit("gen/api.ts")),
    ("Never edit gen/ by hand.", edit("web/gen/api.ts")),
    ("Always run make check before you commit.", bash("git add . && git commit -m 'x'")),
    ("Use pnpm, never npm.", bash("cd web && CI=1 npm install left-pad")),
    ("Use uv instead of pip for everything.", bash("sudo pip install requests")),
    ("Don't force push.", bash("git push origin main --force")),
    ("Use conventional commit messages.", bash("git commit --amend")),
    ("Ask me before adding a new dependency.", bash("pnpm add zod")),
    ("Never use `git add -A`.", bash("git add -A")),
    ("Never change package-lock.json by hand.", edit("package-lock.json")),
    ("Don't touch src/legacy/ without asking.", edit("src/legacy/a.py")),
    ("Never change *.sql files that are released.", edit("db/001.sql")),
    ("Never use WebFetch for internal pages.", ToolCall("WebFetch")),
    ("No emojis in commit messages.", bash("git commit -m x")),
]
NOT_CONCERNED = [
    ("Never edit gen/ by hand.", edit("src/general.ts")),
    ("Never edit gen/ by hand.", ToolCall("Read", path="gen/api.ts")),
    ("Use pnpm, never npm.", bash("git commit -m 'drop npm; npm is gone'")),
    ("Use pnpm, never npm.", bash("pnpm install")),
    ("Don't force push.", bash("git push")),
    ("Never use `git add -A`.", bash("git add src/a.py")),
    ("Always run make check before you commit.", bash("git log --oneline")),
    ("Keep answers short.", bash("git commit -m x")),
    ("I prefer composition over inheritance.", edit("src/a.py")),
    ("Never log customer data.", bash("git log")),
    ("Write tests before the implementation.", edit("tests/test_a.py")),
]


@pytest.mark.parametrize(("rule", "call"), CONCERNED)
def test_a_rule_concerns_the_call_that_it_names(rule: str, call: ToolCall) -> None:
    found = rule_in(rule)
    assert found is not None
    assert concerns(found, call)


@pytest.mark.parametrize(("rule", "call"), NOT_CONCERNED)
def test_a_rule_does_not_concern_other_calls(rule: str, call: ToolCall) -> None:
    found = rule_in(rule)
    assert found is None or not concerns(found, call)


def test_only_the_rule_counts_and_not_its_reason() -> None:
    assert rule_in("Keep answers short.\n\n**Why:** never npm again") is None


@pytest.mark.parametrize(
    ("text", "calls", "verdict"),
    [
        ("Use pnpm, never npm.", ["npm i", "pnpm i"], "followed"),
        ("Use pnpm, never npm.", ["npm i", "npm test"], "broken"),
        ("Always run make check before you commit.", ["make check", "git commit"], "followed"),
        ("Always run make check before you commit.", ["git commit", "make check"], "followed"),
        ("Always run make check before you commit.", ["git commit"], "broken"),
        ("Use conventional commit messages.", ["git commit"], None),
        ("Never push to main without a green pipeline.", ["git push", "git push"], None),
    ],
)
def test_the_calls_of_a_turn_show_whether_a_rule_was_kept(
    text: str, calls: list[str], verdict: str | None
) -> None:
    rule = rule_in(text)
    assert rule is not None
    made = [bash(command) for command in calls]
    given_at = next(number for number, call in enumerate(made) if concerns(rule, call))
    assert compliance(rule, made, given_at) == verdict


@given(st.text(max_size=300), st.text(max_size=300))
def test_no_text_breaks_it(text: str, line: str) -> None:
    rule = rule_in(text)
    list(simple_commands(line))
    if rule is not None:
        concerns(rule, bash(line))
        concerns(rule, edit(line))
