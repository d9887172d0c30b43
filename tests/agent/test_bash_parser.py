"""An accepted command line means what it would mean to a shell; all others are refused."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.agent.rules.access import Denied
from memoryd.agent.rules.bash_parser import RULES, BashCommand, parse_command, words_of
from tests.support.examples import examples

SNIPPETS = [
    *"ab -'\"\\$`;|&<>()*?[]{}~#!=é;\n", " a", "'a b'", '"a b"', "'\"'", '"\'"', "\\ ", '"\\\\"',
    '"\\$a"', '"a$"', '"a\\b"', "'$(a)'", '"a|b"', "\\'", '\\"', "'\\'", '""', "''", "'*'", "-a",
]  # fmt: skip


@examples(300)
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
        ("ls", BashCommand("ls", (), ())),
        ("ls -la src", BashCommand("ls", ("-l", "-a"), ("src",))),
        ("ls -- -la", BashCommand("ls", (), ("-la",))),
        ("cat 'a b' c", BashCommand("cat", (), ("a b", "c"))),
        ("head -5 a", BashCommand("head", ("-n5",), ("a",))),
        ("head -n 5 a", BashCommand("head", ("-n5",), ("a",))),
        ("tail -n+5 a", BashCommand("tail", ("-n+5",), ("a",))),
        ("grep -in 'a|b' x", BashCommand("grep", ("-i", "-n", "-ea|b"), ("x",))),
        ("grep -A3 -e a -e b x", BashCommand("grep", ("-A3", "-ea", "-eb"), ("x",))),
        ("find", BashCommand("find", (), ())),
        ("find a b -name '*.md'", BashCommand("find", (), ("a", "b"), ("-name", "*.md"))),
        ("find . -newer a -o", BashCommand("find", (), (".",), ("-newer", "a", "-o"), (1,))),
    ],
)  # fmt: skip
def test_a_parse_command_is_taken_apart(line: str, command: BashCommand) -> None:
    assert parse_command(line) == command


@pytest.mark.parametrize("name", sorted(RULES))
def test_no_long_option_is_accepted(name: str) -> None:
    for option in ("--help", "--x=y", "--files0-from=x", "--follow", "--recursive"):
        with pytest.raises(Denied, match="accepts only"):
            parse_command(f"{name} {option} a")


@given(st.text(max_size=60))
def test_no_command_line_raises_anything_but_denied(line: str) -> None:
    try:
        command = parse_command(line)
    except Denied:
        return
    assert command.name in RULES
