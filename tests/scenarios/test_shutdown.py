"""The daemon ends in time, whatever its threads are doing."""

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from tests.support.running import ROOT, WAIT_SECONDS, Daemon, give_way
from tests.system.test_cancellation import long_session

ENDLESS_BYTES = 1 << 40


def test_a_daemon_that_reads_an_endless_file_still_stops(home: Path) -> None:
    long_session(home, ENDLESS_BYTES)
    (home / ".config/memoryd").mkdir()
    (home / ".config/memoryd/config.toml").write_text("[log]\nlevel = 'debug'\n")
    asked = {
        "session/show": {"session_id": "long"},
        "session/notes": {"session_id": "long"},
        "session/list": {"cwd": "/home/dev/work/app"},
        "import/start": {"since": "30d", "dry_run": True},
    }
    daemon = Daemon(home).start()
    with ExitStack() as stack:
        stack.callback(daemon.end)
        for method, params in asked.items():
            peer = stack.enter_context(daemon.peer())
            peer.send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        with daemon.peer() as other:
            while not asked.keys() <= {line.get("method") for line in daemon.lines()}:
                give_way()
                other.call("ping")
        assert daemon.stop() == 0
        assert not Path(daemon.socket).exists()


def test_a_thread_that_never_ends_does_not_keep_the_process_alive() -> None:
    program = (
        # A daemon that stops has loaded its log long ago.
        "import structlog, threading; from memoryd.daemon.shutdown import leave_after\n"
        "leave_after(0.01); threading.Thread(target=threading.Event().wait).start()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0
    assert b"stop-forced" in done.stdout
