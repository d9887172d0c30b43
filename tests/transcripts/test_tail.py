"""Following transcripts: every turn once, whatever happens to files, folders and the daemon."""

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import msgspec
import pytest
from anyio.lowlevel import checkpoint

from memoryd.base import events
from memoryd.base.errors import Refused, StorageError
from memoryd.transcripts import tail
from memoryd.transcripts.cursor_table import CursorTable
from memoryd.transcripts.rules.assembler import REST_SECONDS
from memoryd.transcripts.rules.cursor import LOST_SECONDS, Cursor
from memoryd.transcripts.work_queue import WorkQueue
from tests.support.session_script import SessionScript
from tests.support.tail_fixtures import (
    FOLDER,
    RunningTail,
    age,
    append,
    following,
    projects,
    rows,
    session,
    turns,
    write,
)


async def begin_empty(home: Path) -> None:
    """The first start, with nothing to mark as read."""
    async with following(home) as run:
        await run.caught_up()


async def test_the_first_start_marks_what_exists_as_read(home: Path) -> None:
    script = session("old", "before the first start")
    path = write(home, script)
    async with following(home) as run:
        assert await run.rows() == []
        seen = len(script.data)
        script.turn("after it", "yes")
        append(path, script.data[seen:])
        age(path)
        assert await run.rows() == [("after it", "pending")]


async def test_a_transcript_created_while_the_daemon_is_down_is_read_from_the_beginning(
    home: Path,
) -> None:
    await begin_empty(home)
    write(home, session("new", "one", "two"))
    async with following(home) as run:
        assert await run.rows() == [("one", "pending"), ("two", "pending")]


async def test_without_its_database_everything_counts_as_read_again(home: Path) -> None:
    await begin_empty(home)
    write(home, session("new", "one"))
    async with following(home) as run:
        assert len(await run.rows()) == 1
    (home / ".local/state/memoryd/state.db").unlink()
    async with following(home) as run:
        assert await run.rows() == []


async def test_a_restart_repeats_nothing(home: Path) -> None:
    await begin_empty(home)
    script = session("s", "one")
    path = write(home, script)
    for number in range(3):
        async with following(home) as run:
            assert len(await run.rows()) == number + 1
        seen = len(script.data)
        script.turn(f"turn {number}", "done")
        append(path, script.data[seen:])
        age(path)


async def test_half_a_turn_before_a_restart_and_half_after_are_one(home: Path) -> None:
    await begin_empty(home)
    script = session("s")
    script.prompt("half")
    path = write(home, script)
    async with following(home) as run:
        assert await run.rows() == []
    seen = len(script.data)
    script.answer("whole")
    append(path, script.data[seen:])
    age(path)
    async with following(home) as run:
        assert await run.rows() == [("half", "pending")]
        [turn] = turns(run.state).values()
        assert turn.final == "whole"


async def test_a_turn_that_still_runs_is_told_with_its_size_and_an_ended_one_is_not(
    home: Path,
) -> None:
    await begin_empty(home)
    script = session("s", "short")
    script.prompt("long")
    script.call("Bash", {"command": "make"})
    path = write(home, script)
    async with following(home) as run:
        await run.caught_up()
        (first,) = run.heard.open_turns
        assert (first.session_id, first.tool_calls, first.context_tokens) == ("s", 1, 3160)
        assert f"{FOLDER}/s.jsonl" == first.path
        seen = len(script.data)
        script.answer("done")
        append(path, script.data[seen:])
        age(path)
        assert len(await run.rows()) == 2
        assert run.heard.open_turns == [first]


