"""Lazily compiled patterns work like any other."""

import importlib
import re
from itertools import chain
from pathlib import Path

import pytest

import memoryd
from memoryd.text.lazy_regex import _Late, late
from memoryd.text.masking.by_shape import SHAPES

PACKAGE = Path(memoryd.__file__).parent


def test_a_lazy_pattern_works_like_a_compiled_one() -> None:
    text, early, one = "a1 b2", re.compile(r"([a-z])(\d)"), late(r"([a-z])(\d)")
    assert one.findall(text) == early.findall(text)
    assert one.sub(r"\2\1", text) == early.sub(r"\2\1", text)
    assert one.split(text) == early.split(text)
    for method in ("match", "search", "fullmatch"):
        found, wanted = getattr(one, method)("a1"), getattr(early, method)("a1")
        assert found.groups() == wanted.groups()
    assert [match.span() for match in one.finditer(text)] == [(0, 2), (3, 5)]
    assert late("A", re.IGNORECASE).match("a")
    assert (one.pattern, one.groups) == (early.pattern, early.groups)


def test_every_lazy_pattern_of_ours_can_be_compiled() -> None:
    files = PACKAGE.rglob("*.py")
    names = {".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts) for file in files}
    modules = [importlib.import_module(name.removesuffix(".__init__")) for name in names]
    found = chain.from_iterable(vars(module).values() for module in modules)
    ours = [one for one in chain(found, (shape.pattern for shape in SHAPES)) if is_late(one)]
    assert len(ours) > 100
    for one in ours:
        assert re.compile(one.pattern)


def is_late(one: object) -> bool:
    return isinstance(one, _Late)


def test_an_error_in_a_pattern_shows_when_it_is_used() -> None:
    wrong = late("(")
    with pytest.raises(re.error):
        wrong.match("")
