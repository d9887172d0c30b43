"""Imports point one way, foreign packages have one importer, and the client stands alone."""

import ast
from pathlib import Path

import pytest

from tests.architecture import CLIENT, DAEMON, LAYERS, client_violations, cycles, violations

ROOT = Path(__file__).resolve().parent.parent


def sources(folder: Path) -> dict[str, str]:
    """Every module with code in it, by its dotted name; a folder's own words are no module."""
    found: dict[str, str] = {}
    for path in folder.rglob("*.py"):
        parts = path.relative_to(folder).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        text = path.read_text(encoding="utf-8")
        if name and (path.stem != "__init__" or len(ast.parse(text).body) > 1):
            found[name] = text
    return found


def daemon_sources() -> dict[str, str]:
    return sources(ROOT / DAEMON)


def client_sources() -> dict[str, str]:
    return sources(ROOT / "client" / CLIENT)


def test_every_daemon_module_keeps_to_its_layer() -> None:
    assert violations(daemon_sources()) == []


def test_every_place_in_the_plan_is_lived_in() -> None:
    planned = {name for row in LAYERS for name in row}
    assert sorted(planned - daemon_sources().keys()) == []


def test_the_client_needs_the_standard_library_alone() -> None:
    assert client_violations(client_sources()) == []


def test_no_modules_import_each_other() -> None:
    assert cycles(daemon_sources(), DAEMON) == []
    assert cycles(client_sources(), CLIENT) == []


def test_no_module_is_a_drawer_for_anything() -> None:
    drawers = {"utils", "helpers", "manager", "common", "models", "types"}
    rooms = {name for module in daemon_sources() | client_sources() for name in module.split(".")}
    assert drawers.isdisjoint(rooms)


PLAN = (("low",), ("left", "right"), ("high",))


PLANTED = [
    ({"low": "import memoryd.high"}, "low may not import high"),
    ({"low": "def f():\n    from memoryd import high"}, "low may not import high"),
    ({"left": "from memoryd.right import x"}, "left may not import right"),
    ({"left": "from .right import x"}, "left may not import right"),
    ({"stray": ""}, "stray has no place in the layers"),
    (
        {"left": "import httpx2", "right": "from httpx2.x import y"},
        "httpx2 has more than one importer: left, right",
    ),
    ({"low": "from memoryd_client.call import x"}, "low reaches into the client"),
    ({"left": "from memoryd.right import deep"}, "left may not import right"),
]


@pytest.mark.parametrize(("tree", "verdict"), PLANTED)
def test_a_planted_violation_is_found(tree: dict[str, str], verdict: str) -> None:
    assert violations(tree, PLAN) == [verdict]


def test_a_planted_import_of_a_package_in_the_client_is_found() -> None:
    verdict = "call imports msgspec, which is not in the standard library"
    assert client_violations({"call": "import msgspec"}) == [verdict]
    assert client_violations({"call": "import memoryd.daemon"})
    assert client_violations({"serve": "import memoryd.daemon"}) == []


def test_a_planted_cycle_is_found() -> None:
    tree = {"a": "import memoryd.b", "b": "from memoryd import c", "c": "from . import a"}
    assert cycles(tree, DAEMON) == ["a -> b -> c -> a"]
