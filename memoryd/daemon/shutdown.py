"""The end that comes in any case: a thread that hangs does not keep the process.

Threads are asked to stop (see `cancellation`), but one may stand in a system call that does not
return. Whatever the daemon does bears a kill, so at last it goes without them.
"""

import os
import sys
import threading
import time
from pathlib import Path
from typing import Final

import structlog

LOG_SECONDS: Final = 0.2

log = structlog.get_logger(__name__)


def leave_after(seconds: float) -> None:
    """Ends the process then, if it is still there, and says what it was left doing."""
    timer = threading.Timer(seconds, _leave)
    timer.daemon = True
    timer.start()


def _leave() -> None:
    frames = sys._current_frames().values()  # noqa: SLF001 - nothing else shows other threads
    busy = sorted(f"{Path(one.f_code.co_filename).name}:{one.f_lineno}" for one in frames)
    # By another thread, since whoever hangs may hold the log as well.
    threading.Thread(target=lambda: log.error("stop-forced", busy=busy), daemon=True).start()
    time.sleep(LOG_SECONDS)
    os._exit(0)
