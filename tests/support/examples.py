"""How many examples a property gets, when it is not the usual hundred."""

from typing import Any

from hypothesis import settings

USUAL = 100


def examples(count: int, **more: Any) -> settings:
    """So many, and more or fewer under the profiles that take more or fewer of all."""
    assert settings.default is not None
    return settings(max_examples=max(1, count * settings.default.max_examples // USUAL), **more)
