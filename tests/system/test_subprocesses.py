"""A child process ends by itself, at its deadline, or at its output limit."""

import sys
from itertools import repeat
from pathlib import Path

import pytest

from memoryd.system.landlock import Fence
from memoryd.system.subprocesses import Finished, run_child

PYTHON = (sys.executable, "-IBc")


def run(program: str, *, seconds: float = 20.0, limit: int = 1000, **more: object) -> Finished:
    return run_child(
        [*PYTHON, program],
        fence=Fence(),
        cwd="/",
        seconds=seconds,
        output_limit_bytes=limit,
        **more,  # type: ignore[arg-type]  # only `feed`
    )


def test_a_child_gets_its_input() -> None:
    echo = "import sys; sys.stdout.write(sys.stdin.read()); sys.exit(3)"
    assert run(echo, feed=[b"one ", b"two"]) == Finished(b"one two", 3, "itself")


def test_it_has_neither_input_nor_environment_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "made-up")
    finished = run("import os, sys; print(sys.stdin.read(), sorted(os.environ))")
    assert finished.output == b" ['LC_ALL', 'PATH', 'TZ']\n"


def test_it_is_killed_at_its_deadline_with_all_it_started() -> None:
    finished = run_child(
        ["/bin/sh", "-c", "sleep 600 & echo started; sleep 600"],
        fence=Fence(),
        cwd="/",
        seconds=1.0,
        output_limit_bytes=100,
    )
    # Reading ended, so both are gone: each held the pipe open.
    assert finished == Finished(b"started\n", -9, "deadline")


def test_it_is_killed_at_the_output_limit_and_the_rest_is_dropped() -> None:
    finished = run("while True: print('x' * 1000)")
    assert (finished.ended, len(finished.output)) == ("output-limit", 1000)


def test_a_child_that_reads_nothing_does_not_block() -> None:
    assert run("", feed=repeat(b"x" * 100_000, 1000)).ended == "itself"
    assert run("import time; time.sleep(600)", feed=repeat(b"x" * 10_000), seconds=0.3).ended == (
        "deadline"
    )


def test_what_the_feed_raises_is_raised() -> None:
    def feed() -> object:
        yield b"x"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run("import sys; sys.stdin.read()", feed=feed())


def test_a_missing_program_cannot_be_started() -> None:
    with pytest.raises(FileNotFoundError):
        run_child(["/none"], fence=Fence(), cwd="/", seconds=1, output_limit_bytes=1)


def open_handles() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="handles cannot be counted here")
def test_no_handle_is_left_open() -> None:
    run("pass")
    before = open_handles()
    for _ in range(5):
        run("print('x' * 5000)")
    assert open_handles() < before + 5  # other threads of the test run may open one meanwhile
