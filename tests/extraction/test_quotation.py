"""Which prompt a memory goes back to."""

from hypothesis import given
from hypothesis import strategies as st

from memoryd.extraction.rules.quotation import SpokenPrompt, prompt_behind

FIX = SpokenPrompt("Fix the login test.", 100.0)
TABS = SpokenPrompt("From now on, use tabs in Makefiles.", 200.0)
PUSH = SpokenPrompt("Now push it.", 300.0)
ALL = (FIX, TABS, PUSH)


def test_the_prompt_of_the_same_second_is_it() -> None:
    assert prompt_behind(ALL, "Quite other words.", 300.4) == PUSH


def test_of_two_in_one_second_the_one_with_the_words_is() -> None:
    beside = SpokenPrompt("Use tabs in Makefiles", 300.0)
    assert prompt_behind((PUSH, beside), "Use tabs in Makefiles.", 300.0) == beside


def test_without_a_time_the_words_decide() -> None:
    assert prompt_behind(ALL, "Use tabs in Makefiles.", None) == TABS


def test_a_conclusion_goes_back_to_the_last_words_before_it() -> None:
    assert prompt_behind(ALL, "The pipeline needs Docker.", 250.0) == TABS


def test_nothing_is_quoted_where_nothing_tells() -> None:
    assert prompt_behind(ALL, "The pipeline needs Docker.", None) is None
    assert prompt_behind((), "Use tabs.", 1.0) is None
    untimed = SpokenPrompt("Fix the login test.", None)
    assert prompt_behind((untimed,), "The pipeline needs Docker.", 250.0) is None


@given(
    st.lists(st.builds(SpokenPrompt, st.text(), st.none() | st.floats(0, 1e6))),
    st.text(),
    st.none() | st.floats(0, 1e6),
)
def test_it_is_one_of_the_prompts_or_none(
    prompts: list[SpokenPrompt], body: str, created: float | None
) -> None:
    found = prompt_behind(prompts, body, created)
    assert found is None or found in prompts
