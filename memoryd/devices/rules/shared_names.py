"""What a project is called on all machines of one person.

Rules
- A name that the person gave wins. Else the git remote, normalised; else the first commit.
- If another machine already uses a name for the same repository, this one takes it over: so a clone
  without a remote finds the memories of one that has it. Same means the same remote, unless the
  first commits differ, or the same first commit where one has no remote.
- A project with none of these is not shared until it is given a name.
- A name says how it came about, so that nobody's given name can be another project's remote.
"""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from memoryd.base.errors import InvalidInput
from memoryd.memories.rules.git_identity import ProjectIdentity, is_same_project

_GIVEN: Final = re.compile(r"[\w][\w ./-]{0,99}")
_REMOTE, _COMMIT, _NAME = "remote:", "commit:", "name:"


class SharedProject(msgspec.Struct, frozen=True):
    """A name that some machine uses, and the first commit that it said."""

    name: str
    commit: str = ""

    @property
    def identity(self) -> ProjectIdentity:
        remote = self.name.removeprefix(_REMOTE) if self.name.startswith(_REMOTE) else ""
        return ProjectIdentity(self.commit, remote)


def shared_name_of(
    identity: ProjectIdentity, given: str, used: Iterable[SharedProject] = ()
) -> str:
    """What this repository is called on every machine; empty if nothing says so."""
    if given:
        return f"{_NAME}{given}"
    own = ""
    if identity.remote:
        own = f"{_REMOTE}{identity.remote}"
    elif identity.root_commit:
        own = f"{_COMMIT}{identity.root_commit}"
    others = sorted(
        one.name
        for one in used
        if one.name.startswith((_REMOTE, _COMMIT)) and is_same_project(one.identity, identity)
    )
    if own in others or not others:
        return own
    return others[-1]  # a remote rather than a commit


def given_name(name: str) -> str:
    """A name as the person gave it, fit for use; InvalidInput if it is not."""
    plain = " ".join(name.split()).lower()
    if not _GIVEN.fullmatch(plain):
        raise InvalidInput(
            "a project's name has letters, digits, spaces, dots, dashes and slashes only",
            "for example: memoryd device project acme/shop",
        )
    return plain


def shown_name(name: str) -> str:
    """Without how it came about."""
    for prefix in (_REMOTE, _NAME):
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name.replace(_COMMIT, "commit ")[:20]
