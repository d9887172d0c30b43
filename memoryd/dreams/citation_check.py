"""Looks up in a project what memories cite: read-only, below its root, never through a link out.

Blocking. What cannot be read counts as there: a folder without permission is not a lost file.
"""

import json
import os
import re
from pathlib import Path
from typing import Final

from memoryd.dreams.rules.citations import Citation
from memoryd.system.plain_file import read_plain

FILE_BYTES: Final = 1024 * 1024


class CitationCheck:
    """Of one project; files such as the Makefile are read once."""

    def __init__(self, root: str) -> None:
        self._root = Path(root)
        self._texts: dict[str, str | None] = {}

    def is_there(self, citation: Citation) -> bool:
        match citation.kind:
            case "path":
                return self._has_path(citation.name)
            case "branch":
                return self._has_branch(citation.name)
            case "make":
                text = self._text("Makefile") or self._text("makefile")
                name = re.escape(citation.name)
                return bool(text and re.search(rf"^{name}\s*:", text, re.MULTILINE))
            case "npm":
                return self._has_script(citation.name)

    def _has_path(self, path: str) -> bool:
        try:
            real = os.path.realpath(self._root / path)
            root = os.path.realpath(self._root)
        except (OSError, ValueError):
            return False
        # What is outside is not ours to look at; that it is named there is enough.
        if real != root and not real.startswith(f"{root}/"):
            return os.path.lexists(self._root / path)
        try:
            os.lstat(real)
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return False
        except OSError:
            return True
        return True

    def _has_branch(self, name: str) -> bool:
        """As far as a plain repository says; in a worktree, every branch counts as there."""
        if not (self._root / ".git").is_dir():
            return True
        heads = (f".git/refs/heads/{name}", f".git/refs/remotes/origin/{name}")
        packed = self._text(".git/packed-refs") or ""
        return any(self._has_path(one) for one in heads) or any(
            line.endswith((f" refs/heads/{name}", f" refs/remotes/origin/{name}"))
            for line in packed.splitlines()
        )

    def _has_script(self, name: str) -> bool:
        try:
            scripts = json.loads(self._text("package.json") or "{}")
        except (ValueError, RecursionError):
            return True
        found = scripts.get("scripts") if isinstance(scripts, dict) else None
        return isinstance(found, dict) and name in found

    def _text(self, file: str) -> str | None:
        if file not in self._texts:
            try:
                text = read_plain(str(self._root / file), FILE_BYTES).decode("utf-8", "replace")
            except (OSError, ValueError):
                self._texts[file] = None
            else:
                self._texts[file] = text
        return self._texts[file]
