"""The command `status`, and `memoryd` alone: is it running, what does it do, what to type next.

What the daemon does not send is left out, never guessed.
"""

import sys
from collections.abc import Iterator

from memoryd_client.cli.commands import Arguments, Commands, add_json, add_project, project_of
from memoryd_client.cli.daemon import warn_of_trouble
from memoryd_client.cli.render import one_line, paint, print_json, wrapped
from memoryd_client.cli.times import ago, duration, parsed_time, short_time
from memoryd_client.cli.wording import abbreviated, cause_words, counted, tilde
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
from memoryd_client.doctor.fixes import pause_words, turn_on

LABEL_WIDTH = 13
NO_LIMIT_TOKENS = 10**12
# By extraction mode; the usual one needs no words.
ON = {
    "review": "on; what you say waits in the inbox (extraction is set to review)",
    "off": "on for recall alone; sessions are not learned from (extraction is set to off)",
}


def status(arguments: Arguments) -> int:
    """Prints what the daemon is doing, or how to start it."""
    project = project_of(arguments)
    try:
        warn_of_trouble()
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
    for label, text in [*rows(answer, ping, project), *hook_rows(locations())]:
        print(f"{paint(label.ljust(LABEL_WIDTH), 'dim')}{wrapped(one_line(text), LABEL_WIDTH)}")
    return 0


def print_how_to_start(failure: NotRunning, places: Locations) -> None:
    """For a person who may be new to memoryd."""
    print(f"memoryd: {one_line(failure.message)}", file=sys.stderr)
    choices = [
        ("memoryd demo", "see what it does, in a throwaway home, in under a minute"),
        ("memoryd serve", "run it in this terminal"),
        ("memoryd install", "set it up permanently, step by step"),
    ]
    if places.service.exists():
        choices = [
            ("memoryd doctor", "find out why the service is not running"),
            ("memoryd install --service", "install the service again"),
        ]
    for command, purpose in choices:
        print(f"  {paint(command.ljust(26), 'bold', sys.stderr)}{purpose}", file=sys.stderr)


def rows(answer: Json, ping: Json, project: str) -> Iterator[tuple[str, str]]:
    """Labels and texts, most important first; further lines of a label have none."""
    process = f"running as process {ping.get('pid')}"
    uptime = f"up {duration(number_at(ping, 'uptime_seconds'))}"
    yield "memoryd", f"{text_at(answer, 'version')}, {process}, {uptime}"
    yield "project", tilde(project)
    if memory := object_at(answer, "memory"):
        yield "memory", memory_words(memory)
    if text_at(answer, "provider"):
        yield "provider", provider_words(answer)
    if plan := object_at(answer, "plan"):
        yield from labelled("plan", plan_lines(plan))
    if spending := object_at(answer, "spending"):
        yield "spending", spending_words(spending)
    if transcripts := object_at(answer, "transcripts"):
        yield "transcripts", transcript_words(transcripts)
    if queue := object_at(answer, "queue"):
        yield "queue", queue_words(queue)
    if waiting := number_at(object_at(answer, "inbox"), "waiting"):
        yield "inbox", f"{counted(waiting, 'statement')} to decide on -> memoryd inbox"
    if (rules := object_at(answer, "rules")) and number_at(rules, "given"):
        yield "rules", rules_words(rules)
    yield from labelled("last saved", map(recent_words, objects_at(answer, "recent")))
    yield from labelled("dreams", map(dream_words, objects_at(answer, "dreams")))
    yield from labelled("warnings", map(sentence_of, items_at(answer, "errors")))


def hook_rows(places: Locations) -> Iterator[tuple[str, str]]:
    """A line where the agent has no hooks: everything else may look well, and nothing happens."""
    from memoryd_client.install import claude_code, plugin  # noqa: PLC0415 - only this command needs them

    commands = claude_code.installed_commands(places)
    if not commands and not plugin.is_installed(places):
        yield "hooks", "Claude Code has none, so sessions get no memories -> memoryd install"
    if set(commands) - {claude_code.hook_command()}:
        fix = "memoryd install --hooks claude-code"
        yield "hooks", f"of another memoryd or an earlier version, which can block prompts -> {fix}"


def labelled(label: str, texts: Iterator[str]) -> Iterator[tuple[str, str]]:
    """Several lines under one label."""
    for number, text in enumerate(texts):
        yield ("" if number else label), text


