"""The pictures of editors in docs/, and what draws them."""

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.running import ROOT
from tests.support.terminal_picture import INK, rows_of, svg_of

ANY = st.characters(max_codepoint=0x2FFF)
STYLES = st.from_regex(r"\x1b\[[0-9;:]{0,12}m", fullmatch=True)
TEXT = st.lists(st.text(ANY) | STYLES).map("".join)


def texts_in(picture: str) -> list[str]:
    root = ET.fromstring(picture)  # noqa: S314 - our own
    return [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize(
    ("name", "shown"),
    [("neovim", "We deploy on Thursdays"), ("emacs", "project_deploy_thursdays.md")],
)
def test_the_picture_shows_a_memory_and_loads_nothing(name: str, shown: str) -> None:
    source = (ROOT / f"docs/{name}.svg").read_text(encoding="utf-8")
    assert shown in texts_in(source)
    assert any("memory: inbox 1" in text for text in texts_in(source))
    assert "href" not in source
    assert "script" not in source.replace("Description", "")
    assert "/tmp" not in source


def test_colours_and_styles_end_where_the_terminal_ends_them() -> None:
    (row,) = rows_of("\x1b[1;31mbold red\x1b[0m plain \x1b[38;5;16;48;2;1;2;3mboth")
    bold, plain, both = row
    assert bold.style.is_bold
    assert bold.style.ink not in {None, INK}
    assert plain.style.ink is None
    assert (both.style.ink, both.style.ground) == ("#000000", "#010203")


def test_words_stand_in_their_columns() -> None:
    picture = svg_of("a  b", 4, "title", "description")
    assert texts_in(picture) == ["a", "b"]
    assert 'x="14.0"' in picture
    assert 'x="39.2"' in picture


@given(TEXT)
def test_whatever_a_screen_shows_is_a_well_formed_picture(screen: str) -> None:
    ET.fromstring(svg_of(screen, 80, "title", "description"))  # noqa: S314 - our own
