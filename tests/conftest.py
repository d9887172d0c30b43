"""Every test lives in a home of its own, on asyncio, without a network or a real model."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A throwaway HOME; every variable that could lead out of it is replaced or removed."""
    root = tmp_path / "home"
    for folder in (".claude/projects", ".config", ".local/state", "run"):
        (root / folder).mkdir(parents=True, mode=0o700)
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "CLAUDE", "MEMORYD_", "XDG_")) or name.lower().endswith(
            "_proxy"
        ):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(root))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(root / ".config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(root / ".local/state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(root / "run"))
    monkeypatch.setenv("MEMORYD_FORBID_NETWORK", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    return root
