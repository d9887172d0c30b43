"""`memoryd status`, and `memoryd` alone: whether it runs, what it does, and what to type next.

What a daemon of another version does not say is left out, never guessed.
"""

import os
import sys
import time
from collections.abc import Iterator
from datetime import datetime

from memoryd_client.cli.commands import JSON, PROJECT, Arguments, Command, project_of
from memoryd_client.cli.daemon import tell_version_difference
from memoryd_client.cli.render import one_line, paint, print_json, wrapped
from memoryd_client.connection.answers import (
    Json,
    is_true_at,
    items_at,
    number_at,
    object_at,
    objects_at,
    sentence_of,
    text_at,
)
from memoryd_client.connection.call import call
from memoryd_client.connection.failures import NotRunning
from memoryd_client.connection.locations import Locations, locations
from memoryd_client.doctor.hints import PAUSES, turn_on

LABEL_WIDTH = 13
CAUSES = {
    "extraction": "from a session",
    "dream": "by a dream",
    "user": "by you",
    "agent": "by the agent",
    "sync": "from the team",
    "outside": "by another program",
    "restore": "brought back",
}


def status(arguments: Arguments) -> int:
    """Print what the daemon does at the moment, or how to start one."""
    project = project_of(arguments)
    try:
        tell_version_difference()
        answer = call("status", {"cwd": project})
        ping = call("ping")
    except NotRunning as failure:
        if arguments.json:
            raise
        print_how_to_start(failure, locations())
        return failure.exit_code
    if arguments.json:
        print_json(answer)
        return 0
    for label, text in rows(answer, ping, project):
        print(f"{paint(label.ljust(LABEL_WIDTH), 'dim')}{wrapped(one_line(text), LABEL_WIDTH)}")
    return 0


def print_how_to_start(failure: NotRunning, places: Locations) -> None:
    """For a person who may never have heard of us."""
    print(f"memoryd: {one_line(failure.message)}", file=sys.stderr)
    choices = [
        ("memoryd demo", "see what it does, in a throwaway home; it takes under a minute"),
        ("memoryd serve", "run it in this terminal"),
        ("memoryd install", "set it up for good, step by step"),
    ]
    if places.service.exists():
        choices = [
            ("memoryd doctor", "say why the service does not run"),
            ("memoryd install --service", "install the service again"),
        ]
    for command, deed in choices:
        print(f"  {paint(command.ljust(26), 'bold', sys.stderr)}{deed}", file=sys.stderr)


def rows(answer: Json, ping: Json, project: str) -> Iterator[tuple[str, str]]:
    """What a person wants to see first, each with its label; what goes on has none."""
    uptime = duration(number_at(ping, "uptime_seconds"))
    yield "memoryd", f"{text_at(answer, 'version')} runs, process {ping.get('pid')}, up {uptime}"
    yield "project", tilde(project)
    if memory := object_at(answer, "memory"):
        yield "memory", memory_words(memory)
    if text_at(answer, "provider"):
        yield "provider", provider_words(answer)
    if spending := object_at(answer, "spending"):
        yield "spending", spending_words(spending)
    if transcripts := object_at(answer, "transcripts"):
        yield "transcripts", transcript_words(transcripts)
    if queue := object_at(answer, "queue"):
        yield "queue", queue_words(queue)
    yield from labelled("last saved", map(recent_words, objects_at(answer, "recent")))
    yield from labelled("dreams", map(dream_words, objects_at(answer, "dreams")))
    yield from labelled("warnings", map(sentence_of, items_at(answer, "errors")))


def labelled(label: str, texts: Iterator[str]) -> Iterator[tuple[str, str]]:
    """Several lines under one label."""
    for number, text in enumerate(texts):
        yield ("" if number else label), text


def memory_words(memory: Json) -> str:
    if is_true_at(memory, "enabled"):
        return "on"
    reason = text_at(memory, "reason")
    return f"off: {reason} -> {turn_on(reason)}"


