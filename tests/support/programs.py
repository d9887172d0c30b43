"""Programs of the system that a test needs: where they are not, it is skipped and says why."""

import shutil
from collections.abc import Mapping
from types import MappingProxyType

import pytest

# The package that has a program, where its name is another one.
PACKAGES: Mapping[str, str] = MappingProxyType({"nvim": "neovim", "emacs": "emacs-nox"})


def needs(*programs: str) -> pytest.MarkDecorator:
    """Skips a test on a machine without one of these."""
    missing = [one for one in programs if shutil.which(one) is None]
    packages = " ".join(PACKAGES.get(one, one) for one in missing)
    reason = f"not installed: {', '.join(missing)} (apt-get install {packages})"
    return pytest.mark.skipif(bool(missing), reason=reason)
