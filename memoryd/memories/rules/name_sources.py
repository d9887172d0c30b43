"""The names that a project's own files give away: remotes, packages, people.

Files come from a repository, so anything may be in them: what cannot be read gives no names, and
each file gives at most `MOST_NAMES`.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from memoryd.memories.rules.private_names import ProjectNames, is_telling, words_of
from memoryd.text.lazy_regex import late

MOST_NAMES: Final = 500
NAME_CHARACTERS: Final = 100

PACKAGE_FILES: Final = ("package.json", "pyproject.toml", "Cargo.toml", "go.mod", "composer.json")
PEOPLE_FILES: Final = (
    "CODEOWNERS",
    ".github/CODEOWNERS",
    "docs/CODEOWNERS",
    "AUTHORS",
    "AUTHORS.md",
    "CONTRIBUTORS",
    "CONTRIBUTORS.md",
    "MAINTAINERS",
    "MAINTAINERS.md",
    ".mailmap",
)

_URL = late(r"^\s*url\s*=\s*(\S+)", re.MULTILINE)
_USER = late(r"^\[user\][^\[]*?^\s*name\s*=\s*\"?([^\"\n]+)", re.MULTILINE)
_LOGGED = late(r"^[0-9a-f]{40,64} [0-9a-f]{40,64} ([^<\n]+) <", re.MULTILINE)
_PERSON = late(r"([^\W\d_][^<>@\n\"'{}\[\]#*]{1,60}?)\s*<([\w.+-]+)@[^>\n]*>")
_HANDLE = late(r"(?<![\w.])@([\w][\w-]{1,40})")
_MODULE = late(r"^module\s+(\S+)", re.MULTILINE)


def remotes_in(git_config: str) -> list[str]:
    """Owner and name of every remote, from any form of its address."""
    found = []
    for url in _URL.findall(git_config):
        path = re.sub(r"^\w[\w+.-]*://[^/]*/|^[^/:]*:", "", url).removesuffix(".git")
        found += [part for part in path.strip("/").split("/")[-2:] if part.strip("~.")]
    return _limited(found)


def packages_in(file: str, text: str) -> list[str]:
    """What a project calls its packages."""
    if file == "go.mod":
        module = _MODULE.search(text)
        return _limited(module[1].split("/")[1:]) if module else []
    found = _document(file, text)
    sections = (found, found.get("project"), found.get("package"), _nested(found, "tool", "poetry"))
    names = [one.get("name") for one in sections if isinstance(one, dict)]
    return _limited(
        part for name in names if isinstance(name, str) for part in name.strip("@").split("/")
    )


def people_in(text: str) -> list[str]:
    """Names, handles and the names in addresses; teams (`@org/team`) included."""
    found = [*_HANDLE.findall(text)]
    for name, address in _PERSON.findall(text):
        found += [name.strip(), address]
    for email in re.findall(r"([\w.+-]+)@[\w-]+\.[\w.-]+", text):
        found.append(email)
    return _limited(found)


def authors_in(file: str, text: str) -> list[str]:
    """The people whom a package names."""
    found = _document(file, text)
    poetry = _nested(found, "tool", "poetry")
    values: list[object] = []
    for section in (found, found.get("project"), found.get("package"), poetry):
        if isinstance(section, dict):
            values += [section.get(key) for key in ("author", "authors", "contributors")]
            values += [section.get("maintainers")]
    return _limited(name for value in values for name in _people(value))


def own_names_in(git_config: str, git_log: str = "") -> frozenset[str]:
    """Words of the name of the person who works here."""
    names = [*_USER.findall(git_config), *_LOGGED.findall(git_log)[-1:]]
    return frozenset(word for name in names for word in words_of(name[:NAME_CHARACTERS]))


def project_names(
    names: Iterable[str], people: Iterable[str], folders: Iterable[str], own: frozenset[str]
) -> ProjectNames:
    """All of them together; what the person is called themself is nobody's secret."""
    others = {
        one
        for one in people
        if any(is_telling(word, 3) for word in words_of(one) if word not in own)
    }
    parts = {word for one in others for word in words_of(one)} - own
    return ProjectNames(
        frozenset(one for one in names if one),
        frozenset(one for one in parts if is_telling(one, 3)),
        frozenset(folders),
        own,
    )


def _people(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield from people_in(value) or [value]
    elif isinstance(value, dict):
        yield from (one for key in ("name", "email") if isinstance(one := value.get(key), str))
    elif isinstance(value, list):
        for one in value[:MOST_NAMES]:
            yield from _people(one) if not isinstance(one, list) else ()


def _document(file: str, text: str) -> dict[str, object]:
    try:
        found = json.loads(text) if file.endswith(".json") else _toml(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _toml(text: str) -> object:
    import tomllib  # noqa: PLC0415 - few files need it, and the daemon starts sooner

    return tomllib.loads(text)


def _nested(found: dict[str, object], *keys: str) -> object:
    value: object = found
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _limited(names: Iterable[str]) -> list[str]:
    kept = (name.strip() for name in names)
    return list(islice((one for one in kept if 1 < len(one) <= NAME_CHARACTERS), MOST_NAMES))
