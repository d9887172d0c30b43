"""The result of one check of the doctor.

The verdict is `ok`, `warn` (works, but not as it could), `fail` (does not work) or `skipped` (could
not be checked, or does not exist yet). There is always a reason, and a fix where there is one.
"""

import shlex
from pathlib import Path
from typing import Literal, NamedTuple

Verdict = Literal["ok", "warn", "fail", "skipped"]


class Finding(NamedTuple):
    check: str
    verdict: Verdict
    reason: str
    fix: str = ""

    def as_json(self) -> dict[str, str]:
        """With the field names of the daemon's `health`."""
        return {
            "check": self.check,
            "verdict": self.verdict,
            "reason": self.reason,
            "fix": self.fix,
        }


def quoted(path: Path) -> str:
    return shlex.quote(str(path))
