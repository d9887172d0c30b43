"""One sync after the other, against a real server, with two machines that have no daemon."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memoryd.base.errors import MemorydError
from tests.support.postgres import TeamDatabase
from tests.support.team import PROJECT
from tests.support.team_clones import Clone
from tests.support.team_servers import connected, members, push, set_up

Pair = tuple[Clone, Clone]


@pytest.fixture
async def pair(shared: TeamDatabase, tmp_path: Path) -> AsyncIterator[Pair]:
    async with members(shared, "alice", "bob") as (alice, bob):
        clones = Clone(tmp_path / "a", alice), Clone(tmp_path / "b", bob)
        yield clones
        for one in clones:
            one.close()


async def test_nothing_is_pushed_while_a_dream_runs_and_all_of_it_afterwards(pair: Pair) -> None:
    alice, bob = pair
    alice.write("a.md", "dreamt")
    bob.write("b.md", "news")
    await bob.sync()
    report = await alice.sync(may_push=False)
    assert (report.pulled, report.pushed, report.waiting) == (["b.md"], [], ["a.md"])
    assert (await alice.sync()).pushed == ["a.md"]


async def test_what_exceeds_the_cap_stays_and_is_named(pair: Pair, tmp_path: Path) -> None:
    alice, _ = pair
    small = Clone(tmp_path / "s", alice.server, entry_cap=2)
    for number in range(4):
        small.write(f"e{number}.md", "x")
    report = await small.sync()
    assert report.pushed == ["e0.md", "e1.md"]
    assert {one.name for one in report.skipped} == {"e2.md", "e3.md"}
    assert "entry_cap" in report.skipped[0].reason
    small.close()


async def test_heads_that_changed_out_of_order_are_found(pair: Pair, shared: TeamDatabase) -> None:
    alice, bob = pair
    for number in range(3):
        alice.write(f"e{number}.md", "one")
    await alice.sync()
    await bob.sync()
    # A commit whose stamp is an hour older than what both have seen.
    (head,) = [one for one in await bob.server.heads(PROJECT) if one.name == "e1.md"]
    await alice.server.push(PROJECT, [push("e1.md", "two", head.version)])
    shared.sql("update memoryd.entries set stamp = stamp - 3600000000 where entry = 'e1.md'")
    shared.sql(
        "update memoryd.versions v set stamp = e.stamp from memoryd.entries e"
        " where v.entry = 'e1.md' and v.tie = e.tie"
    )
    assert (await bob.sync()).pulled == ["e1.md"]


async def test_a_server_that_an_old_backup_replaced_gets_everything_again(
    pair: Pair, shared: TeamDatabase
) -> None:
    alice, bob = pair
    alice.write("a.md", "one")
    await alice.sync()
    await bob.sync()
    shared.sql("delete from memoryd.entries; delete from memoryd.versions")
    assert (await alice.sync()).pushed == ["a.md"]
    assert (await bob.sync()).pulled == []
    assert bob.says() == alice.says() == {"a.md": "one"}


async def test_who_lost_their_tables_is_in_step_again_and_loses_no_text(pair: Pair) -> None:
    alice, bob = pair
    for name in ("a.md", "b.md"):
        alice.write(name, "one")
    await alice.sync()
    await bob.sync()
    bob.write("b.md", "changed here")
    bob.table.leave(bob.project.folder)
    bob.table.join(bob.project)
    report = await bob.restarted().sync()
    assert report.conflicts == ["b.md"]
    (lost,) = bob.table.lost_changes(bob.project.folder)
    kept = bob.versions.content(bob.project.folder, "b.md", lost.version)
    assert b"changed here" in kept
    assert bob.says() == alice.says()


async def test_a_removal_that_somebody_outran_is_given_up(pair: Pair) -> None:
    alice, bob = pair
    alice.write("a.md", "one")
    await alice.sync()
    await bob.sync()
    bob.table.ask_removal(bob.project.folder, "a.md")
    (bob.team / "a.md").unlink()
    alice.write("a.md", "two")
    await alice.sync()
    report = await bob.sync()
    assert (report.pulled, report.removed) == (["a.md"], [])
    assert bob.table.removals(bob.project.folder) == set()
    assert bob.says() == {"a.md": "two"}


class Killed(BaseException):
    pass


STEPS = ("heads", "texts", "push", "note", "take")


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_kill_at_any_step_is_made_good_by_the_next_sync(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, step: str, when: str
) -> None:
    alice, bob = pair
    for number in range(3):
        alice.write(f"a{number}.md", "hers")
        bob.write(f"b{number}.md", "his")
    await alice.sync()
    kill_at(monkeypatch, bob, step, when)
    with pytest.raises(Killed):
        await bob.sync()
    monkeypatch.undo()
    report = await bob.restarted().sync()
    assert report.conflicts == []
    await alice.sync()
    assert bob.says() == alice.says()
    assert len(bob.says()) == 6
    log = await alice.server.log(PROJECT, 100)
    assert len(log) == 6, "nothing was pushed twice"


def kill_at(monkeypatch: pytest.MonkeyPatch, clone: Clone, step: str, when: str) -> None:
    """The process ends at the second call of a step, before or after it took effect."""
    calls = 0
    target: object = {"note": clone.table, "take": clone.syncing._files}.get(step, clone.server)
    real = getattr(target, step)

    def counted() -> bool:
        nonlocal calls
        calls += 1
        return calls == (1 if step in {"push", "texts", "heads"} else 2)

    async def remote(*args: object) -> object:
        dies = counted()
        if dies and when == "before":
            raise Killed
        answer = await real(*args)
        if dies:
            raise Killed
        return answer

    def local(*args: object) -> object:
        dies = counted()
        if dies and when == "before":
            raise Killed
        answer = real(*args)
        if dies:
            raise Killed
        return answer

    monkeypatch.setattr(target, step, local if step in {"note", "take"} else remote)


async def test_a_full_disk_here_stops_the_sync_and_loses_nothing(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, bob = pair
    alice.write("a.md", "one")
    await alice.sync()

    def full(*_: object) -> None:
        raise MemorydError("no space left", hint="free some")

    monkeypatch.setattr(bob.syncing._files, "take", full)
    with pytest.raises(MemorydError):
        await bob.sync()
    monkeypatch.undo()
    assert (await bob.restarted().sync()).pulled == ["a.md"]


async def test_a_server_that_goes_in_mid_sync_is_told_and_made_good(
    pair: Pair, shared: TeamDatabase
) -> None:
    alice, bob = pair
    alice.write("a.md", "one")
    shared.sql(
        "select pg_terminate_backend(pid) from pg_stat_activity"
        f" where datname = '{shared.name}' and usename = 'alice'"
    )
    with pytest.raises(MemorydError):
        await alice.sync()
    async with connected(shared, "alice") as again:
        alice.server = again
        assert (await alice.sync()).pushed == ["a.md"]
        await bob.sync()
    assert bob.says() == {"a.md": "one"}


async def test_those_who_are_new_wait_and_a_copy_of_known_words_does_not_let_them_in(
    pair: Pair, shared: TeamDatabase, tmp_path: Path
) -> None:
    alice, bob = pair
    careful = Clone(tmp_path / "c", bob.server, accept="review")
    alice.write("a.md", "said by alice")
    await alice.sync()
    report = await careful.sync()
    assert [(one.name, one.reason) for one in report.held] == [("a.md", "alice")]
    inbox = careful.syncing._review._inbox
    (waiting,) = inbox.waiting()
    assert (waiting.candidate.author, waiting.candidate.entry) == ("alice", "a.md")
    inbox.decide(waiting.id, "accepted", at=0)
    assert (await careful.sync()).pulled == ["a.md"]
    assert inbox.waiting() == []
    # Carol, whom nobody knows here, says the very same words.
    await set_up(shared, ["carol"])
    async with connected(shared, "carol") as carol:
        copycat = Clone(tmp_path / "x", carol)
        copycat.write("copy.md", "said by alice")
        await copycat.sync()
        copycat.close()
    report = await careful.sync()
    assert [(one.name, one.reason) for one in report.held] == [("copy.md", "carol")]
    assert report.pulled == []
    careful.close()
