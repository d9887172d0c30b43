"""Bytes to lines: every line once, whatever the chunks, and giant lines use no memory."""

import itertools
import tracemalloc

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryd.transcripts.rules.lines import LINE_BYTES_MAX, Line, LinePosition, LineSplitter

LIMIT_BYTES = 8

# Few letters, so that newlines, blank lines and lines around the limit are common.
streams = st.lists(st.sampled_from([b"\n", b"\r", b" ", b"a", b"bcd", b"efghijklm"])).map(b"".join)
cuts = st.lists(st.integers(min_value=0, max_value=400))


def chunks_of(data: bytes, cut_points: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(point for point in cut_points if point < len(data))})
    return [data[start:end] for start, end in itertools.pairwise(edges)]


def expected_lines(data: bytes) -> list[Line]:
    lines, offset = [], 0
    for piece in data.split(b"\n")[:-1]:
        end = offset + len(piece) + 1
        if piece.strip() and len(piece) <= LIMIT_BYTES:
            lines.append(Line(offset, end, piece))
        offset = end
    return lines


@settings(deadline=None)
@given(streams, cuts)
def test_chunks_do_not_matter(data: bytes, cut_points: list[int]) -> None:
    splitter = LineSplitter(limit_bytes=LIMIT_BYTES)
    lines = [line for chunk in chunks_of(data, cut_points) for line in splitter.feed(chunk)]
    assert lines == expected_lines(data)
    assert splitter.next_offset == len(data)


@settings(deadline=None)
@given(streams, cuts)
def test_a_restart_between_any_two_chunks_loses_and_repeats_nothing(
    data: bytes, cut_points: list[int]
) -> None:
    position, lines = LinePosition(), []
    for end in [*sorted(cut_points), len(data)]:
        splitter = LineSplitter(position, LIMIT_BYTES)
        lines += splitter.feed(data[splitter.next_offset : max(end, splitter.next_offset)])
        stored = msgspec.msgpack.encode(splitter.position)
        position = msgspec.msgpack.decode(stored, type=LinePosition)
    assert lines == expected_lines(data)


@settings(deadline=None)
@given(streams, cuts)
def test_long_lines_are_counted_once_each(data: bytes, cut_points: list[int]) -> None:
    splitter = LineSplitter(limit_bytes=LIMIT_BYTES)
    for chunk in chunks_of(data + b"\n", cut_points):
        splitter.feed(chunk)
    long_lines = sum(len(piece) > LIMIT_BYTES for piece in data.split(b"\n"))
    assert splitter.position.long_lines == long_lines


def test_a_line_of_100_mb_passes_in_little_memory_and_its_neighbours_are_read() -> None:
    splitter = LineSplitter()
    tracemalloc.start()
    lines = splitter.feed(b"before\n")
    for _ in range(100):
        lines += splitter.feed(b"x" * 1_000_000)
    lines += splitter.feed(b"\nafter\n")
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [line.data for line in lines] == [b"before", b"after"]
    assert lines[1].offset == 7 + 100_000_000 + 1
    assert splitter.position == LinePosition(100_000_014, long_lines=1)
    assert peak_bytes < 16_000_000


def test_a_giant_line_that_is_left_unfinished_is_not_read_again_after_a_restart() -> None:
    splitter = LineSplitter()
    splitter.feed(b"x" * (LINE_BYTES_MAX + 1))
    assert splitter.position == LinePosition(LINE_BYTES_MAX + 1, mid_line=True, long_lines=1)
    again = LineSplitter(splitter.position)
    assert [line.data for line in again.feed(b"xx\nnext\n")] == [b"next"]
    assert again.position.long_lines == 1


@pytest.mark.parametrize("size", [LINE_BYTES_MAX - 1, LINE_BYTES_MAX])
def test_a_line_up_to_the_limit_is_read(size: int) -> None:
    [line] = LineSplitter().feed(b"x" * size + b"\n")
    assert len(line.data) == size
