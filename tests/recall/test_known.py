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
        "Verwende bitte nicht, was du dir gemerkt hast.",
        "No uses lo que recuerdas para esto.",
        "Sans utiliser ta mémoire, que fait ce code ?",
        "Ignora la tua memoria e guarda il codice.",
        "Ignore a sua memória e olhe o código.",
        "Negeer je geheugen en kijk naar de code.",
        "Zignoruj swoją pamięć i spójrz na kod.",
        "Не используй свою память, смотри только код.",
        "記憶を使わないで、コードだけ見てください。",
        "请不要使用你的记忆，只看代码。",
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
        "Das Programm läuft ohne Gedächtnisprotokoll.",
        "О памяти: сколько её нужно процессу?",
        "内存不足，怎么办？",
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
