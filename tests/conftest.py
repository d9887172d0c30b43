"""Every test lives in a home of its own, on asyncio, without a network or a real model."""

import os
import signal
from pathlib import Path

import hypothesis
import pytest

from tests.support.running import environment, make_home

# A shell starts its background jobs deaf to Ctrl-C, and our children would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no bug: how long an example takes is for `make bench` to say. The same tree
# gets the same examples, so that what passed once passes again; `make fuzz` looks for new ones.
hypothesis.settings.register_profile("house", deadline=None, derandomize=True)
hypothesis.settings.register_profile("fuzz", deadline=None, max_examples=1000, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A throwaway HOME; every variable that could lead out of it is replaced or removed."""
    root = make_home(tmp_path)
    wanted = environment(root)
    for name in os.environ.keys() - wanted.keys():
        monkeypatch.delenv(name)
    for name, value in wanted.items():
        monkeypatch.setenv(name, value)
    return root
