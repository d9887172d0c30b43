"""How the words of a memory are recognised elsewhere, and taken out."""

import pytest

from memoryd.memories.rules.traces import Traces

TEXT = "The heron merger closes in March, and only legal may know about it.\nAsk Ada first."
TRACES = Traces([TEXT], {"project_heron_merger.md"})


@pytest.mark.parametrize(
    "text",
    [
        "- asked: remember that THE HERON merger\n  closes in march, and so on",
        "ask Ada first!",
        "see project_heron_merger.md",
        'x "and only legal may know about" y',
    ],
)
def test_a_run_of_words_a_short_sentence_or_the_file_name_is_a_trace(text: str) -> None:
    assert TRACES.found_in(text)


@pytest.mark.parametrize("text", ["the heron merger", "Ask Bob first.", "in March, and only", ""])
def test_a_few_common_words_are_not(text: str) -> None:
    assert not TRACES.found_in(text)


def test_only_the_lines_with_a_trace_go() -> None:
    text = (
        "# Notes\n- tabs\n- The heron merger closes\n  in March, and only legal knows\n- spaces\n"
    )
    assert TRACES.without(text) == ("# Notes\n- tabs\n- spaces\n", 2)
    assert TRACES.without("clean\n") == ("clean\n", 0)


def test_texts_without_words_leave_no_trace() -> None:
    assert not Traces(["", "a", "- -"]).found_in("a - b")
