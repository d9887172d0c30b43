"""A change in a working copy has the same effect in memory as through a store on disk."""

from collections.abc import Callable
from pathlib import Path

import pytest

from memoryd.base.errors import InvalidInput, NotFound
from memoryd.dreams.rules.plan import BelievedMemory
from memoryd.dreams.working_copy import WorkingCopies, WorkingCopy
from memoryd.memories.records import MemoryChanged
from memoryd.memories.rules import headers
from memoryd.memories.store import TOPIC_LIMIT_BYTES
from tests.support.dream_fixtures import DreamProject, memory_text

Change = Callable[[WorkingCopy], object]

GITHUB = "ghp_" + "x4Kq" * 9


def written(file: str, body: str | None = None, **fields: str | None) -> Change:
    """Rewrites a memory: another body, other fields of its header."""

    def change(copy: WorkingCopy) -> None:
        (before,) = (one for one in copy.memories() if one.file == file)
        text = headers.change(before.text, fields)
        text = text if body is None else text.replace("Use pnpm", body)
        copy.write(BelievedMemory(file, text, before.modified + 60))

    return change


def retired(file: str, superseded_by: str = "") -> Change:
    return lambda copy: copy.retire(file, superseded_by=superseded_by)


CHANGES: dict[str, tuple[Change, ...]] = {
    "a text": (written("a.md", "Use yarn"),),
    "a secret": (written("a.md", f"The token is {GITHUB}: use pnpm"),),
    "a name": (written("a.md", name="Another name"),),
    "one that supersedes": (written("a.md", supersedes="b.md"),),
    "one that supersedes what superseded": (written("a.md", supersedes="chain.md"),),
    "one that supersedes what claims to": (written("a.md", supersedes="found.md"),),
    "one that supersedes what is not there": (written("a.md", supersedes="gone.md, MEMORY.md"),),
    "one that supersedes one whose name is taken": (written("a.md", supersedes="taken.md"),),
    "one that supersedes itself and two": (written("a.md", supersedes="a.md, b.md, taken.md"),),
    "twice": (written("a.md", "Use yarn"), written("a.md", supersedes="b.md")),
    "a found one": (written("found.md", "Use yarn"),),
    "a retired one": (retired("b.md", superseded_by="a.md"), retired("taken.md")),
    "names that meet": (retired("taken~2.md"), retired("taken.md")),
}


def project_in(home: Path) -> DreamProject:
    project = DreamProject(home)
    project.remember("a.md", "Use pnpm for installs.", name="Installs", trust="user-said")
    project.remember("b.md", "Use pnpm always.", age_days=3, trust="agent-concluded")
    project.remember("c.md", "Use pnpm, or else.", age_days=4)
    project.remember("chain.md", "Use pnpm here.", supersedes="b.md, c.md")
    project.remember("found.md", "Use pnpm there.", supersedes="c.md")
    project.remember("taken.md", "Use pnpm again.")
    project.remember("taken~2.md", "Use pnpm for ever.")
    project.remember("taken.md", "An older one.", folder=project.memory / ".retired")
    project.store.repair(project.directory)
    project.confirm("a.md", "b.md", "chain.md", "taken.md")
    return project


def result_of(project: DreamProject, changes: tuple[Change, ...], *, on_disk: bool) -> object:
    """What is in the copy after the changes, what was posted, and what the index must say."""
    posted: list[MemoryChanged] = []
    copies = WorkingCopies(
        str(project.home / "copies"), project.store, now=lambda: project.now, skip_index=False
    )
    copy = copies.make(1, project.directory, posted.append)
    try:
        if on_disk:
            copy.lay_out()
        with copy.index_later() as reworded:
            for change in changes:
                change(copy)
            lines = dict(reworded)
        files = {
            file: (one.text, one.version, one.modified, one.data, one.origin)
            for file, one in copy.after().items()
        }
        listed = [(one.file, one.topic, one.modified, one.bytes) for one in copy.listed()]
        return files, listed, lines, posted
    finally:
        copy.close()


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES.keys())
def test_a_change_in_memory_is_that_of_a_store(tmp_path: Path, changes: tuple[Change, ...]) -> None:
    project = project_in(tmp_path)
    in_memory = result_of(project, changes, on_disk=False)
    assert in_memory == result_of(project, changes, on_disk=True)
    assert in_memory != result_of(project, (), on_disk=False)


def test_what_was_changed_in_memory_is_what_comes_to_disk(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    copies = WorkingCopies(
        str(tmp_path / "copies"), project.store, now=lambda: project.now, skip_index=False
    )
    copy = copies.make(1, project.directory, lambda _: None)
    written("a.md", supersedes="b.md")(copy)
    written("found.md", "Use yarn")(copy)
    before = copy.after()
    store = copy.store
    assert {file: store.read(copy.directory, file).data for file in before} == {
        file: one.data for file, one in before.items()
    }
    assert {file: (one.origin, one.modified) for file, one in copy.after().items()} == {
        file: (one.origin, one.modified) for file, one in before.items()
    }
    assert not Path(copy.directory.path, "b.md").exists()
    copy.close()
    assert not Path(copy.folder).exists()


def test_a_memory_that_is_gone_or_too_long_is_not_written(tmp_path: Path) -> None:
    copies = WorkingCopies(
        str(tmp_path / "copies"),
        (project := project_in(tmp_path)).store,
        now=lambda: project.now,
        skip_index=False,
    )
    copy = copies.make(1, project.directory, lambda _: None)
    before = copy.after()
    with pytest.raises(NotFound):
        copy.write(BelievedMemory("gone.md", memory_text("Use pnpm."), 1.0))
    with pytest.raises(NotFound):
        copy.retire("gone.md")
    with pytest.raises(InvalidInput):
        copy.write(BelievedMemory("a.md", memory_text("x" * TOPIC_LIMIT_BYTES), 1.0))
    assert copy.after() == before
    copy.close()
