"""The log is rendered for people, and followed across rotations."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd_client.cli import logs


def line(event: str, level: str = "info", **fields: object) -> bytes:
    entry = {"event": event, "level": level, "timestamp": "2026-03-30T12:00:00Z", **fields}
    return json.dumps(entry).encode() + b"\n"


def events(lines: Iterator[logs.Line] | list[logs.Line]) -> list[object]:
    return [each.fields.get("event", each.raw) for each in lines]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "memoryd.log"


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")


def append(path: Path, *content: bytes) -> None:
    with path.open("ab") as file:
        file.writelines(content)


def rotate(path: Path) -> None:
    path.rename(path.with_name(path.name + ".1"))


def test_a_line_reads_time_level_event_then_the_rest() -> None:
    raw = line("extraction", files=2, reason="no prose", session="abc")
    assert logs.rendered(logs.parsed(raw)) == (
        "2026-03-30 12:00:00 info     extraction               "
        'files=2 reason="no prose" session=abc'
    )


def test_a_traceback_is_shown_below_its_line() -> None:
    raw = line("bug", "error", exception="Traceback:\n  File x\nValueError: y", code=1)
    first, *below = logs.rendered(logs.parsed(raw)).split("\n")
    assert first.endswith("code=1")
    assert below == ["    Traceback:", "      File x", "    ValueError: y"]


@pytest.mark.parametrize("raw", [b"Traceback (most recent call last):\n", b"[1]\n", b"{\n", b"3\n"])
def test_a_line_that_is_no_object_is_shown_as_it_is(raw: bytes) -> None:
    assert logs.rendered(logs.parsed(raw)) == raw.decode().rstrip("\n")


@pytest.mark.parametrize("when", [None, 5, "soon", "99999-01-01", "0001-01-01T00:00:00+14:00"])
def test_a_strange_time_is_shown_as_it_is(when: object) -> None:
    shown = logs.rendered(logs.parsed(line("x", timestamp=when)))
    assert shown.startswith(str(when))


@given(st.binary())
def test_no_line_steers_the_terminal_or_breaks_the_reader(raw: bytes) -> None:
    shown = logs.rendered(logs.parsed(raw))
    assert not any(char < " " and char not in "\n\t" for char in shown)
    assert "\x9b" not in shown


@given(st.text(), st.dictionaries(st.text(), st.text()))
def test_no_field_steers_the_terminal(event: str, fields: dict[str, str]) -> None:
    shown = logs.rendered(logs.parsed(json.dumps(fields | {"event": event}).encode()))
    assert not any(char < " " and char not in "\n\t" for char in shown)


def newest(log: Path, count: int, level: str = "debug") -> list[object]:
    with logs.Follower(log) as follower:
        return events(logs.last_lines(follower, count, level))


def test_the_last_lines_reach_back_into_the_rotated_file(log: Path) -> None:
    append(log, line("one"), line("two"), line("three"))
    rotate(log)
    append(log, line("four"))
    assert newest(log, 2) == ["three", "four"]
    assert newest(log, 99) == ["one", "two", "three", "four"]
    assert newest(log, 0) == []


def test_a_level_keeps_higher_levels_and_lines_without_one(log: Path) -> None:
    append(log, line("a", "debug"), line("b", "warning"), line("c", "error"), b"Traceback\n")
    append(log, line("d", "strange"))
    assert newest(log, 9, "warning") == ["b", "c", "Traceback", "d"]


class Enough(Exception):
    """The story of a test is over."""


def followed(log: Path, *happenings: Callable[[], object]) -> list[object]:
    """What a follower reads while these things happen, one whenever it has nothing to read."""
    left = list(happenings)
    seen: list[object] = []

    def wait() -> None:
        if not left:
            raise Enough
        left.pop(0)()

    with logs.Follower(log) as follower, suppress(Enough):
        logs.last_lines(follower, 0, "debug")
        for each in logs.follow(follower, wait):
            seen += events([each])
    return seen


def test_following_shows_only_what_is_new(log: Path) -> None:
    append(log, line("old"))
    assert followed(log, lambda: append(log, line("new"))) == ["new"]


def test_following_waits_for_the_other_half_of_a_line(log: Path) -> None:
    append(log, line("old"))
    whole = line("whole")
    halves = (lambda: append(log, whole[:10]), lambda: append(log, whole[10:]))
    assert followed(log, *halves) == ["whole"]


def test_following_starts_before_there_is_a_log(log: Path) -> None:
    assert followed(log, lambda: append(log, line("first"))) == ["first"]


def test_following_loses_nothing_at_a_rotation(log: Path) -> None:
    append(log, line("old"))

    def write_and_rotate() -> None:
        append(log, line("last before"))
        rotate(log)

    def write_twice() -> None:
        append(log, line("second"))
        append(log, line("third"))

    seen = followed(log, write_and_rotate, lambda: append(log, line("first after")), write_twice)
    assert seen == ["last before", "first after", "second", "third"]


def test_following_reads_both_sides_of_a_rotation_in_one_look(log: Path) -> None:
    append(log, line("old"))

    def all_at_once() -> None:
        append(log, line("last before"), b"half of a li")
        rotate(log)
        append(log, line("first after"))

    assert followed(log, all_at_once) == ["last before", "half of a li", "first after"]


def test_following_starts_over_in_a_truncated_file(log: Path) -> None:
    append(log, line("old" * 100))
    assert followed(log, lambda: log.write_bytes(line("fresh"))) == ["fresh"]


def test_for_programs_every_line_is_an_object() -> None:
    for raw in (b'{"event": "started"}\n', b"Traceback (most recent call last):\n", b"[1]\n"):
        assert isinstance(json.loads(logs.as_json(logs.parsed(raw))), dict)


def test_a_dream_reads_as_a_story() -> None:
    lines = [
        line("dream-started", dream=7, project="/work/app", how="embedded", memories=71),
        line("dream-phase", dream=7, phase="gather", read=71, merged=2, left=69, seconds=0.5),
        line("dream-applied", dream=7, file="a.md", action="retired"),
        line("dream-finished", dream=7, state="done", words="Read 71 memories.", seconds=1.25),
    ]
    shown = [logs.rendered(logs.parsed(one)).removeprefix("2026-03-30 12:00:00 ") for one in lines]
    assert shown == [
        "info     dream 7 begins over 71 memories of /work/app, without a model",
        "info     dream 7: gather, 71 read, 2 merged, 69 left (0.5 s)",
        "info     dream 7: a.md retired",
        "info     dream 7 is done: Read 71 memories. (1.2 s)",
    ]
