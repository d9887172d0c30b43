"""What a session already has is not given to it again."""

import pytest

from memoryd.recall.rules.ignore_memory import asks_to_ignore_memory
from memoryd.recall.rules.said_in_index import files_said_whole


@pytest.mark.parametrize(
    "prompt",
    [
        "Ignore your memory and look at the code only.",
        "without using your memory: what does this do?",
        "Please don't use what you remember for this.",
        "do not rely on memory here",
        "Ohne dein Gedächtnis: wie würdest du es bauen?",
    ],
)
def test_a_prompt_can_ask_for_silence(prompt: str) -> None:
    assert asks_to_ignore_memory(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "Why does it run without memory limits?",
        "ignore memory leaks in the tests for now",
        "Use your memory: how do we deploy?",
        "The parser should skip memory mapped files.",
        "add a memory field",
    ],
)
def test_talk_about_a_program_is_not_a_switch(prompt: str) -> None:
    assert not asks_to_ignore_memory(prompt)


def test_a_line_of_the_index_may_say_a_memory_whole() -> None:
    tabs, deploys = "- [Use tabs](tabs.md) — Use tabs in Makefiles.", "- [Deploys](d.md) — When."
    index = f"# Index\n{tabs}\n{deploys}\n"
    contents = {
        "tabs.md": "Use tabs in Makefiles.\n",
        "d.md": "We ship on Thursdays after the standup.\n",
        "absent.md": "Use tabs.",
    }
    assert files_said_whole(index, contents) == {"tabs.md"}


def test_what_the_client_cuts_off_is_not_loaded() -> None:
    lines = "".join(f"- [N{n}](n{n}.md) — fact {n} zebra\n" for n in range(300))
    contents = {f"n{n}.md": f"fact {n} zebra" for n in range(300)}
    assert files_said_whole(lines, contents) == {f"n{n}.md" for n in range(200)}
