"""The command as a real process: in a pipe, on a terminal, interrupted, without a reader."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.client.test_cli import HEADER, serving, write_log
from tests.client.test_dream import serving as serving_dreams
from tests.support.running import COMMAND
from tests.support.scripted_daemon import Result
from tests.support.terminal import on_terminal

pytestmark = pytest.mark.usefixtures("project")


@pytest.fixture
def path(home: Path) -> Path:
    return home / "run" / "memoryd.sock"


def test_a_terminal_without_the_letter_still_gets_the_line(path: Path) -> None:
    header = HEADER | {"description": "grüße"}
    with serving(path, {"memory/list": Result({"memories": [header]})}):
        environ = dict(os.environ) | {"PYTHONIOENCODING": "ascii"}
        done = subprocess.run([*COMMAND, "list"], env=environ, capture_output=True, check=True)
    assert done.stdout.endswith(b"gr??e\n")


def test_following_ends_quietly_with_the_keyboard(home: Path) -> None:
    log = write_log(home, "first")
    with subprocess.Popen(
        [*COMMAND, "logs", "-f"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert "first" in process.stdout.readline()
        log.rename(log.with_name("memoryd.log.1"))
        write_log(home, "second")
        assert "second" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert (process.stdout.read(), process.stderr.read()) == ("", "")


def test_a_reader_that_goes_away_is_not_an_error(path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with serving(path, {"memory/list": Result({"memories": [HEADER] * 1000})}):
        done = subprocess.run(
            [*COMMAND, "list"], stdout=writer, stderr=subprocess.PIPE, timeout=60, check=False
        )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_narrow_terminal_is_not_overrun(path: Path) -> None:
    header = HEADER | {"path": "a.md", "description": "many words " * 20}
    with serving(path, {"memory/list": Result({"memories": [header] * 3})}):
        shown = on_terminal(["list"], 50, {})
    lines = shown.splitlines()
    assert len(lines) == 4
    assert all(len(line) <= 50 and line.endswith("…") for line in lines[1:])


@pytest.mark.parametrize("words", [["--help"], ["remember", "--help"], ["logs", "--help"]])
def test_help_fits_a_narrow_terminal(words: list[str]) -> None:
    shown = on_terminal(words, 60, {})
    assert all(len(line) <= 60 for line in shown.splitlines())


def test_colour_is_for_terminals_that_want_it(path: Path, home: Path) -> None:
    write_log(home, "an event")
    with serving(path, {"memory/get": Result(HEADER | {"content": "text"})}):
        assert "\x1b[" in on_terminal(["show", "x"], 80, {"TERM": "xterm"})
        assert "\x1b[" not in on_terminal(["show", "x"], 80, {"TERM": "xterm", "NO_COLOR": "1"})
        assert "\x1b[" not in on_terminal(["show", "x"], 80, {"TERM": "dumb"})
    assert "\x1b[" in on_terminal(["logs"], 80, {"TERM": "xterm"})


def test_on_a_terminal_it_is_drawn_in_place_in_plain_letters(path: Path) -> None:
    with serving_dreams(path):
        shown = on_terminal(["dream", "--now", "--follow"], 70, {"TERM": "xterm"})
    picture = shown.partition("is done")[0]
    assert picture.isascii() or "\N{REPLACEMENT CHARACTER}" in picture
    assert re.search(r"\x1b\[\dA", picture)
    assert "[x] orient  [x] gather  [>] consolidate  [ ] prune and index" in picture
    assert "1 file   900 tokens   $0.0200" in picture
    assert "  > Two notes" in picture
    assert "[x] prune and index" in picture.rpartition("\x1b[2K  [")[2]  # the last one drawn
    assert "\x1b[2J" not in shown
    assert all(len(line) < 70 for line in re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", shown).split("\n"))


def test_a_dumb_terminal_gets_plain_lines(path: Path) -> None:
    with serving_dreams(path):
        shown = on_terminal(["dream", "--now", "--follow"], 70, {"TERM": "dumb"})
    assert "\x1b" not in shown
    assert "phase: orient" in shown
