"""One key is set, and nothing else in the text changes."""

import tomllib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd_client import toml_edit

TEXT = """\
# my settings
[log]  # where it goes
level = "info"   # was debug, see #12
max_bytes = 70000

[budget]
usd_per_day = 1
"""


def test_a_value_is_replaced_and_its_comment_stays() -> None:
    new = toml_edit.with_value(TEXT, "log.level", "de#bug")
    assert new == TEXT.replace('"info"', '"de#bug"')


def test_a_key_is_added_to_its_section() -> None:
    new = toml_edit.with_value(TEXT, "log.keep_files", 3)
    assert new == TEXT.replace("70000\n", "70000\nkeep_files = 3\n")


def test_a_section_is_added_at_the_end() -> None:
    new = toml_edit.with_value(TEXT, 'projects."/home/me/a b".mode', "log")
    assert new == f'{TEXT}\n[projects."/home/me/a b"]\nmode = "log"\n'


def test_an_empty_text_gets_its_first_section() -> None:
    assert toml_edit.with_value("", "log.level", "debug") == '[log]\nlevel = "debug"\n'


@pytest.mark.parametrize(
    "text",
    [
        'log.level = "info"\n',
        'log = {level = "info"}\n',
        '[log]\nlevel = """\nlong"""\n',
        "log = 3\n",
    ],
)
def test_what_cannot_be_edited_safely_is_refused(text: str) -> None:
    with pytest.raises(toml_edit.CannotEdit):
        toml_edit.with_value(text, "log.level", "debug")


@pytest.mark.parametrize("key", ["", "log", "a b.c", "log.level = 1\nx", "[log]"])
def test_a_key_that_is_none_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        toml_edit.with_value(TEXT, key, 1)


VALUES = st.one_of(st.text(), st.booleans(), st.integers(-(2**60), 2**60), st.lists(st.text()))


@given(st.sampled_from(["log.level", "log.new", "budget.usd_per_day", "fresh.key"]), VALUES)
def test_the_text_then_says_the_same_and_the_value(key: str, value: object) -> None:
    new = tomllib.loads(toml_edit.with_value(TEXT, key, value))
    section, name = key.split(".")
    wanted = tomllib.loads(TEXT)
    wanted.setdefault(section, {})[name] = value
    assert new == wanted


@given(st.text(), st.sampled_from(["log.level", "a.b.c", "x"]))
def test_any_text_is_edited_or_refused(text: str, key: str) -> None:
    with suppress(toml_edit.CannotEdit, ValueError):
        toml_edit.without_value(toml_edit.with_value(text, key, "value"), key)


@pytest.mark.parametrize(
    ("typed", "value"),
    [("2.5", 2.5), ("true", True), ("debug", "debug"), ('"x"', "x"), ("~/key", "~/key"), ("", "")],
)
def test_what_is_typed_is_a_value_or_plain_text(typed: str, value: object) -> None:
    assert toml_edit.value_of(typed) == value
