"""The socket stays where clients look for it, whatever happens to its file."""

import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
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
async def opened(path: anyio.Path, inherited: list[socket.socket]) -> AsyncIterator[None]:
    with DaemonListener(str(path), inherited, check_seconds=TINY_SECONDS) as listener:
        async with anyio.create_task_group() as tasks:
            await listener.open(Server(pong, Subscriptions(), root_of), tasks)
            with anyio.fail_after(WAIT_SECONDS):
                yield
            tasks.cancel_scope.cancel()


async def test_a_folder_replaced_by_a_file_counts_as_a_lost_socket(path: anyio.Path) -> None:
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
        with pytest.raises(anyio.EndOfStream):  # the server has closed it too
            await stream.receive()
    return bool(answer["result"] == "pong")


async def is_back(path: anyio.Path) -> None:
    while True:
        with suppress(OSError):  # not there yet, or bound and not listening yet
            await (await anyio.connect_unix(path)).aclose()
            return
        await anyio.lowlevel.checkpoint()


async def test_a_removed_socket_comes_back_each_time_and_answers(path: anyio.Path) -> None:
    async with opened(path, []):
        for _ in range(3):
            await path.unlink()
            await is_back(path)
            assert await answers(path)


async def test_a_planted_file_is_kept_and_the_socket_comes_back_after_it(path: anyio.Path) -> None:
    with capture_logs() as lines:
        async with opened(path, []):
            planted = path.with_name("planted")
            await planted.write_text("mine")
            await planted.rename(path)
            while [line["event"] for line in lines].count("socket-not-recreated") < 2:
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


async def test_two_inherited_sockets_are_both_answered(path: anyio.Path) -> None:
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


async def test_a_closed_listener_does_not_recreate_its_socket(path: anyio.Path) -> None:
    with (
        anyio.fail_after(WAIT_SECONDS),
        DaemonListener(str(path), [], check_seconds=TINY_SECONDS) as listener,
    ):
        async with anyio.create_task_group() as tasks:
            await listener.open(Server(pong, Subscriptions(), root_of), tasks)
            listener.close()
    assert not await path.exists()


async def test_a_listener_closed_while_it_recreates_its_socket_leaves_none(
    path: anyio.Path,
) -> None:
    with (
        anyio.fail_after(WAIT_SECONDS),
        capture_logs() as lines,
        DaemonListener(str(path), [], check_seconds=TINY_SECONDS) as listener,
    ):
        async with anyio.create_task_group() as tasks:
            await listener.open(Server(pong, Subscriptions(), root_of), tasks)
            await path.unlink()
            while not lines:  # from this line on, a thread binds the new socket
                await anyio.lowlevel.checkpoint()
            listener.close()
    assert [line["event"] for line in lines] == ["socket-lost"]
    assert not await path.exists()


async def test_one_client_too_many_is_told_so_and_the_others_are_served(path: anyio.Path) -> None:
    with DaemonListener(str(path), []) as listener:
        async with anyio.create_task_group() as tasks:
            await listener.open(Server(pong, Subscriptions(), root_of, most_connections=1), tasks)
            with anyio.fail_after(WAIT_SECONDS):
                async with await anyio.connect_unix(path) as first:
                    await first.send(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
                    assert b"pong" in await first.receive()
                    async with await anyio.connect_unix(path) as second:
                        assert b"too many clients" in await second.receive()
                        with pytest.raises(anyio.EndOfStream):
                            await second.receive()
                    await first.send(b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n')
                    assert b"pong" in await first.receive()
                    await first.send_eof()
                    with pytest.raises(anyio.EndOfStream):
                        await first.receive()
                assert await answers(path)
            tasks.cancel_scope.cancel()
