"""What makes a repository the same project in another place: its first commit and its remote.

Rules
- The remote is `origin`, or else the first one. ssh, https and scp-like forms of one address are
  the same; user names, passwords, ports and `.git` do not count. A path on this machine is not a
  remote: it says where something is, not what it is.
- Two are the same project if their remotes are, unless their first commits differ; or if their
  first commits are and one has no remote. A fork has another remote, and is another project.
- All of this is what a repository says of itself. It can be made up, so it is only ever a reason to
  ask the person, never to join anything.
"""

import re
from typing import Final

import msgspec

from memoryd.memories.rules.project_root import unquoted
from memoryd.text.lazy_regex import late

REMOTE_CHARACTERS: Final = 500
_COMMIT: Final = late(r"[0-9a-f]{40}")
_SECTION: Final = late(r'\s*\[\s*(?P<name>[\w.-]+)(?:\s+"(?P<sub>(?:\\.|[^"\\])*)")?\s*\]')
_URL: Final = late(r"\s*url\s*=\s*(.*?)\s*$", re.IGNORECASE)
_WITH_SCHEME: Final = late(
    r"(?:https?|ssh|git|git\+ssh)://(?:[^@/\s]*@)?(?P<host>[\w.-]+)(?::\d*)?/(?P<path>[^\s?#]+)",
    re.IGNORECASE,
)
_LIKE_SCP: Final = late(r"(?:[^@/\s]+@)?(?P<host>[\w.-]+\.[\w-]+):(?P<path>[^\s/][^\s]*)")


class ProjectIdentity(msgspec.Struct, frozen=True, omit_defaults=True):
    """Empty where it is not known."""

    root_commit: str = ""
    remote: str = ""

    @property
    def is_known(self) -> bool:
        return bool(self.root_commit or self.remote)


def is_same_project(one: ProjectIdentity, other: ProjectIdentity) -> bool:
    commits = {one.root_commit, other.root_commit} - {""}
    if one.remote and other.remote:
        return one.remote == other.remote and len(commits) <= 1
    return bool(one.root_commit) and one.root_commit == other.root_commit


def remote_in(config: str) -> str:
    """The normalised remote of a repository's configuration; empty if it has none."""
    urls = remotes_in(config)
    return urls.get("origin") or next((url for url in urls.values() if url), "")


def remotes_in(config: str) -> dict[str, str]:
    """Every remote by its name, normalised; empty for one that is not an address."""
    urls: dict[str, str] = {}
    remote = None
    for line in config.splitlines():
        if header := _SECTION.match(line):
            is_remote = header["name"].lower() == "remote"
            remote = (header["sub"] or "") if is_remote else None
        elif remote is not None and (url := _URL.match(line)):
            urls.setdefault(remote, normalised(unquoted(url[1])))
    return urls


def normalised(url: str) -> str:
    """`host/path` in lower case where the host does not care; empty for what is not an address."""
    found = _WITH_SCHEME.fullmatch(url) or _LIKE_SCP.fullmatch(url)
    if not found:
        return ""
    path = found["path"].strip("/").removesuffix(".git").strip("/")
    whole = f"{found['host'].lower()}/{path.lower()}"
    return whole if path and len(whole) <= REMOTE_CHARACTERS else ""


def head_in(text: str) -> tuple[str, str]:
    """What HEAD or a ref says: a commit, or the name of another ref; both empty if neither."""
    text = text.strip()
    if _COMMIT.fullmatch(text):
        return text, ""
    name = text.removeprefix("ref:").strip() if text.startswith("ref:") else ""
    is_plain = name.startswith("refs/") and ".." not in name and name.isprintable()
    return "", name if is_plain else ""


def packed_ref(text: str, name: str) -> str:
    """The commit of a ref in `packed-refs`; empty if it is not there."""
    for line in text.splitlines():
        commit, _, ref = line.partition(" ")
        if ref.strip() == name and _COMMIT.fullmatch(commit):
            return commit
    return ""


def first_parent(commit: bytes) -> str | None:
    """The first parent of a commit object, empty for a first commit; None if it is not one."""
    if not commit.startswith(b"tree "):
        return None
    lines = commit.split(b"\n", 2)
    if len(lines) < 2 or not lines[1].startswith(b"parent "):
        return ""
    parent = lines[1][7:].decode("ascii", "replace")
    return parent if _COMMIT.fullmatch(parent) else None
