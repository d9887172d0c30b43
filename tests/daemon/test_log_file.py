"""The log: no secret gets in, whatever wrote the line, and a traceback names the exception."""

import io
import json
import logging
import os
import random
import string
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from memoryd.daemon import log_file

TOKEN = "ghp_" + "".join(random.Random(7).choices(string.ascii_letters + string.digits, k=36))
Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def lines(home: Path) -> Iterator[Lines]:
    path = home / "memoryd.log"
    before = logging.getLogger().handlers[:]
    log_file.start(str(path), level="info", max_bytes=10**6, keep_files=1, terminal=None)
    yield lambda: [json.loads(line) for line in path.read_text().splitlines()]
    log_file.stop()
    logging.getLogger().handlers[:] = before


def test_a_librarys_words_are_masked_and_cut(lines: Lines) -> None:
    logging.getLogger("library").warning("sent %s %s", TOKEN, "long " * 2000)
    (line,) = lines()
    assert TOKEN not in line["event"]
    assert line["event"].startswith("sent ")
    assert len(line["event"]) <= log_file.VALUE_LIMIT_CHARACTERS + 100


@pytest.mark.parametrize(
    "value",
    [
        [TOKEN],
        (1, [TOKEN]),
        {"a": {"b": TOKEN}},
        {TOKEN: 1},
        ValueError(TOKEN),
        [OSError(2, TOKEN)],
        Path(TOKEN),
        frozenset({TOKEN}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_secret_is_masked_however_deep_it_lies(lines: Lines, value: object) -> None:
    structlog.get_logger("memoryd.test").warning("happened", value=value)
    (line,) = lines()
    assert line["event"] == "happened"
    assert line["value"]
    assert TOKEN not in json.dumps(line)


def test_numbers_lists_and_dicts_keep_their_shape(lines: Lines) -> None:
    value = {"numbers": [1, 2.5, None, True], "words": ["one"]}
    structlog.get_logger("memoryd.test").warning("happened", value=value, count=3)
    (line,) = lines()
    assert (line["value"], line["count"]) == (value, 3)


def test_an_endless_value_does_not_fail_its_caller(lines: Lines) -> None:
    endless: list[object] = []
    endless.append(endless)
    structlog.get_logger("memoryd.test").warning("happened", value=endless)
    assert lines()[0]["event"] == "happened"


def fall(depth: int) -> None:
    if depth == 0:
        raise ValueError("the raising line " + TOKEN)
    if depth % 2:
        fall(depth - 1)
    else:
        fall(depth - 1)


def test_a_librarys_event_that_is_no_text_is_masked_too(lines: Lines) -> None:
    logging.getLogger("library").warning({"sent": TOKEN})
    (line,) = lines()
    assert TOKEN not in json.dumps(line)
    assert line["level"] == "warning"


@pytest.mark.parametrize("name", ["memoryd.test", "library"])
def test_a_long_traceback_keeps_its_end_without_its_secret(lines: Lines, name: str) -> None:
    ours = structlog.get_logger(name) if name.startswith("memoryd") else logging.getLogger(name)
    try:
        fall(100)
    except ValueError:
        ours.exception("failed")
    (line,) = lines()
    assert "the raising line" in line["exception"]
    assert TOKEN not in line["exception"]
    assert len(line["exception"]) <= log_file.VALUE_LIMIT_CHARACTERS


def test_colour_is_for_terminals_that_want_it() -> None:
    assert log_file.wants_colour({"TERM": "xterm"})
    assert not log_file.wants_colour({"TERM": "xterm", "NO_COLOR": "1"})
    assert not log_file.wants_colour({"TERM": "dumb"})


def test_a_quiet_terminal_shows_problems_and_the_beginning_and_the_end(tmp_path: Path) -> None:
    terminal = io.StringIO()
    path = tmp_path / "quiet.log"
    log_file.start(
        str(path), level="info", max_bytes=10**6, keep_files=1, terminal=terminal, is_quiet=True
    )
    try:
        log = structlog.get_logger("memoryd.test")
        for event in ("started", "memory-saved", "stopped"):
            log.info(event)
        log.warning("disk-full")
    finally:
        log_file.stop()
    shown = terminal.getvalue()
    assert [word in shown for word in ("started", "memory-saved", "stopped", "disk-full")] == [
        *(True, False, True, True)
    ]
    assert "memory-saved" in path.read_text()


def test_with_keep_days_old_logs_go_and_yesterdays_lines_are_not_in_todays_file(home: Path) -> None:
    path, day = home / "memoryd.log", 86_400
    before = logging.getLogger().handlers[:]
    path.write_text('{"event": "of yesterday"}\n')
    for number, age_days in ((1, 2), (2, 9)):
        rotated = Path(f"{path}.{number}")
        rotated.write_text(f'{{"event": "{age_days} days ago"}}\n')
        os.utime(rotated, (time.time() - age_days * day,) * 2)
    log_file.start(
        str(path), level="info", max_bytes=10**6, keep_files=5, terminal=None, keep_days=7
    )
    structlog.get_logger("memoryd.test").warning("happened")
    log_file.stop()
    logging.getLogger().handlers[:] = before
    kept = {one.name: one.read_text() for one in home.glob("memoryd.log*")}
    assert "of yesterday" in kept["memoryd.log.1"]
    assert "2 days ago" in kept["memoryd.log.2"]
    assert sorted(kept) == ["memoryd.log", "memoryd.log.1", "memoryd.log.2"]
