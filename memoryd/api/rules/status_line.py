"""One short line about memoryd for the agent's status line.

It says how many memories this session was given, and then only what a person may want to act on:
an inbox with something in it, a dream at work, a pause in spending.
"""

from typing import Final

PAUSES: Final = {
    "day-cap": "daily budget used up",
    "month-cap": "monthly budget used up",
}


def status_line(
    *, is_on: bool, given: int, waiting: int, is_dreaming: bool, pause_reason: str
) -> str:
    if not is_on:
        return "memoryd off"
    parts = [f"{given} {'memory' if given == 1 else 'memories'}"]
    if waiting:
        parts.append(f"inbox {waiting}")
    if is_dreaming:
        parts.append("dreaming")
    if pause_reason:
        parts.append(f"paused: {PAUSES.get(pause_reason, 'provider')}")
    return f"memoryd {' · '.join(parts)}"
