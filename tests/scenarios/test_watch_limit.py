"""With no inotify watches left, transcripts are still found."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.running import ROOT

LIMITED = """
import pathlib, sys
import anyio
pathlib.Path("/proc/sys/user/max_inotify_watches").write_text("2")
from tests.support.tail_fixtures import following, session, write
home = pathlib.Path(sys.argv[1])
async def main():
    async with following(home) as run:
        await run.caught_up()
        for number in range(6):
            write(home, session(f"s{number}", f"turn {number}"), folder=f"p{number}")
        found = await run.heard.wait_for_turns(6)
        with anyio.fail_after(60):
            while not run.tail.problems:
                await run.tail.status()
        print(len(found), run.tail.problems)
anyio.run(main)
"""


def test_with_no_watches_left_everything_is_found_by_scanning(home: Path) -> None:
    command = ["unshare", "--user", "--map-root-user", sys.executable, "-c", LIMITED, str(home)]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no unshare here")
    if "unshare failed" in done.stderr or "Permission denied" in done.stderr:
        pytest.skip("no user namespaces here")
    assert done.stdout.splitlines()[-1].startswith("6 ['cannot watch folders"), done
