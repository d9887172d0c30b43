"""Which test files are about pure code alone: `make rules` runs those, in seconds."""

import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
OURS = re.compile(r"^\s*(?:from|import) (memoryd\w*|tests)([\w.]*)", re.MULTILINE)
PURE = re.compile(r"\.(base|text)\b|(\.\w+)*\.rules\b")


@cache
def is_about_rules(file: Path) -> bool:
    """Whether all of the daemon that a test file imports, itself or by its helpers, is pure."""
    imported = OURS.findall(file.read_text("utf-8"))
    return bool(imported) and all(_is_pure(package, rest) for package, rest in imported)


def _is_pure(package: str, rest: str) -> bool:
    if package == "tests":
        helper = TESTS / f"{rest.strip('.').replace('.', '/')}.py"
        return helper.exists() and _imports_pure_alone(helper)
    return package == "memoryd" and bool(PURE.match(rest))


@cache
def _imports_pure_alone(helper: Path) -> bool:
    imported = OURS.findall(helper.read_text("utf-8"))
    return all(_is_pure(package, rest) for package, rest in imported)
