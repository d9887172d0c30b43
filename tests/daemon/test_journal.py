"""What the journal of systemd gets: readable lines with priorities, and only if it is there."""

import io
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from memoryd.daemon import log_file
from memoryd.daemon.journal import journal_for


@pytest.fixture
def journal(home: Path) -> Iterator[io.StringIO]:
    before, stream = logging.getLogger().handlers[:], io.StringIO()
    log_file.start(
        str(home / "memoryd.log"),
        level="info",
        max_bytes=10**6,
        keep_files=1,
        terminal=None,
        journal=stream,
    )
    yield stream
    log_file.stop()
    logging.getLogger().handlers[:] = before


def test_a_line_has_its_priority_and_its_fields(journal: io.StringIO) -> None:
    log = structlog.get_logger("memoryd.test")
    log.info("started", pid=7, socket="/run/a b", folder="/srv")
    log.warning("queue-full")
    log.error("disk-full")
    assert journal.getvalue().splitlines() == [
        '<6>started pid=7 socket="/run/a b" folder=/srv',
        "<4>queue-full",
        "<3>disk-full",
    ]


def test_a_dream_is_a_story(journal: io.StringIO) -> None:
    log = structlog.get_logger("memoryd.test")
    log.info("dream-started", dream=4, project="/p", scope="project", how="model", memories=9)
    log.info("dream-phase", dream=4, phase="gather", read=9, merged=0, seconds=1.5, usd=0.01)
    log.info("dream-said", dream=4, text="Two notes\non one thing.", seconds=2.0, usd=0.02)
    log.info("dream-applied", dream=4, file="a.md", action="retired")
    log.info("dream-finished", dream=4, state="done", words="Read 9.", seconds=3.0, usd=0.02)
    assert journal.getvalue().splitlines() == [
        "<6>dream 4 begins over 9 memories of /p, with a model",
        "<6>dream 4: gather, 9 read (1.5 s, $0.0100)",
        "<6>dream 4 says: Two notes on one thing. (2.0 s, $0.0200)",
        "<6>dream 4: a.md retired",
        "<6>dream 4 is done: Read 9. (3.0 s, $0.0200)",
    ]


def test_each_line_of_a_traceback_has_the_priority(journal: io.StringIO) -> None:
    try:
        int("<2>a line that\n<0>pretends")
    except ValueError:
        structlog.get_logger("memoryd.test").exception("crashed")
    lines = journal.getvalue().splitlines()
    assert lines[0] == "<3>crashed"
    assert len(lines) > 3
    assert all(line.startswith("<3>") for line in lines)


def test_only_the_stream_that_systemd_named_is_the_journal() -> None:
    read, write = os.pipe()
    with os.fdopen(read, "rb"), os.fdopen(write, "w") as stream:
        facts = os.fstat(write)
        named = f"{facts.st_dev}:{facts.st_ino}"
        assert journal_for({"JOURNAL_STREAM": named}, stream) is stream
        for other in ("", "1", f"{facts.st_dev}:{facts.st_ino + 1}", ":", "a:b"):
            assert journal_for({"JOURNAL_STREAM": other}, stream) is None
        assert journal_for({}, stream) is None
    assert journal_for({"JOURNAL_STREAM": named}, io.StringIO()) is None
