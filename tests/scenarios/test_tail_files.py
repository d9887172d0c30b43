"""What people, programs and accidents do to files: recognised, survived, logged once."""

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from structlog.testing import capture_logs

from tests.support.session_script import SessionScript
from tests.support.tail_fixtures import (
    FOLDER,
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
    async with following(home) as run:
        await run.caught_up()


def grow(path: Path, script: SessionScript, text: str) -> None:
    seen = len(script.data)
    script.turn(text, "done")
    append(path, script.data[seen:])
    age(path)


async def test_a_line_that_arrives_in_pieces_is_read_once_and_whole(home: Path) -> None:
    await begin_empty(home)
    script = session("s", *(f"turn {number}" for number in range(6)))
    path = projects(home) / FOLDER / "s.jsonl"
    path.parent.mkdir()
    pieces = [script.data[at : at + 1 + at % 7] for at in range(len(script.data))]
    async with following(home) as run:
        position = 0
        while position < len(script.data):
            piece = pieces[position]
            append(path, piece)
            position += len(piece)
            if position % 29 == 0:
                await run.tail.status()
        age(path)
        assert await run.heard.wait_for_turns(6) == [f"turn {number}" for number in range(6)]
        assert rows(run.state) == [(f"turn {number}", "pending") for number in range(6)]
        await run.caught_up()
        assert (await run.tail.status()).behind_bytes == 0


async def test_half_a_line_at_the_end_counts_as_read(home: Path) -> None:
    await begin_empty(home)
    path = write(home, session("s", "one"))
    append(path, b'{"type": "user", "uu')
    age(path)
    async with following(home) as run:
        assert await run.rows() == [("one", "pending")]
        assert (await run.tail.status()).behind_bytes == 0


async def test_lines_after_a_torn_line_are_read(home: Path) -> None:
    await begin_empty(home)
    script = session("s", "one")
    path = write(home, script)
    append(path, b'{"type": "user", "torn')
    async with following(home) as run:
        assert len(await run.rows()) == 1
        append(path, b"\n")
        grow(path, script, "two")
        assert await run.rows() == [("one", "pending"), ("two", "pending")]


async def test_a_renamed_transcript_is_followed_to_its_new_folder(home: Path) -> None:
    script = session("s", "old")
    path = write(home, script)
    async with following(home) as run:
        await run.caught_up()
        there = projects(home) / "-a-worktree/s.jsonl"
        there.parent.mkdir()
        path.rename(there)
        grow(there, script, "new")
        assert await run.rows() == [("new", "pending")]


async def test_a_rename_while_the_daemon_is_down_is_recognised(home: Path) -> None:
    script = session("s", "old")
    path = write(home, script)
    await begin_empty(home)
    there = projects(home) / "-a-worktree/s.jsonl"
    there.parent.mkdir()
    path.rename(there)
    grow(there, script, "new")
    async with following(home) as run:
        assert await run.rows() == [("new", "pending")]
    grow(there, script, "newer")
    async with following(home) as run:
        assert await run.rows() == [("new", "pending"), ("newer", "pending")]


async def test_a_crash_in_the_middle_of_a_move_mixes_nothing_up(home: Path) -> None:
    """The cursor of the moved file still has its old name, which a new file has taken."""
    script = session("s", "old")
    path = write(home, script)
    await begin_empty(home)
    there = path.with_name("moved.jsonl")
    path.rename(there)
    path.write_bytes(session("t", "other").data)  # a new file takes the free name
    age(path)
    async with following(home) as run:
        assert await run.rows() == [("other", "pending")]
        run.state.run("update transcripts set path = ?", f"{FOLDER}/{path.name}")
    grow(there, script, "new")
    async with following(home) as run:
        assert await run.rows() == [("other", "pending"), ("new", "pending")]


async def test_a_superseded_transcript_does_not_confuse_the_one_that_took_its_name(
    home: Path,
) -> None:
    moving, sitting = session("s", "moving"), session("s", "sitting")
    here = write(home, moving, folder="-main")
    there = write(home, sitting, folder="-worktree")
    async with following(home) as run:
        await run.caught_up()
        there.rename(there.with_suffix(".jsonl.superseded-1"))
        here.rename(there)
        grow(there, moving, "moved")
        assert await run.rows() == [("moved", "pending")]


async def test_two_that_swap_names_keep_their_own_cursors(home: Path) -> None:
    one, two = session("one", "old"), session("two", "old", "older")
    first, second = write(home, one), write(home, two)
    async with following(home) as run:
        await run.caught_up()
        aside = first.with_suffix(".aside")
        first.rename(aside)
        second.rename(first)
        aside.rename(second)
        grow(second, one, "first")
        grow(first, two, "second")
        assert sorted(await run.rows()) == [("first", "pending"), ("second", "pending")]


def truncated(path: Path, other: bytes) -> None:
    path.write_bytes(other)


def replaced(path: Path, other: bytes) -> None:
    new = path.with_suffix(".new")
    new.write_bytes(other)
    new.replace(path)


def removed_and_made_again(path: Path, other: bytes) -> None:
    path.unlink()
    path.write_bytes(other)


def in_a_new_folder(path: Path, other: bytes) -> None:
    shutil.rmtree(path.parent)
    path.parent.mkdir()
    path.write_bytes(other)


def of_the_same_age(path: Path, other: bytes) -> None:
    before = path.stat()
    path.write_bytes(other)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


REPLACEMENTS = (truncated, replaced, removed_and_made_again, in_a_new_folder, of_the_same_age)
SIZES = {
    "shorter": ("the first of them", "the second"),
    "as long": ("the first one", "the second one"),
    "longer": ("one", "another one, and this one says rather more than those before it"),
    "almost nothing": ("the first one", "x"),
    "much longer": ("one", "y" * 20_000),
}


@pytest.mark.parametrize("replace", REPLACEMENTS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("is_running", [True, False])
async def test_other_content_under_an_old_name_is_read_from_its_beginning(
    home: Path, replace: Callable[[Path, bytes], None], size: str, is_running: bool
) -> None:
    before, after = SIZES[size]
    await begin_empty(home)
    path = write(home, session("a", before))
    other = session("b", after)
    other.system("turn_duration")  # needs no silence
    async with following(home) as run:
        assert await run.rows() == [(before, "pending")]
        if is_running:
            replace(path, other.data)
            assert await run.heard.wait_for_turns(2) == [before, after]
    if not is_running:
        replace(path, other.data)
        async with following(home) as run:
            assert await run.heard.wait_for_turns(1) == [after]
            assert rows(run.state) == [(before, "pending"), (after, "pending")]


@pytest.mark.parametrize("replace", REPLACEMENTS[1:4])
async def test_the_same_content_in_another_file_brings_no_new_turn(
    home: Path, replace: Callable[[Path, bytes], None]
) -> None:
    script = session("s", "old", "older")
    path = write(home, script)
    async with following(home) as run:
        await run.caught_up()
        replace(path, script.data)
        age(path)
        await run.caught_up()
        grow(path, script, "new")
        assert await run.rows() == [("new", "pending")]


async def test_a_shortened_transcript_brings_no_turn_twice(home: Path) -> None:
    await begin_empty(home)
    script = session("s", "one", "two", "three")
    path = write(home, script)
    async with following(home) as run:
        assert len(await run.rows()) == 3
        path.write_bytes(b"".join(line + b"\n" for line in script.lines[:4]))
        await run.caught_up()
        script.leaf = "s-line-4"
        grow(path, script, "four")
        assert await run.heard.wait_for_turns(4)
        assert [text for text, _ in rows(run.state)] == ["one", "two", "three", "four"]


async def test_a_deleted_transcript_that_comes_back_goes_on_where_it_was(home: Path) -> None:
    script = session("s", "old")
    path = write(home, script)
    kept = path.with_suffix(".kept")
    async with following(home) as run:
        await run.caught_up()
        path.rename(kept)
        while (await run.tail.status()).watched:
            pass
    async with following(home) as run:
        kept.rename(path)
        grow(path, script, "new")
        assert await run.heard.wait_for_turns(1) == ["new"]
        assert await run.rows() == [("new", "pending")]


async def test_a_hard_link_makes_no_turn_twice(home: Path) -> None:
    await begin_empty(home)
    script = session("s", "one")
    path = write(home, script)
    async with following(home) as run:
        assert len(await run.rows()) == 1
        (path.parent / "t.jsonl").hardlink_to(path)
        grow(path, script, "two")
        assert await run.rows() == [("one", "pending"), ("two", "pending")]


async def test_a_projects_folder_that_comes_later_is_found(home: Path) -> None:
    projects(home).rmdir()
    async with following(home) as run:
        assert (await run.tail.status()).watched == 0
        write(home, session("s", "one"))
        assert await run.heard.wait_for_turns(1) == ["one"]


async def test_a_recreated_projects_folder_is_followed_again(home: Path) -> None:
    await begin_empty(home)
    write(home, session("s", "one"))
    async with following(home) as run:
        await run.heard.wait_for_turns(1)
        for name in ("two", "three"):
            projects(home).rename(home / f".claude/away-{name}")
            write(home, session(name, name))
            await run.heard.wait_for_turns(2 if name == "two" else 3)
        assert [text for text, _ in await run.rows()] == ["one", "two", "three"]


async def test_a_new_folder_with_a_transcript_in_it_is_never_missed(home: Path) -> None:
    await begin_empty(home)
    async with following(home) as run:
        for number in range(60):
            write(home, session(f"s{number}", f"turn {number}"), folder=f"-p-{number}")
            await anyio.lowlevel.checkpoint()
        assert set(await run.heard.wait_for_turns(60)) == {f"turn {n}" for n in range(60)}


async def test_a_growing_transcript_in_a_new_folder_is_watched_without_a_scan(
    home: Path,
) -> None:
    await begin_empty(home)
    async with following(home) as run:
        script = session("s", "one")
        path = write(home, script)
        await run.heard.wait_for_turns(1)
        for number in range(5):
            grow(path, script, f"more {number}")
            await run.heard.wait_for_turns(2 + number)


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_folder(path: Path) -> None:
    path.mkdir()


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        before = Path.cwd()
        os.chdir(path.parent)  # a socket's path must be short
        try:
            one.bind(path.name)
        finally:
            os.chdir(before)


def make_link_out(path: Path) -> None:
    path.symlink_to("/etc/hostname")


def make_link_to_itself(path: Path) -> None:
    path.symlink_to(path)


def make_link_within(path: Path) -> None:
    path.symlink_to("s.jsonl")


ODD_THINGS = (
    make_pipe,
    make_folder,
    make_socket,
    make_link_out,
    make_link_to_itself,
    make_link_within,
)


@pytest.mark.parametrize("make", ODD_THINGS)
@pytest.mark.parametrize("is_sudden", [True, False])
async def test_what_is_not_a_file_is_logged_once_and_the_rest_continues(
    home: Path, make: Callable[[Path], None], is_sudden: bool
) -> None:
    """It replaces a transcript that is being followed."""
    await begin_empty(home)
    script = session("s", "one")
    path = write(home, script)
    odd = path.with_name("odd.jsonl")
    with capture_logs() as logs:
        async with following(home) as run:
            if is_sudden:
                write(home, session("odd", "odd"))
                assert len(await run.rows()) == 2
                odd.unlink()
            make(odd)
            await run.tail.status()
            grow(path, script, "two")
            await run.tail.status()
            assert [text for text, _ in await run.rows()][-1] == "two"
            # A read of the old file that ends after the scan is forgotten by the next one.
            while (await run.tail.status()).watched != 1:
                pass
    warnings = [line for line in logs if line["log_level"] == "warning"]
    assert [line["path"] for line in warnings] == [f"{FOLDER}/odd.jsonl"]


STRANGE_NAMES = (
    b"\xff\xfe.jsonl",
    b"new\nline.jsonl",
    b"\x1b[31mred.jsonl",
    b"x" * 249 + b".jsonl",
    "\N{RIGHT-TO-LEFT OVERRIDE}s.jsonl".encode(),
)


@pytest.mark.parametrize("name", STRANGE_NAMES)
async def test_an_unusable_name_is_skipped_and_the_rest_continues(home: Path, name: bytes) -> None:
    await begin_empty(home)
    script = session("s", "one")
    path = write(home, script)
    strange = path.with_name(os.fsdecode(name))
    with capture_logs() as logs:
        async with following(home) as run:
            await run.heard.wait_for_turns(1)
            for number in range(3):
                append(strange, session(f"t{number}", "strange").data)
                grow(path, script, f"more {number}")
                await run.heard.wait_for_turns(2 + number)
            assert "strange" not in {text for text, _ in await run.rows()}
    warnings = [line for line in logs if line["event"] == "transcript-skipped"]
    assert [line["reason"] for line in warnings] == ["unusable name"]


async def test_a_folder_with_an_unusable_name_or_behind_a_link_is_not_entered(
    home: Path, tmp_path: Path
) -> None:
    await begin_empty(home)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "s.jsonl").write_bytes(session("s", "outside").data)
    (projects(home) / "linked").symlink_to(outside)
    write(home, session("t", "strange"), folder=os.fsdecode(b"\xff"))
    with capture_logs() as logs:
        async with following(home) as run:
            write(home, session("u", "plain"))
            assert await run.rows() == [("plain", "pending")]
            await run.tail.status()
    warnings = [line["reason"] for line in logs if line["event"] == "transcript-skipped"]
    assert sorted(warnings) == ["a link", "unusable name"]


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
async def test_a_forbidden_file_is_read_once_it_is_allowed(home: Path) -> None:
    await begin_empty(home)
    path = write(home, session("s", "one"))
    path.chmod(0)
    with capture_logs() as logs:
        async with following(home) as run:
            await run.tail.status()
            assert rows(run.state) == []
            path.chmod(0o600)
            assert await run.heard.wait_for_turns(1) == ["one"]
    assert len([line for line in logs if line["event"] == "transcript-skipped"]) == 1


async def test_unreadable_lines_are_counted_and_their_neighbours_read(home: Path) -> None:
    await begin_empty(home)
    script = session("s", "one")
    for line in (b"\x00" * 100, b"{" * 50_000, b'{"type": "user"', b"\xff\xfe", b"NaN"):
        script.raw(line)
    script.turn("two", "done")
    write(home, script)
    with capture_logs() as logs:
        async with following(home) as run:
            assert [text for text, _ in await run.rows()] == ["one", "two"]
    [mention] = [line for line in logs if line["log_level"] == "warning"]
    assert mention["reason"] == "has unreadable lines"


async def test_any_transcript_text_comes_out_whole(home: Path) -> None:
    await begin_empty(home)
    script = session("s")
    turn_id = script.turn("ü\u2028é 🙂", "done")
    write(home, script)
    async with following(home) as run:
        await run.caught_up()
        assert turns(run.state)[turn_id].prompts[0].text == "ü\u2028é 🙂"
