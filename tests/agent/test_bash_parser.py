"""A command line that is taken means what it would mean to a shell; all else is refused."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryd.agent.rules.access import Denied
from memoryd.agent.rules.bash_parser import RULES, Simple, simple_command, words_of

SNIPPETS = [
    *"ab -'\"\\$`;|&<>()*?[]{}~#!=é;\n", " a", "'a b'", '"a b"', "'\"'", '"\'"', "\\ ", '"\\\\"',
    '"\\$a"', '"a$"', '"a\\b"', "'$(a)'", '"a|b"', "\\'", '\\"', "'\\'", '""', "''", "'*'", "-a",
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(SNIPPETS), min_size=1, max_size=6))
def test_words_are_split_as_a_shell_splits_them(snippets: list[str]) -> None:
    line = "".join(snippets)
    try:
        words = words_of(line)
    except Denied:
        return
    printed = subprocess.run(
        ["/bin/sh", "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True
    )
    assert printed.stdout.decode().split("\0")[:-1] == words


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("ls", Simple("ls", (), ())),
        ("ls -la src", Simple("ls", ("-l", "-a"), ("src",))),
        ("ls -- -la", Simple("ls", (), ("-la",))),
        ("cat 'a b' c", Simple("cat", (), ("a b", "c"))),
        ("head -5 a", Simple("head", ("-n5",), ("a",))),
        ("head -n 5 a", Simple("head", ("-n5",), ("a",))),
        ("tail -n+5 a", Simple("tail", ("-n+5",), ("a",))),
        ("grep -in 'a|b' x", Simple("grep", ("-i", "-n", "-ea|b"), ("x",))),
        ("grep -A3 -e a -e b x", Simple("grep", ("-A3", "-ea", "-eb"), ("x",))),
        ("find", Simple("find", (), ())),
        ("find a b -name '*.md'", Simple("find", (), ("a", "b"), ("-name", "*.md"))),
        ("find . -newer a -o", Simple("find", (), (".",), ("-newer", "a", "-o"), (1,))),
    ],
)  # fmt: skip
def test_a_simple_command_is_taken_apart(line: str, command: Simple) -> None:
    assert simple_command(line) == command


@pytest.mark.parametrize("name", sorted(RULES))
def test_no_long_option_is_taken(name: str) -> None:
    for option in ("--help", "--x=y", "--files0-from=x", "--follow", "--recursive"):
        with pytest.raises(Denied, match="taken"):
            simple_command(f"{name} {option} a")


@given(st.text(max_size=60))
def test_no_command_line_raises_anything_but_denied(line: str) -> None:
    try:
        command = simple_command(line)
    except Denied:
        return
    assert command.name in RULES
