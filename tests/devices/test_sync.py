"""A person's machines against a real server, one sync after the other, without daemons."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from tests.support.own_clones import OwnClone, machines
from tests.support.postgres import TeamDatabase

Pair = tuple[OwnClone, OwnClone]
# Files that are written within one tick of the kernel's clock have the same time.
FILE_TICK_SECONDS = 0.02


@pytest.fixture
async def pair(shared: TeamDatabase, tmp_path: Path) -> AsyncIterator[Pair]:
    async with machines(tmp_path, shared, "desk", "lap") as (desk, lap):
        yield desk, lap


async def test_a_change_on_either_machine_is_on_both(pair: Pair) -> None:
    desk, lap = pair
    desk.write("a.md", "one")
    assert len((await desk.sync()).pushed) == 1
    assert len((await lap.sync()).pulled) == 1
    lap.write("a.md", "two")
    await lap.sync()
    await desk.sync()
    assert desk.says() == lap.says() == {"a.md": "two"}
    assert desk.history("a.md") == ["one", "two"]
    assert (await desk.sync()).pulled == []


async def test_what_cannot_be_sent_is_named_with_the_reason(pair: Pair) -> None:
    desk, lap = pair
    desk.write(f"{'x' * 210}.md", "one")
    (skipped,) = (await desk.sync()).skipped
    assert "xxx" in skipped.name
    assert "its name" in skipped.reason
    await lap.sync()
    assert lap.says() == {}


async def test_of_two_changes_the_newer_stays_and_the_other_is_in_the_history(pair: Pair) -> None:
    desk, lap = pair
    for late, early in ((desk, lap), (lap, desk)):
        desk.write("a.md", f"base {late.name}")
        await desk.sync()
        await lap.sync()
        early.clock_off = 864_000.0  # ten days ahead, which does not make it newer
        early.write("a.md", f"early {late.name}")
        early.services.store.recorded(early.memory, "a.md")
        early.clock_off = 0.0
        await anyio.sleep(FILE_TICK_SECONDS)
        late.write("a.md", f"late {late.name}")
        late.services.store.recorded(late.memory, "a.md")
        await desk.sync()
        answer = await lap.sync()
        assert len(answer.conflicts) == 1
        await desk.sync()
        assert desk.says() == lap.says() == {"a.md": f"late {late.name}"}
        assert {f"early {late.name}", f"late {late.name}"} <= set(lap.history("a.md"))
        lost = (await lap.status()).conflicts[0]
        assert lost.author == "desk"
        kept = lap.services.versions.content(lap.memory.path, "a.md", lost.version)
        assert f"early {late.name}".encode() in kept


async def test_a_wrong_clock_does_not_make_a_change_newer(
    shared: TeamDatabase, tmp_path: Path
) -> None:
    async with machines(tmp_path, shared, "desk", "lap") as (desk, lap):
        desk.write("a.md", "base")
        await desk.sync()
        await lap.sync()
        # The desk's clock is ten days ahead: everything it writes has times of then.
        desk.services.store._now = lambda: desk.services.now() + 864_000.0
        desk.clock_off = 864_000.0
        await desk.parts.worker.reconnect()
        desk.write("a.md", "early")
        desk.services.store.recorded(desk.memory, "a.md")
        lap.write("a.md", "late")
        lap.services.store.recorded(lap.memory, "a.md")
        await desk.sync()
        await lap.sync()
        await desk.sync()
        assert desk.says() == lap.says() == {"a.md": "late"}


async def test_what_is_forgotten_is_gone_everywhere_and_can_be_restored_anywhere(
    pair: Pair, shared: TeamDatabase, tmp_path: Path
) -> None:
    desk, lap = pair
    desk.write("a.md", "one")
    await desk.sync()
    await lap.sync()
    lap.services.store.forget(lap.memory, "a.md", cause="user")
    assert len((await lap.sync()).removed) == 1
    await desk.sync()
    assert desk.says() == lap.says() == {}
    assert desk.history("a.md") == ["one"]
    # A machine that never had it knows what it said.
    new = OwnClone(tmp_path / "new", shared)
    await new.add(await desk.add())
    assert new.says() == {}
    assert new.history("a.md") == ["one"]
    data = new.services.versions.content(new.memory.path, "a.md", 1)
    new.services.store.restore(new.memory, "a.md", data, over=None)
    await new.sync()
    await desk.sync()
    assert desk.says() == {"a.md": "one"}
    await new.close()


async def test_a_file_that_another_program_deletes_is_gone_here_only(pair: Pair) -> None:
    desk, lap = pair
    desk.write("a.md", "one")
    await desk.sync()
    await lap.sync()
    lap.path("a.md").unlink()
    for _ in lap.services.store.find_changes(lap.memory):
        pass
    await lap.sync()
    await desk.sync()
    assert desk.says() == {"a.md": "one"}
    assert lap.says() == {}
    desk.write("a.md", "two")
    await desk.sync()
    await lap.sync()
    assert lap.says() == {"a.md": "two"}


async def test_what_is_retired_or_brought_back_is_so_everywhere(pair: Pair) -> None:
    desk, lap = pair
    desk.write("a.md", "one")
    await desk.sync()
    await lap.sync()
    desk.services.store.retire(desk.memory, "a.md", cause="user")
    await desk.sync()
    await lap.sync()
    assert lap.says() == {}
    assert [one.file for one in lap.services.store.retired(lap.memory)] == [".retired/a.md"]
    lap.services.store.bring_back(lap.memory, ".retired/a.md")
    await lap.sync()
    await desk.sync()
    assert desk.services.store.retired(desk.memory) == []
    assert desk.says() == lap.says()
    assert list(desk.says()) == ["a.md"]


async def test_checkpoints_travel_and_two_of_one_name_both_stay(pair: Pair) -> None:
    desk, lap = pair
    root = str(desk.root)
    desk.checkpoints.save(root, "before the move", "# State\nall green\n")
    await desk.sync()
    await lap.sync()
    assert "all green" in lap.checkpoints.get(str(lap.root), "before the move")[1]
    desk.checkpoints.save(root, "before the move", "# State\nred\n")
    lap.checkpoints.save(str(lap.root), "before the move", "# State\nyellow\n")
    for one in (desk, lap, desk, lap):
        await one.sync()
    names = {one.name for one in lap.checkpoints.list(str(lap.root))}
    assert names == {"before the move", "before the move other"}
    texts = [lap.checkpoints.get(str(lap.root), name)[1] for name in sorted(names)]
    assert {"red" in text or "yellow" in text for text in texts} == {True}
    desk.checkpoints.remove(root, "before the move other")
    await desk.sync()
    await lap.sync()
    assert {one.name for one in lap.checkpoints.list(str(lap.root))} == {"before the move"}


async def test_who_said_a_memory_is_known_on_every_machine(pair: Pair) -> None:
    desk, lap = pair
    desk.write("found.md", "by hand")
    desk.write("said.md", "by the person")
    desk.services.versions.origins.note(desk.path("said.md").read_bytes(), "user-said")
    await desk.sync()
    await lap.sync()
    origins = {name: lap.services.store.read(lap.memory, name).origin for name in lap.says()}
    assert origins == {"found.md": "found", "said.md": "user-said"}
    before = desk.services.versions.versions(desk.memory.path, "said.md")[0]
    after = lap.services.versions.versions(lap.memory.path, "said.md")[0]
    assert after.cause == before.cause
    assert abs(after.at - before.at) < 5


# --- projects -----------------------------------------------------------------------------------


async def test_a_project_that_is_not_here_yet_waits_until_it_is(
    shared: TeamDatabase, tmp_path: Path
) -> None:
    async with machines(tmp_path, shared, "desk") as (desk,):
        desk.write("a.md", "one")
        await desk.sync()
        lap = OwnClone(tmp_path / "lap", shared, remote="git@example.com:other/thing.git")
        await lap.add(await desk.add())
        assert lap.says() == {}
        assert (await lap.status()).waiting == {"example.com/acme/shop": 1}
        (lap.root / ".git/config").write_text(
            '[remote "origin"]\n\turl = https://example.com/acme/shop\n'
        )
        await lap.restarted()
        await lap.sync()
        assert lap.says() == {"a.md": "one"}
        await lap.close()


async def test_a_project_without_a_remote_travels_once_it_has_a_name(
    shared: TeamDatabase, tmp_path: Path
) -> None:
    async with machines(tmp_path, shared, "desk") as (desk,):
        lap = OwnClone(tmp_path / "lap", shared, remote="")
        (desk.root / ".git/config").write_text("")
        await desk.restarted()
        await lap.add(await desk.add())
        desk.write("a.md", "one")
        assert (await desk.sync()).pushed == []
        assert (await desk.status()).nameless == [str(desk.root)]
        for one in (desk, lap):
            await one.service.project(str(one.root), "Acme Shop")
        assert len((await desk.sync()).pushed) == 1
        await lap.sync()
        assert lap.says() == {"a.md": "one"}
        await lap.close()


async def test_a_second_copy_of_a_project_on_one_machine_is_left_alone(pair: Pair) -> None:
    desk, _ = pair
    desk.write("a.md", "one")
    await desk.sync()
    copy = desk.home / "copy"
    (copy / ".git/objects").mkdir(parents=True)
    (copy / ".git/refs").mkdir()
    (copy / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (copy / ".git/config").write_text((desk.root / ".git/config").read_text())
    await desk.service.sync(str(copy))
    assert (await desk.status()).copies == [f"{copy} (as {desk.root})"]
    assert list(desk.home.glob(".claude/projects/*/memory/a.md")) == [desk.path("a.md")]
