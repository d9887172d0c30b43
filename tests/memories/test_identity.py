"""A repository is recognised in another place by its first commit and its remote."""

import os
import subprocess
from pathlib import Path

import pytest

from memoryd.memories.git_objects import root_commit
from memoryd.memories.rules.git_identity import (
    ProjectIdentity,
    is_same_project,
    normalised,
    remote_in,
)

ENV = {
    **os.environ,
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.com",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *words], env=ENV, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def repository(folder: Path, commits: int = 1) -> str:
    """Makes one with so many commits; returns the first."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    for number in range(commits):
        git(folder, "commit", "-q", "--allow-empty", "-m", f"commit {number} " + "words " * 30)
    return git(folder, "rev-list", "--max-parents=0", "HEAD")


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("git@github.com:Acme/Shop.git", "github.com/acme/shop"),
        ("https://user:token@github.com/acme/shop.git/", "github.com/acme/shop"),
        ("ssh://git@GitHub.com:22/acme/shop", "github.com/acme/shop"),
        ("git://github.com/acme/shop", "github.com/acme/shop"),
        ("/srv/git/shop.git", ""),
        ("../shop", ""),
        ("file:///srv/shop", ""),
        ("C:\\shop", ""),
        ("https://github.com/", ""),
        ("https://github.com/" + "a" * 900, ""),
    ],
)
def test_every_form_of_a_remote_is_one_address(url: str, same: str) -> None:
    assert normalised(url) == same


def test_origin_is_the_remote_and_the_first_one_otherwise() -> None:
    other = '[remote "other"]\n\turl = https://host.example/a/b\n'
    assert remote_in(other) == "host.example/a/b"
    assert remote_in(f'{other}[remote "origin"]\n url = "git@h.example:c/d.git"') == "h.example/c/d"
    assert remote_in("[core]\n\turl = https://host.example/a/b\n") == ""


def test_who_is_the_same_project() -> None:
    here = ProjectIdentity("a" * 40, "h/x")
    assert is_same_project(here, ProjectIdentity("a" * 40, "h/x"))
    assert is_same_project(here, ProjectIdentity("", "h/x"))
    assert is_same_project(here, ProjectIdentity("a" * 40, ""))
    assert not is_same_project(here, ProjectIdentity("a" * 40, "h/fork"))
    assert not is_same_project(here, ProjectIdentity("b" * 40, "h/x"))
    assert not is_same_project(ProjectIdentity(), ProjectIdentity())


def test_the_first_commit_is_found_loose_packed_and_as_a_delta(tmp_path: Path) -> None:
    first = repository(tmp_path / "one", commits=12)
    folder = str(tmp_path / "one/.git")
    assert root_commit(folder) == first
    git(tmp_path / "one", "repack", "-adfq", "--window=50", "--depth=50")
    git(tmp_path / "one", "pack-refs", "--all")
    git(tmp_path / "one", "prune-packed")
    assert root_commit(folder) == first
    git(tmp_path / "one", "checkout", "-q", "--detach")
    assert root_commit(folder) == first


def test_what_is_shallow_broken_or_hostile_has_no_first_commit(tmp_path: Path) -> None:
    repository(tmp_path / "one", commits=3)
    folder = tmp_path / "one/.git"
    (folder / "shallow").write_text("")
    assert root_commit(str(folder)) == ""
    (folder / "shallow").unlink()
    for head in ("ref: refs/../../../etc/passwd", "ref: HEAD", "0" * 40, "", "\0" * 99):
        (folder / "HEAD").write_text(head)
        assert root_commit(str(folder)) == ""
    (folder / "HEAD").unlink()
    os.mkfifo(folder / "HEAD")
    assert root_commit(str(folder)) == ""
    assert root_commit(str(tmp_path / "absent")) == ""


def test_a_damaged_pack_is_no_error(tmp_path: Path) -> None:
    repository(tmp_path / "one", commits=5)
    git(tmp_path / "one", "repack", "-adq")
    (pack,) = (tmp_path / "one/.git/objects/pack").glob("*.pack")
    data = pack.read_bytes()
    for at in range(12, len(data), 37):
        pack.chmod(0o600)
        pack.write_bytes(data[:at] + b"\xff" + data[at + 1 :])
        assert len(root_commit(str(tmp_path / "one/.git"))) in {0, 40}
    pack.write_bytes(data[: len(data) // 2])
    assert len(root_commit(str(tmp_path / "one/.git"))) in {0, 40}
