"""Log lines that nobody waits for: none is lost, and they keep their order."""

import anyio
import pytest
from structlog.testing import capture_logs

from memoryd.system.later_log import LaterLog

pytestmark = pytest.mark.anyio


async def test_lines_are_written_in_order_once_somebody_waits() -> None:
    later = LaterLog(moment_seconds=0)
    with capture_logs() as written:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(later.run)
            await anyio.wait_all_tasks_blocked()
            for number in range(3):
                later.info("recall", memories=number)
            assert written == []
            await anyio.wait_all_tasks_blocked()
            assert [line["memories"] for line in written] == [0, 1, 2]
            later.info("recall", memories=3)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
    assert [line["memories"] for line in written] == [0, 1, 2, 3]


async def test_a_stop_writes_what_is_left() -> None:
    later = LaterLog()
    with capture_logs() as written:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(later.run)
            await anyio.wait_all_tasks_blocked()
            later.info("recall", memories=1)
            tasks.cancel_scope.cancel()
    assert [line["event"] for line in written] == ["recall"]
