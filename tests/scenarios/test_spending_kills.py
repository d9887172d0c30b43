"""A process killed right after a debit: the money is still counted."""

import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from memoryd.llm.rules.spending import Spent
from memoryd.llm.spending_table import SpendingTable
from memoryd.system.database import Database
from tests.support.running import ROOT

TODAY = date(2026, 11, 20)


@pytest.fixture
def path(home: Path) -> Path:
    return home / ".local/state/memoryd/state.db"


KILLED = """
import anyio, os, signal, sys
from datetime import date
from memoryd.llm.spending_table import SpendingTable
from memoryd.system.database import Database

async def main():
    spending = SpendingTable(Database.open(sys.argv[1]))
    await spending.reserve("extraction", "/p", "m", 0.125, date(2026, 11, 20))
    os.kill(os.getpid(), signal.SIGKILL)

anyio.run(main)
"""


def test_a_debit_survives_a_kill_right_after_it(path: Path) -> None:
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(path)],
            env={"PYTHONPATH": str(ROOT)},
            check=False,
            timeout=60,
        )
        assert done.returncode == -9
    database = Database.open(str(path))
    assert SpendingTable(database).spent_by(TODAY) == Spent(0.375, 0.375)
    database.close()
