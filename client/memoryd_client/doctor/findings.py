"""What the doctor says about one thing.

A finding is `ok`, `warn` (it works, but not as it could), `fail` (it does not work) or `skipped`
(it could not be looked at, or is not there yet), always with a reason, and with a mend where there
is one.
"""

import shlex
from pathlib import Path
from typing import Literal, NamedTuple

Verdict = Literal["ok", "warn", "fail", "skipped"]


class Finding(NamedTuple):
    check: str
    verdict: Verdict
    reason: str
    mend: str = ""


def quoted(path: Path) -> str:
    return shlex.quote(str(path))
