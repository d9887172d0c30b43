"""The guidance has eight parts, says where memory is, and stays the same from day to day."""

import re

import pytest

from memoryd.memories.rules import headers, index, topics
from memoryd.sessions.rules.guidance import Folders, guidance

PLAIN = Folders(project="/m/project", user="/m/user")
FULL = Folders(project="/m/project", user="/m/user", team="/m/project/team", agent=("/m/a", "/m/b"))

HEADINGS = [
    "What it is",
    "Remember and forget",
    "The four types",
    "What not to save",
    "How to save",
    "When to look",
    "Verify before you trust",
    "Memory, plans and tasks",
]


def headings(text: str) -> list[str]:
    return re.findall(r"^## (.*)$", text, re.MULTILINE)


@pytest.mark.parametrize("folders", [PLAIN, FULL])
@pytest.mark.parametrize("has_index", [True, False])
def test_there_are_eight_parts_in_either_mode(folders: Folders, has_index: bool) -> None:
    for text in (
        guidance(folders, has_index=has_index),
        guidance(folders, mode="log", has_index=has_index),
    ):
        assert headings(text) == HEADINGS
        assert len(text) < 6_000


def test_every_existing_folder_is_named_and_no_other() -> None:
    assert "`/m/project`: this project. The folder exists" in guidance(PLAIN)
    assert "`/m/user`" in guidance(PLAIN)
    assert "team" not in guidance(PLAIN)
    for folder in (FULL.team, *FULL.agent):
        assert f"`{folder}`" in guidance(FULL)


def test_all_four_types_are_explained() -> None:
    assert re.findall(r"^- `(\w+)`:", guidance(PLAIN), re.MULTILINE) == list(topics.TYPES)


def test_the_example_file_is_one_that_we_can_read() -> None:
    example = re.search(r"```markdown\n(.*?)```", guidance(PLAIN), re.DOTALL)
    assert example is not None
    topic = topics.parse(example[1])
    assert (topic.name, topic.type) == ("Size of commits", "feedback")
    assert topic.description
    assert headers.read(example[1])[0].keys() == {"name", "description", "type"}


def test_the_example_index_line_is_one_that_we_keep() -> None:
    line = re.search(r"`(- \[Title\].*?)`", guidance(PLAIN))
    assert line is not None
    assert line[1] == index.pointer("Title", "file.md", "hook")


def test_the_limits_of_the_index_are_named() -> None:
    assert "200 lines and 25,000 bytes" in guidance(PLAIN)


def test_without_an_index_none_is_mentioned() -> None:
    assert "MEMORY.md" in guidance(PLAIN)
    assert "MEMORY.md" not in guidance(PLAIN, has_index=False)


def test_log_mode_names_a_pattern_and_no_day() -> None:
    text = guidance(PLAIN, mode="log")
    how = text.partition("## How to save")[2].partition("## ")[0]
    assert "`/m/project/logs/YYYY/MM/YYYY-MM-DD.md`" in how
    assert not re.search(r"\d", how)
    assert "type: feedback" not in how


def test_ignoring_memory_means_not_even_mentioning_it() -> None:
    part = guidance(PLAIN).partition("## When to look")[2].partition("## ")[0]
    assert "ignore memory" in part
    assert "mention it" in part
