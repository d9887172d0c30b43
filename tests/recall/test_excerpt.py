"""What a hook shows of a long memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.recall.rules.excerpt import EXCERPT_BYTES, excerpt

PATH = "/home/dev/.claude/projects/-p/memory/reference_export.md"
FILLER = "\n\n".join(f"Paragraph {number} about the weather. " * 8 for number in range(6))
LONG = f"""The nightly export writes to the archive bucket.

{FILLER}

## When it fails

Run the replay job with the date of the missing day; it is safe to run twice.

{FILLER}"""

pytestmark = pytest.mark.rules


def test_a_short_memory_is_shown_whole() -> None:
    assert excerpt("Deploys go out on Thursdays.", "when do we deploy?", PATH) == (
        "Deploys go out on Thursdays."
    )


def test_a_long_one_shows_its_beginning_the_part_meant_and_its_path() -> None:
    shown = excerpt(LONG, "how do I replay a missing day?", PATH).splitlines()
    assert shown[0] == "The nightly export writes to the archive bucket."
    assert shown[1] == "…"
    assert "## When it fails" in shown
    assert "Run the replay job with the date of the missing day; it is safe to run twice." in shown
    assert shown[-1] == f"(the whole memory: {PATH})"


def test_without_a_word_in_common_only_the_beginning_is_shown() -> None:
    assert excerpt(LONG, "bonjour", PATH).splitlines() == [
        "The nightly export writes to the archive bucket.",
        "…",
        f"(the whole memory: {PATH})",
    ]


def test_one_endless_paragraph_is_cut_at_a_word() -> None:
    shown = excerpt("word " * 1000, "word", PATH).splitlines()
    assert shown[0].endswith("word…")
    assert len(shown[0].encode()) <= EXCERPT_BYTES


@given(st.text(max_size=3000), st.text(max_size=100))
def test_no_text_makes_more_than_a_hook_shows(content: str, prompt: str) -> None:
    shown = excerpt(content * 3, prompt, PATH)
    assert len(shown.encode("utf-8", "replace")) <= EXCERPT_BYTES + len(PATH) + 60
