"""What a project is called on every machine: its git remote, or a name that the person gives.

Rules
- The remote that the settings name (`origin` by default), normalised: ssh, https and scp-like
  forms, with and without `.git`, user and password, are one name.
- If there is no such remote, but just one other, that one. Of several, the person chooses.
- A name that is given wins. It may be an address, or plain words: letters, digits and `._/-`.
"""

import re
from collections.abc import Mapping
from typing import Final

from memoryd.base.errors import InvalidInput
from memoryd.memories.rules.git_identity import normalised

NAME_CHARACTERS: Final = 200
_PLAIN: Final = re.compile(r"[a-z0-9][a-z0-9._/-]*")


def shared_name(remotes: Mapping[str, str], wanted: str, given: str = "") -> str:
    """`remotes` are normalised, by name; `wanted` is the one to use; InvalidInput if unclear."""
    if given:
        return _given_name(given)
    usable = {name: url for name, url in remotes.items() if url}
    if wanted in usable:
        return usable[wanted]
    if len(set(usable.values())) == 1:
        return next(iter(usable.values()))
    if usable:
        choices = ", ".join(sorted(usable))
        raise InvalidInput(
            f"this repository has several remotes and none is called {wanted}",
            f"name one of {choices}: memoryd team join --remote NAME",
        )
    raise InvalidInput(
        "this project has no git remote, by which other machines would know it",
        "give it a name that all of you use: memoryd team join --name acme/shop",
    )


def _given_name(given: str) -> str:
    name = normalised(given) or given.strip().lower().strip("/").removesuffix(".git")
    if not _PLAIN.fullmatch(name) or len(name) > NAME_CHARACTERS:
        raise InvalidInput(
            "a project's name has letters, digits, dots, dashes and slashes only",
            "for example --name acme/shop",
        )
    return name
