"""A command to memoryd is one only at the very start of a prompt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.api.rules.typed_commands import TypedCommand, command_in


@pytest.mark.parametrize(
    ("prompt", "command"),
    [
        ("/memoryd:remember use tabs", TypedCommand("remember", "use tabs")),
        ("/memoryd:remember\nline one\nline two", TypedCommand("remember", "line one\nline two")),
        ("/memoryd:remember", TypedCommand("remember", "")),
        ("/memoryd:dream now", TypedCommand("dream", "now")),
        ("/memoryd:", None),
        ("/memoryd:explode", None),
        ("/memoryd:rememberall x", None),
        ("please run /memoryd:remember x", None),
        ("<task-notification>/memoryd:remember x", None),
    ],
)
def test_a_prompt_is_read_as_typed(prompt: str, command: TypedCommand | None) -> None:
    assert command_in(prompt) == command


@given(st.text())
def test_no_prompt_breaks_it_and_no_word_is_lost(text: str) -> None:
    found = command_in(f"/memoryd:remember {text}")
    assert found == TypedCommand("remember", text.strip())
