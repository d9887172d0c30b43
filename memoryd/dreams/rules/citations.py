"""What a memory cites that can be looked up in its project, and what a look found.

Rules
- Checkable are: a path below the project, in backticks or with a slash and an ending; a
  `file:///` address inside the project; "branch `name`"; `make target`; `npm run script`.
- A memory whose citations are all there gets `checked`, the day of the look; it is renewed after
  `RENEW_DAYS`, since a look alone is no reason to rewrite a file.
- Only what was there at an earlier look can be gone: a path that was never found may be on another
  machine. It is named in `gone`, until it is back or somebody keeps the memory.
"""

from collections.abc import Callable
from datetime import date
from typing import Final, Literal

import msgspec

from memoryd.dreams.rules.plan import BelievedMemory
from memoryd.memories.rules import headers
from memoryd.text.lazy_regex import late

CitationKind = Literal["path", "branch", "make", "npm"]

RENEW_DAYS: Final = 30
MOST_CITATIONS: Final = 20
_NAME: Final = r"[\w@.+-]{1,100}"
_FILE_URL: Final = late(r"\bfile://(/[^\s`)>\"']+)")
_QUOTED_PATH: Final = late(rf"`((?:\./)?{_NAME}(?:/{_NAME}){{1,12}}/?)`|`({_NAME}\.[a-z]{{1,5}})`")
_BARE_PATH: Final = late(
    rf"(?<![\w/.:@~`-])({_NAME}(?:/{_NAME}){{0,12}}/[\w@+-][\w@.+-]{{0,99}}\.[A-Za-z]\w{{0,5}})(?![\w/])"
)
_BRANCH: Final = late(r"\bbranch `([\w./-]{1,100})`|`([\w./-]{1,100})` branch\b")
_MAKE: Final = late(r"`make ([\w.-]{1,60})`")
_NPM: Final = late(r"`(?:npm|pnpm|yarn) run ([\w:.-]{1,60})`")
_URL: Final = late(r"\b(?!file:)[a-z][a-z+]{1,10}://\S+|\bwww\.\S+")


class Citation(msgspec.Struct, frozen=True):
    kind: CitationKind
    name: str

    @property
    def words(self) -> str:
        """What to call it when it is gone."""
        prefix = {"path": "", "branch": "branch ", "make": "make ", "npm": "npm run "}
        return f"{prefix[self.kind]}{self.name}"


def citations_in(text: str, root: str) -> tuple[Citation, ...]:
    """What can be looked up in the project at `root`, in the order of the kinds."""
    if "`" not in text and "/" not in text:  # each form has one of them, and most texts neither
        return ()
    found = [
        Citation("path", hit[1].removeprefix(f"{root}/").rstrip(".,;:"))
        for hit in _FILE_URL.finditer(text)
        if hit[1].startswith(f"{root}/")
    ]
    prose = _URL.sub(" ", _FILE_URL.sub(" ", text)).replace(f"{root}/", "")
    branches = [hit[1] or hit[2] for hit in _BRANCH.finditer(prose)]
    prose = _BRANCH.sub(" ", prose)
    paths = [hit[1] or hit[2] for hit in _QUOTED_PATH.finditer(prose)]
    paths += [hit[1] for hit in _BARE_PATH.finditer(prose)]
    found += [Citation("path", path.removeprefix("./").rstrip("/")) for path in paths]
    found += [Citation("branch", name) for name in branches]
    found += [Citation("make", hit[1]) for hit in _MAKE.finditer(prose)]
    found += [Citation("npm", hit[1]) for hit in _NPM.finditer(prose)]
    safe = (one for one in found if one.name and ".." not in one.name.split("/"))
    return tuple(dict.fromkeys(safe))[:MOST_CITATIONS]


def with_check(
    memory: BelievedMemory, root: str, today: str, is_there: Callable[[Citation], bool]
) -> BelievedMemory:
    """The memory after a look at what it cites; the same one if nothing changed."""
    topic = memory.topic
    citations = citations_in(f"{topic.description}\n{topic.body}", root)
    if not citations:
        return memory
    missing = [one.words for one in citations if not is_there(one)]
    changes: dict[str, str | None] = {}
    if not missing:
        if topic.gone or _is_older(topic.checked, today):
            changes = {"checked": today, "gone": None}
    elif topic.checked and topic.gone != (gone := ", ".join(missing)):
        changes = {"checked": today, "gone": gone}
    if not changes:
        return memory
    return msgspec.structs.replace(memory, text=headers.change(memory.text, changes))


def _is_older(checked: str, today: str) -> bool:
    try:
        days = (date.fromisoformat(today) - date.fromisoformat(checked)).days
    except ValueError:
        return True
    return days >= RENEW_DAYS
