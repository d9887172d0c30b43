"""`requirements.txt` pins everything that the daemon runs with, and only by hashes."""

import re
import tomllib

from packaging.requirements import Requirement

from tests.support.running import ROOT

PINS = (ROOT / "requirements.txt").read_text()
ENTRY = re.compile(
    r"^([a-z0-9-]+)==([^\s\\]+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", re.MULTILINE
)


def pinned() -> dict[str, str]:
    return {name: version for name, version, _ in ENTRY.findall(PINS)}


def test_every_dependency_is_pinned_within_its_range() -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    found = pinned()
    for one in map(Requirement, wanted):
        name = re.sub(r"[-_.]+", "-", one.name).lower()
        assert name in found, f"{name} is not pinned: make pins"
        assert found[name] in one.specifier, f"{name} {found[name]} does not fit: make pins"


def test_there_is_nothing_but_pins_with_hashes() -> None:
    assert pinned()
    rest = ENTRY.sub("", PINS)
    assert [line for line in rest.splitlines() if line and not line.startswith("# ")] == []


def test_no_address_is_in_it() -> None:
    assert "://" not in PINS
