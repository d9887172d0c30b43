"""Which projects and files the settings keep out of memory."""

import pytest

from memoryd.memories.rules.private_paths import PrivatePaths

PATTERNS = ("~/clients/*", "/srv/hr/", "salaries.csv", "!~/clients/open")


@pytest.mark.parametrize(
    ("path", "is_private"),
    [
        ("/home/dev/clients/acme", True),
        ("/home/dev/clients/acme/src/main.py", True),
        ("/home/dev/clients/open", False),
        ("/home/dev/clients", False),
        ("/srv/hr", True),
        ("/srv/hr/2026/list.txt", True),
        ("/srv/hrx", False),
        ("/home/dev/app/data/salaries.csv", True),
        ("/home/dev/app/../clients/acme", True),
        ("/home/dev/app/my-salaries.csv", False),
        ("salaries.csv", False),
    ],
)
def test_a_path_is_private_by_its_own_pattern_or_a_folders(path: str, is_private: bool) -> None:
    assert PrivatePaths(PATTERNS, "/home/dev").has(path) == is_private


def test_a_call_is_private_by_any_word_that_names_a_private_file() -> None:
    private = PrivatePaths(PATTERNS, "/home/dev")
    assert private.has_any(["cat", "data/salaries.csv"], "/home/dev/app")
    assert private.has_any(["~/clients/acme/README.md"], "/home/dev/app")
    assert not private.has_any(["cat", "notes.txt"], "/home/dev/app")
    assert not PrivatePaths().has_any(["/srv/hr/x"], "/")


def test_patterns_that_are_too_involved_match_everything() -> None:
    assert PrivatePaths(["a*" * 60], "/home/dev").has("/home/dev/" + "a" * 200)
