"""What the daemon answers while the rest of it is still being loaded."""

import anyio

from memoryd.api.pong import Pong
from memoryd.api.rules.protocol import Params, PingParams, ShutdownParams
from memoryd.daemon.early_answers import EarlyAnswers

PATIENCE_SECONDS = 10


async def whole_answer(_: Params) -> object:
    return "whole"


async def root_of(cwd: str) -> str:
    return f"root of {cwd}"


async def test_a_ping_is_answered_before_everything_is_there() -> None:
    pong = await EarlyAnswers("1.2", ["a mistake"]).answer(PingParams())
    assert isinstance(pong, Pong)
    assert (pong.version, pong.problems) == ("1.2", ["a mistake"])


async def test_anything_else_waits_until_it_can_be_answered() -> None:
    answers = EarlyAnswers("1.2", [])
    got: list[object] = []

    async def ask() -> None:
        got.append(await answers.answer(ShutdownParams()))
        got.append(await answers.root_of("here"))

    with anyio.fail_after(PATIENCE_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            assert got == []
            answers.begin(whole_answer, root_of)
    assert got == ["whole", "root of here"]


async def test_a_ping_is_the_daemons_own_once_it_is_whole() -> None:
    answers = EarlyAnswers("1.2", [])
    answers.begin(whole_answer, root_of)
    assert await answers.answer(PingParams()) == "whole"