def memory_words(memory: Json) -> str:
    if is_true_at(memory, "enabled"):
        return ON.get(text_at(memory, "extraction"), "on")
    reason, until = text_at(memory, "reason"), parsed_time(memory.get("until"))
    return f"off{f' until {short_time(until)}' if until else ''}: {reason} -> {turn_on(reason)}"


def rules_words(rules: Json) -> str:
    given, followed, broken = (number_at(rules, key) for key in ("given", "followed", "broken"))
    kept = f"{followed:.0f} kept, {broken:.0f} broken"
    return f"given {counted(given, 'time')} before a tool call; {kept}"


def provider_words(answer: Json) -> str:
    """Which model does the work, and where requests go."""
    provider, model = text_at(answer, "provider"), text_at(answer, "model")
    if provider == "embedded":
        return "embedded (built-in rules, no model)"
    host, model = text_at(answer, "model_host"), model.removeprefix(f"{provider}/")
    return f"{provider}{f', {model}' if model else ''}{f' at {host}' if host else ''}"


def plan_lines(plan: Json) -> Iterator[str]:
    """Today's use of a model behind a command, and what keeps it from being used."""
    calls, most = number_at(plan, "calls"), number_at(plan, "calls_per_day")
    words = f"{calls:.0f} of {most:.0f} calls used today"
    if number_at(plan, "tokens_per_day") < NO_LIMIT_TOKENS:
        tokens = abbreviated(number_at(plan, "tokens"))
        words += f", {tokens} of {abbreviated(number_at(plan, 'tokens_per_day'))} tokens"
    yield f"{words}; {counted(max(most - calls, 0), 'call')} left"
    if problem := text_at(plan, "problem"):
        again = parsed_time(plan.get("next_try"))
        when = f"; next try at {short_time(again)}" if again else ""
        words = f"not in use, the built-in rules do the work: {problem}{when}"
        yield f"{words} -> {text_at(plan, 'hint')}"
    elif until := parsed_time(plan.get("until")):
        yield f"the next extraction waits until {short_time(until)}: {text_at(plan, 'waits')}"


def spending_words(spending: Json) -> str:
    today = against(number_at(spending, "today_usd"), spending.get("usd_per_day"))
    month = against(number_at(spending, "month_usd"), spending.get("usd_per_month"))
    words = f"{today} today, {month} this month"
    if not is_true_at(spending, "paused"):
        return words
    until = parsed_time(spending.get("until"))
    when = f" until {short_time(until)}" if until else ""
    return f"{words}; paused{when}: {pause_words(text_at(spending, 'reason'))}"


def against(usd: float, cap_usd: object) -> str:
    return f"${usd:.2f} of ${cap_usd:.2f}" if isinstance(cap_usd, int | float) else f"${usd:.2f}"


def transcript_words(transcripts: Json) -> str:
    behind = number_at(transcripts, "behind")
    state = f"{counted(behind, 'byte')} left to read" if behind else "all read"
    return f"{number_at(transcripts, 'watched'):.0f} watched, {state}"


def queue_words(queue: Json) -> str:
    counts = [
        f"{number_at(queue, name):.0f} {name}"
        for name in ("waiting", "running", "held", "parked")
        if number_at(queue, name)
    ]
    return ", ".join(counts) or "empty"


def recent_words(memory: Json) -> str:
    name, cause = text_at(memory, "name"), text_at(memory, "cause")
    when = parsed_time(memory.get("at"))
    details = ", ".join(filter(None, [ago(when) if when else "", cause_words(cause)]))
    return f"{name} ({details})" if details else name


def dream_words(dream: Json) -> str:
    """One memory directory: its running dream, or when and why the next one starts."""
    project = tilde(text_at(dream, "project") or text_at(dream, "directory")) or "a project"
    running = object_at(dream, "running")
    if running:
        return f"{project}: dreaming ({text_at(running, 'phase') or 'just started'})"
    if is_true_at(dream, "is_open"):
        return f"{project}: can start at any time"
    opens, reason = parsed_time(dream.get("opens_at")), text_at(dream, "reason")
    when = f"not before {short_time(opens)}" if opens else "not yet"
    return f"{project}: {when}{f' ({reason})' if reason else ''}"


def add_commands(commands: Commands) -> None:
    command = commands.add(
        "status",
        status,
        "show whether the daemon is running and what it does (same as memoryd alone)",
        example="memoryd status --json",
        needs_daemon=False,
    )
    add_project(command)
    add_json(command)