@contextmanager
def no_silence_is_enough() -> Iterator[None]:
    """Nothing settles, so that a slow machine cannot end the wait that a test relies on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("memoryd.transcripts.reader.SETTLE_SECONDS", float("inf"))
        yield


async def read_and_unsettled(home: Path, run: RunningTail) -> Path:
    """A session of one turn that is read but not confirmed by silence yet."""
    path = projects(home) / "p/s.jsonl"
    path.parent.mkdir()
    append(path, session("s", "one").data)
    while not (await run.tail.status()).settling:
        pass
    return path


async def test_a_kill_between_reading_and_settling_leaves_the_turn_to_the_next_start(
    home: Path,
) -> None:
    await begin_empty(home)
    with no_silence_is_enough():
        async with following(home) as run:
            path = await read_and_unsettled(home, run)
            assert rows(run.state) == []
    age(path)  # changes nothing that a scan of sizes would see
    async with following(home) as run:
        assert await run.heard.wait_for_turns(1) == ["one"]


async def test_a_turn_that_waits_for_silence_is_counted_before_it_is_read_again(
    home: Path,
) -> None:
    await begin_empty(home)
    with no_silence_is_enough():
        async with following(home) as run:
            await read_and_unsettled(home, run)
    restarted = RunningTail(home, sweep_seconds=3600.0)
    await restarted.tail.begin()
    assert (await restarted.tail.status()).settling == 1
    restarted.state.close()


async def test_the_last_turn_of_a_file_at_rest_is_seen_even_without_an_ending(home: Path) -> None:
    await begin_empty(home)
    path = projects(home) / "p/s.jsonl"
    path.parent.mkdir()
    script = session("s", "one")
    script.prompt("two")
    script.answer("the reply", stop_reason=None)
    append(path, script.data)
    async with following(home, sweep_seconds=1.0) as run:
        assert await run.heard.wait_for_turns(1) == ["one"]
        assert await run.rows() == [("one", "pending")]
        age(path, seconds=int(REST_SECONDS))
        assert await run.heard.wait_for_turns(2) == ["one", "two"]
        assert run.heard.turns[1].turn.ending == "answered"


async def test_a_turn_that_rested_while_no_daemon_ran_is_seen_at_the_next_start(home: Path) -> None:
    await begin_empty(home)
    path = projects(home) / "p/s.jsonl"
    path.parent.mkdir()
    script = session("s", "one")
    script.prompt("two")
    script.answer("the reply", stop_reason=None)
    append(path, script.data)
    async with following(home) as run:
        assert await run.heard.wait_for_turns(1) == ["one"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.support.tail_fixtures.time.time", lambda: 4_000_000_000.0)
        async with following(home) as run:
            assert await run.heard.wait_for_turns(1) == ["two"]
    async with following(home) as run:
        assert await run.rows() == [("one", "pending"), ("two", "pending")]


async def test_an_ended_turn_waits_for_silence(home: Path) -> None:
    """A cut stream leaves a made-up ending, and the client resumes it a moment later."""
    await begin_empty(home)
    async with following(home) as run:
        with no_silence_is_enough():
            path = await read_and_unsettled(home, run)
            script = session("s", "one")
            seen = len(script.data)
            script.meta("Your answer was cut off mid-stream; go on.")
            script.answer("second half")
            append(path, script.data[seen:])
            while (await run.tail.status()).behind_bytes:
                pass
            assert rows(run.state) == []
        await run.tail.turn_ended(str(path))
        assert await run.heard.wait_for_turns(1) == ["one"]
        assert [part.text for part in run.heard.turns[0].turn.prose] == [
            "one: done",
            "second half",
        ]


async def test_a_session_is_open_from_its_prompt_to_the_end_of_the_turn(home: Path) -> None:
    await begin_empty(home)
    script = SessionScript("s", str(home))
    script.prompt("one")
    async with following(home) as run:
        path = write(home, script)
        while run.tail.open_sessions() != {"s"}:
            await run.tail.status()
        seen = len(script.data)
        script.answer("done")
        script.system("turn_duration")
        append(path, script.data[seen:])
        await run.heard.wait_for_turns(1)
        while run.tail.open_sessions():
            await run.tail.status()


async def test_the_client_s_end_mark_needs_no_silence(home: Path) -> None:
    await begin_empty(home)
    script = session("s", "one")
    script.system("turn_duration")
    async with following(home) as run:
        path = write(home, script)
        os.utime(path, (time.time() + 1000, time.time() + 1000))
        assert await run.heard.wait_for_turns(1) == ["one"]


async def test_a_clock_that_runs_ahead_keeps_no_turn_waiting(home: Path) -> None:
    await begin_empty(home)
    async with following(home) as run:
        path = write(home, session("s", "one"))
        os.utime(path, (time.time() + 10**6, time.time() + 10**6))
        assert await run.heard.wait_for_turns(1) == ["one"]


async def test_a_turn_belongs_to_the_project_of_its_own_line(home: Path) -> None:
    await begin_empty(home)
    script = session("s", "here")
    script.cwd = "/home/dev/elsewhere"
    script.turn("there", "done")
    script.cwd = ""
    script.turn("nowhere", "done")
    write(home, script)
    async with following(home) as run:
        await run.heard.wait_for_turns(3)
    assert [filed.project for filed in run.heard.turns] == [
        "root of /home/dev/work/app",
        "root of /home/dev/elsewhere",
        "",
    ]


async def test_a_turn_without_a_directory_is_seen_and_skipped(home: Path) -> None:
    await begin_empty(home)
    script = session("s")
    script.cwd = ""
    turn_id = script.turn("where am I", "nowhere")
    write(home, script)
    async with following(home) as run:
        assert await run.rows() == [(turn_id, "skipped")]


async def test_events_say_what_happened_and_not_what_was_said(home: Path) -> None:
    await begin_empty(home)
    script = session("s", "a private matter")
    script.system(
        "compact_boundary",
        compactMetadata={"trigger": "auto", "preTokens": 9000, "postTokens": 800},
    )
    write(home, script)
    async with following(home) as run:
        await run.heard.wait_for_turns(1)
        await run.caught_up()
        compacted, seen = run.events
    assert isinstance(compacted, events.SessionCompacted)
    assert (compacted.session_id, compacted.trigger, compacted.project) == (
        "s",
        "auto",
        "root of /home/dev/work/app",
    )
    assert (compacted.tokens_before, compacted.tokens_after) == (9000, 800)
    assert isinstance(seen, events.TurnSeen)
    assert (seen.session_id, seen.ending, seen.prompts) == ("s", "answered", 1)
    assert (seen.context_tokens, seen.output_tokens) == (3160, 40)
    assert b"private" not in msgspec.json.encode(run.events)
    assert [compaction.id for compaction in run.heard.compactions] == ["s-line-3"]


async def test_a_rewind_takes_back_a_waiting_turn(home: Path) -> None:
    await begin_empty(home)
    script = session("s", "kept", "dropped")
    write(home, script)
    async with following(home) as run:
        assert [state for _, state in await run.rows()] == ["pending", "pending"]
        seen, script.leaf = len(script.data), "s-line-2"
        script.turn("instead", "yes")
        append(projects(home) / FOLDER / "s.jsonl", script.data[seen:])
        await run.heard.wait_for_turns(3)
        assert rows(run.state) == [
            ("kept", "pending"),
            ("s-line-3", "abandoned"),
            ("instead", "pending"),
        ]


def fork_of(script: SessionScript, name: str) -> SessionScript:
    """A copy with the same uuids, as `--fork-session` makes one."""
    fork = SessionScript(name)
    for line in script.lines:
        fork.raw(line.replace(f'"sessionId": "{script.session_id}"'.encode(), b'"sessionId": "f"'))
    fork.leaf = script.leaf
    return fork


async def test_a_fork_brings_only_what_is_new_in_it(home: Path) -> None:
    await begin_empty(home)
    script = session("s", "one", "two")
    write(home, script)
    fork = fork_of(script, "f")
    fork.turn("three", "done")
    write(home, fork)
    async with following(home) as run:
        assert sorted(text for text, _ in await run.rows()) == ["one", "three", "two"]


async def test_a_fork_of_a_session_from_before_the_first_start_brings_no_old_turn(
    home: Path,
) -> None:
    script = session("s", "old one", "old two")
    write(home, script)
    await begin_empty(home)
    fork = fork_of(script, "f")
    fork.turn("new", "done")
    write(home, fork, folder="-another-folder")
    async with following(home) as run:
        assert await run.rows() == [("new", "pending")]


async def test_a_rewind_in_a_fork_leaves_the_original_turn_alone(home: Path) -> None:
    await begin_empty(home)
    script = session("s", "one", "two")
    write(home, script)
    async with following(home) as run:
        assert len(await run.rows()) == 2
        fork = fork_of(script, "f")
        fork.leaf = "s-line-2"
        fork.turn("another two", "done")
        write(home, fork)
        await run.heard.wait_for_turns(3)
        assert [state for _, state in rows(run.state)] == ["pending"] * 3


async def test_our_own_runs_are_not_stored_as_turns(home: Path) -> None:
    await begin_empty(home)
    script = session("s", "one")
    script.prompt("<memoryd-run> look after the notes")
    script.answer("done")
    write(home, script)
    async with following(home) as run:
        assert await run.rows() == [("one", "pending")]


async def test_asking_for_the_status_does_not_swallow_a_scan_request(home: Path) -> None:
    """A scan run for a status request must not swallow the next scan request."""
    await begin_empty(home)
    async with following(home) as run:
        for number in range(4):
            await run.tail.status()
            await run.tail.status()
            write(home, session(f"s{number}", "hello"), folder=f"-p-{number}")
            await run.heard.wait_for_turns(number + 1)


async def test_a_snapshot_of_another_version_costs_a_second_reading_and_no_turn(
    home: Path,
) -> None:
    old = session("old", "before")
    path = write(home, old)
    await begin_empty(home)
    script = session("s", "one")
    script.prompt("half")
    new = write(home, script)
    async with following(home) as run:
        assert await run.rows() == [("one", "pending")]
        run.state.run("update transcripts set snapshot = x'c1'")
    for grown, text in ((old, "after"), (script, "")):
        seen = len(grown.data)
        if text:
            grown.turn(text, "done")
        else:
            grown.answer("whole")
        append(path if text else new, grown.data[seen:])
        age(path if text else new)
    async with following(home) as run:
        assert sorted(await run.rows()) == [
            ("after", "pending"),
            ("half", "pending"),
            ("one", "pending"),
        ]


async def test_a_transcript_that_is_gone_for_long_is_forgotten(home: Path) -> None:
    path = write(home, session("s", "one"))
    async with following(home) as run:
        await run.caught_up()
    path.unlink()
    async with following(home) as run:
        assert (await run.tail.status()).watched == 0
        assert run.state.run("select lost_at is null from transcripts") == [(0,)]
        run.state.run("update transcripts set lost_at = lost_at - ?", LOST_SECONDS + 1)
    async with following(home) as run:
        await run.caught_up()
        assert run.state.run("select count(*) from transcripts") == [(0,)]


async def test_a_full_disk_delays_and_loses_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await begin_empty(home)
    monkeypatch.setattr(tail, "RETRY_SECONDS", 0.0)
    real_save, failures = CursorTable.save, 3

    def save(self: CursorTable, cursor: Cursor, snapshot: bytes) -> Cursor:
        nonlocal failures
        failures -= 1
        if failures >= 0:
            raise StorageError("state.db", "write", OSError(errno.ENOSPC, "no space"))
        return real_save(self, cursor, snapshot)

    monkeypatch.setattr(CursorTable, "save", save)
    write(home, session("s", "one", "two"))
    async with following(home) as run:
        assert await run.heard.wait_for_turns(2) == ["one", "two"]
        assert failures < 0
        assert run.tail.problems == []
        assert rows(run.state) == [("one", "pending"), ("two", "pending")]


async def test_the_stop_hook_is_enough_when_the_folder_is_not_watched(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_watching(*_: object) -> None:
        raise OSError("not on this disk")

    monkeypatch.setattr("memoryd.system.watcher.RustNotify", no_watching)
    monkeypatch.setattr(tail, "UNWATCHED_SECONDS", 3600.0)
    await begin_empty(home)
    script = session("s", "one")
    path = write(home, script)
    async with following(home) as run:
        assert await run.heard.wait_for_turns(1) == ["one"]
        while not run.tail.problems:  # it may have read the file before it tried to watch
            await checkpoint()
        assert (
            "cannot watch folders, checking them regularly instead: not on this disk"
            in run.tail.problems[0]
        )
        seen = len(script.data)
        script.turn("two", "done")
        append(path, script.data[seen:])
        assert await run.tail.turn_ended(str(path))
        assert await run.heard.wait_for_turns(2) == ["one", "two"]


@pytest.mark.parametrize(
    ("transcript", "queued"),
    [
        ("{root}/p/s.jsonl", True),
        ("{root}/p/not-there-yet.jsonl", True),
        ("{root}/../projects/p/s.jsonl", True),
        ("{link}/p/s.jsonl", True),
        ("{root}/p/s/subagents/agent-1.jsonl", False),
        ("{root}/p/agent-1.jsonl", False),
        ("{root}/p", False),
        ("{root}", False),
        ("{root}/../../../etc/passwd", None),
        ("/etc/passwd", None),
        ("p/s.jsonl", None),
        ("{root}/outside/s.jsonl", None),
        ("", None),
    ],
)
async def test_turn_ended_is_refused_for_a_file_outside_the_projects_folder(
    home: Path, tmp_path: Path, transcript: str, queued: bool | None
) -> None:
    write(home, session("s"), folder="p")
    (tmp_path / "link").symlink_to(projects(home))
    (projects(home) / "outside").symlink_to("/etc")
    named = transcript.format(root=projects(home), link=tmp_path / "link")
    async with following(home) as run:
        if queued is None:
            with pytest.raises(Refused):
                await run.tail.turn_ended(named)
        else:
            assert await run.tail.turn_ended(named) is queued


def test_a_path_added_again_is_queued_behind_the_others() -> None:
    async def order() -> list[str]:
        queue, seen = WorkQueue(), list[str]()
        for path in ("long", "a", "b"):
            queue.add(path)
        for _ in range(5):
            path = await queue.next()
            with queue.working_on(path):
                seen.append(path)
                if path == "long":
                    queue.add(path)
        return seen

    assert anyio.run(order) == ["long", "a", "b", "long", "long"]


async def test_one_transcript_is_read_by_one_worker_at_a_time() -> None:
    queue = WorkQueue()
    queue.add("a")
    assert await queue.next() == "a"
    queue.add("a")
    with anyio.move_on_after(0.01) as waited:
        await queue.next()
    assert waited.cancelled_caught
    with queue.working_on("a"):
        pass
    assert await queue.next() == "a"
