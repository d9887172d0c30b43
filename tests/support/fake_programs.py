"""Programs such as systemctl, as small scripts on PATH that record how they were called."""

import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

HEAD = f"""#!{sys.executable} -IS
import os, sys
words = sys.argv[1:]
with open({{log!r}}, "a", encoding="utf-8") as log:
    print(os.path.basename(sys.argv[0]), *words, file=log)
"""

# A user manager as `memoryd install` sees it: {answers} by the first word that is not a flag,
# and a probe that reports what the unit's restrictions would let it report.
SYSTEMCTL = """
import configparser, re
answers = {answers!r}
verb = next(word for word in words if not word.startswith("-"))
if verb == "start" and words[-1] == "memoryd-probe.service":
    path = os.environ["XDG_RUNTIME_DIR"] + "/systemd/user/memoryd-probe.service"
    unit = open(path, encoding="utf-8").read()
    if "PrivateUsers=yes" in unit and answers.get("refuses"):
        sys.exit(1)
    with open(re.search("StandardOutput=file:(.*)", unit)[1], "w", encoding="utf-8") as out:
        fences = "up" if "PrivateUsers=yes" in unit else "down"
        print("up\\tmemories and state can be written", file=out)
        print(fences + "\\tthe rest of the home is read-only", file=out)
code, said = answers.get(verb, (0, ""))
print(said)
sys.exit(code)
"""

PLAIN = """
answers = {answers!r}
code, said = answers.get(words[0] if words else "", (0, ""))
print(said)
sys.exit(code)
"""


class FakePrograms:
    """The only programs on PATH; `calls` holds their command lines, in order."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._log = folder / "calls.txt"
        folder.mkdir()
        monkeypatch.setenv("PATH", str(folder))

    @property
    def calls(self) -> list[str]:
        if not self._log.exists():
            return []
        return self._log.read_text("utf-8").splitlines()

    def add(self, name: str, answers: Mapping[str, object], body: str = PLAIN) -> None:
        """Put a program on PATH that gives (exit code, words) by its first argument."""
        path = self._folder / name
        text = HEAD.format(log=str(self._log)) + body.format(answers=dict(answers))
        path.write_text(text, encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        assert os.access(path, os.X_OK)
