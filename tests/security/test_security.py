"""The quick form of `make test-security`: every class of attacks, thinned."""

from pathlib import Path

import pytest

from tests.security.__main__ import CHECKS
from tests.security.tally import Check


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_class_is_closed(check: Check, tmp_path: Path) -> None:
    tally = check(tmp_path, 0.05)
    assert tally.holds, (tally.line, tally.violations[:10])
