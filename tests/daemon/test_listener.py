"""The door stays where clients look for it, whatever happens to its file."""

import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from structlog.testing import capture_logs

from memoryd.api.rules.protocol import Params
from memoryd.api.server import Server
from memoryd.api.subscriptions import Subscriptions
from memoryd.daemon.instance import BoundSocket
from memoryd.daemon.listener import DaemonListener
from tests.support.running import WAIT_SECONDS

TINY_SECONDS = 0.001


@pytest.fixture
def path(home: Path) -> anyio.Path:
    return anyio.Path(home / "run/memoryd.sock")


async def root_of(cwd: str) -> str:
    return cwd


async def pong(_: Params) -> object:
    return "pong"


@asynccontextmanager
async def opened(path: anyio.Path, handed_over: list[socket.socket]) -> AsyncIterator[None]:
    with DaemonListener(str(path), handed_over, check_seconds=TINY_SECONDS) as door:
        async with anyio.create_task_group() as tasks:
            await door.open(Server(pong, Subscriptions(), root_of), tasks)
            with anyio.fail_after(WAIT_SECONDS):
                yield
            tasks.cancel_scope.cancel()


async def test_a_folder_that_became_a_file_is_a_socket_that_is_gone(path: anyio.Path) -> None:
    bound = BoundSocket(str(path))
    assert bound.is_in_place()
    await path.parent.rename(f"{path.parent}.old")
    await path.parent.write_text("in the way")
    assert not bound.is_in_place()
    bound.remove()


async def answers(path: anyio.Path) -> bool:
    async with await anyio.connect_unix(path) as stream:
        await stream.send(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        answer = json.loads(await stream.receive())
        await stream.send_eof()
        with pytest.raises(anyio.EndOfStream):  # the server has let go of it as well
            await stream.receive()
    return bool(answer["result"] == "pong")


async def is_back(path: anyio.Path) -> None:
    while not await path.is_socket():
        pass


async def test_a_removed_socket_comes_back_each_time_and_answers(path: anyio.Path) -> None:
    async with opened(path, []):
        for _ in range(3):
            await path.unlink()
            await is_back(path)
            assert await answers(path)


async def test_a_planted_file_is_left_and_the_door_comes_back_after_it(path: anyio.Path) -> None:
    with capture_logs() as lines:
        async with opened(path, []):
            planted = path.with_name("planted")
            await planted.write_text("mine")
            await planted.rename(path)
            while [line["event"] for line in lines].count("socket-not-put-back") < 2:
                await anyio.lowlevel.checkpoint()
            assert await path.read_text() == "mine"
            await path.unlink()
            await is_back(path)
            assert await answers(path)


async def test_a_lost_socket_is_closed(path: anyio.Path) -> None:
    async with opened(path, []):
        kept = path.with_name("kept.sock")
        await path.rename(kept)
        await is_back(path)
        assert await answers(path)
        with pytest.raises(OSError, match="refused"):
            await anyio.connect_unix(kept)


async def test_two_sockets_handed_over_are_both_answered(path: anyio.Path) -> None:
    places = [path.with_name("one.sock"), path.with_name("two.sock")]
    given = [socket.socket(socket.AF_UNIX) for _ in places]
    for one, place in zip(given, places, strict=True):
        one.bind(str(place))
        one.listen()
        one.setblocking(False)
    async with opened(path, given):
        for place in places:
            assert await answers(place)
    assert [await place.exists() for place in places] == [True, True]


async def test_a_closed_door_looks_after_its_place_no_more(path: anyio.Path) -> None:
    with (
        anyio.fail_after(WAIT_SECONDS),
        DaemonListener(str(path), [], check_seconds=TINY_SECONDS) as door,
    ):
        async with anyio.create_task_group() as tasks:
            await door.open(Server(pong, Subscriptions(), root_of), tasks)
            door.close()
    assert not await path.exists()
