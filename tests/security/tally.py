"""The outcome of one class of attacks."""

from collections.abc import Callable
from pathlib import Path

import msgspec


class Tally(msgspec.Struct, frozen=True):
    """`violations` says what got through, shortly; `allowed` is the share that may."""

    name: str
    tried: int
    violations: list[str]
    allowed: float = 0.0

    @property
    def holds(self) -> bool:
        return len(self.violations) <= self.allowed * self.tried

    @property
    def line(self) -> str:
        word = "ok  " if self.holds else "FAIL"
        limit = f" (at most {self.allowed:.0%})" if self.allowed else ""
        counts = f"tried {self.tried:>6}  violations {len(self.violations)}{limit}"
        return f"{word} {self.name:<52} {counts}"


# A check gets an empty folder and how much of its work to do: 1.0 for all, less in a quick run.
Check = Callable[[Path, float], Tally]
