"""Exits the process after a deadline, even if a thread hangs.

Threads are asked to stop (see `cancellation`), but one may be stuck in a system call. Everything
the daemon does is crash-safe, so it exits without them.
"""

import os
import sys
import threading
import time
from typing import Final

from memoryd.system.early_log import EarlyLog

LOG_SECONDS: Final = 0.2

log = EarlyLog(__name__)


def leave_after(seconds: float) -> None:
    """Exits the process after this time if it is still running, and logs what was still busy."""
    timer = threading.Timer(seconds, _leave)
    timer.daemon = True
    timer.start()


def _leave() -> None:
    frames = sys._current_frames().values()  # noqa: SLF001 - nothing else shows other threads
    busy = sorted(f"{one.f_code.co_filename.rpartition('/')[2]}:{one.f_lineno}" for one in frames)
    # In another thread, since the stuck one may hold the log's lock.
    threading.Thread(target=lambda: log.error("stop-forced", busy=busy), daemon=True).start()
    time.sleep(LOG_SECONDS)
    os._exit(0)