def provider_words(answer: Json) -> str:
    """Who does the thinking, and where what is sent goes."""
    provider, model = text_at(answer, "provider"), text_at(answer, "model")
    if provider == "embedded":
        return "embedded: no model is asked, the built-in rules do the work"
    host = text_at(answer, "model_host")
    return f"{provider}{f', {model}' if model else ''}{f' at {host}' if host else ''}"


def spending_words(spending: Json) -> str:
    today = against(number_at(spending, "today_usd"), spending.get("usd_per_day"))
    month = against(number_at(spending, "month_usd"), spending.get("usd_per_month"))
    words = f"{today} today, {month} this month"
    if not is_true_at(spending, "paused"):
        return words
    reason = text_at(spending, "reason")
    words_for_it = PAUSES.get(reason, reason or "the cap is reached")
    until = moment_of(spending.get("until"))
    return f"{words}; paused{f' until {clock(until)}' if until else ''}: {words_for_it}"


def against(usd: float, cap_usd: object) -> str:
    return f"${usd:.2f} of ${cap_usd:.2f}" if isinstance(cap_usd, int | float) else f"${usd:.2f}"


def transcript_words(transcripts: Json) -> str:
    behind = number_at(transcripts, "behind")
    state = f"{behind:.0f} bytes still to read" if behind else "all read"
    return f"{number_at(transcripts, 'watched'):.0f} followed, {state}"


def queue_words(queue: Json) -> str:
    counts = [
        f"{number_at(queue, name):.0f} {name}"
        for name in ("waiting", "running", "held", "parked")
        if number_at(queue, name)
    ]
    return ", ".join(counts) or "empty"


def recent_words(memory: Json) -> str:
    name = text_at(memory, "name")
    cause = CAUSES.get(text_at(memory, "cause"), "")
    at = moment_of(memory.get("at"))
    details = ", ".join(filter(None, [ago(at) if at else "", cause]))
    return f"{name} ({details})" if details else name


def dream_words(dream: Json) -> str:
    """The dreams of one memory: one that runs, or the gate that is closed and when it may open."""
    project = tilde(text_at(dream, "project") or text_at(dream, "directory")) or "a project"
    running = object_at(dream, "running")
    if running:
        return f"{project}: dreams now, {text_at(running, 'phase') or 'just begun'}"
    if is_true_at(dream, "is_open"):
        return f"{project}: may dream at any time"
    opens, reason = moment_of(dream.get("opens_at")), text_at(dream, "reason")
    when = f"not before {clock(opens)}" if opens else "not yet"
    return f"{project}: {when}{f' ({reason})' if reason else ''}"


def duration(seconds: float) -> str:
    """A length of time in the unit that fits it."""
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"


def ago(moment: float) -> str:
    seconds = time.time() - moment
    return "just now" if seconds < 2 else f"{duration(seconds)} ago"


def clock(moment: float) -> str:
    """A time of the reader's own day, with its date when it is another one."""
    then, now = datetime.fromtimestamp(moment).astimezone(), datetime.now().astimezone()
    return then.strftime("%H:%M" if then.date() == now.date() else "%Y-%m-%d %H:%M")


def moment_of(value: object) -> float:
    """Seconds since the epoch, from what the daemon says about a time; 0 when it says none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    try:
        return datetime.fromisoformat(value).timestamp() if isinstance(value, str) else 0.0
    except (ValueError, OverflowError):
        return 0.0


def tilde(path: str) -> str:
    """A path as people write it, with ~ for their home."""
    home = os.path.expanduser("~")  # noqa: PTH111 - text in, text out: the path need not exist
    return f"~{path[len(home) :]}" if f"{path}/".startswith(f"{home}/") else path


COMMANDS = (
    Command(
        "status",
        "show whether the daemon runs and what it does; so does memoryd alone",
        "memoryd status --json",
        status,
        (PROJECT, JSON),
        asks_daemon=False,
    ),
)
