"""The same texts come out, however the bytes arrive."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.api.rules.framing import Frames, Framing, FramingError, framed

TEXTS = st.lists(
    st.text(st.characters(exclude_characters="\r\n"), max_size=40).map(
        lambda text: b'{"x":"' + text.encode("utf-8", "replace") + b'"}'
    ),
    min_size=1,
    max_size=6,
)


@given(TEXTS, st.sampled_from(["lines", "headers"]), st.lists(st.integers(1, 30), min_size=1))
def test_any_chunks_give_the_same_texts(
    texts: list[bytes], framing: Framing, sizes: list[int]
) -> None:
    stream = b"".join(framed(text, framing) for text in texts)
    frames, found, at, turn = Frames(), [], 0, 0
    while at < len(stream):
        size = sizes[turn % len(sizes)]
        found += frames.feed(stream[at : at + size])
        at, turn = at + size, turn + 1
    assert [text.strip() for text in found] == texts
    assert frames.framing == framing
    assert not frames.is_waiting_for_more


def test_blank_lines_come_before_and_between_messages() -> None:
    assert Frames().feed(b"\n\r\n {}\n\n\n[]\r\n") == [b"{}\n", b"[]\r\n"]


def test_headers_may_be_of_any_case_and_more_than_one() -> None:
    data = b"content-TYPE: x\r\ncontent-length:  2 \r\n\r\n{}"
    assert Frames().feed(data) == [b"{}"]


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST / HTTP/1.1\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: x\r\n\r\n",
        b"Content-Length: 99999999999999999999\r\n\r\n",
        b"Content-Length: 8388609\r\n\r\n",
        b"Content-Type: x\r\n\r\n",
        b"X: " + b"y" * 9000,
        b"\x16\x03\x01\x02\x00\n",
        b"[" * (8 * 1024 * 1024 + 2),
        b"{" + b" " * (8 * 1024 * 1024) + b"}\n",
    ],
    ids=lambda data: repr(data[:24]),
)
def test_invalid_framing_is_refused(data: bytes) -> None:
    with pytest.raises(FramingError):
        Frames().feed(data)


@given(st.binary(max_size=200))
def test_garbage_is_refused_or_waits_but_never_raises_anything_else(data: bytes) -> None:
    frames = Frames()
    try:
        frames.feed(data)
        frames.feed(data)
    except FramingError:
        pass
