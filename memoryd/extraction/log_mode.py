"""Extraction in log mode, with a model and without: what is heard goes into today's log, once.

Topics and index are not touched; the nightly dream makes topics of the log. A turn that a broken
attempt got into the log is known by its mark there and is not taken again, even after midnight.
"""

from collections.abc import Sequence

import msgspec

from memoryd.extraction.task import ExtractionTask
from memoryd.memories import daily_logs
from memoryd.memories.rules import daily_log
from memoryd.memories.rules.daily_log import LogEntry, LogSection


def unlogged(task: ExtractionTask) -> ExtractionTask:
    """The task without the turns that are in a log already."""
    if not task.is_repeated:
        return task
    marks = daily_logs.turn_marks_since(task.project.memory, task.began)
    left = [turn for turn in task.turns if daily_log.turn_mark(turn.id) not in marks]
    done = [turn for turn in task.turns if turn not in left and turn.prose]
    earlier = done[-1].prose[-1].text if done else task.earlier
    return msgspec.structs.replace(task, turns=tuple(left), earlier=earlier)


def add(task: ExtractionTask, entries: Sequence[LogEntry], now: float) -> tuple[str, ...]:
    """Adds what was worth keeping in all turns of the task at once; the log's name, if any."""
    if not entries:
        return ()
    turn_ids = tuple(turn.id for turn in task.turns)
    section = LogSection(task.session_id, turn_ids, tuple(entries))
    return (daily_logs.add(task.project.memory, section, now),)
