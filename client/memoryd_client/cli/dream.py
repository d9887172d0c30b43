"""The command `dream`: when the next one starts; start, watch, stop, undo or review one."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping

from memoryd_client.cli.commands import (
    INTERRUPTED,
    Arguments,
    Commands,
    add_json,
    add_project,
    project_of,
    whole_number,
)
from memoryd_client.cli.dream_view import GOOD_ENDS, View, view_for
from memoryd_client.cli.naming import SCOPES
from memoryd_client.cli.render import (
    Colour,
    one_line,
    paint,
    print_diff,
    print_json,
    table,
    wrapped,
)
from memoryd_client.cli.times import date_and_time
from memoryd_client.cli.wording import abbreviated, counted
from memoryd_client.connection.answers import (
    Json,
    items_at,
    number_at,
    object_at,
    objects_at,
    text_at,
)
from memoryd_client.connection.call import call, subscription
from memoryd_client.connection.failures import LocalFailure

EVENTS = ("dream/started", "dream/phase", "dream/said", "dream/file", "dream/finished")
STATE_COLOURS: dict[str, Colour] = {"done": "green", "refused": "yellow", "failed": "red"}


def dream(arguments: Arguments) -> int:
    """Does what was asked for; without that, prints when the next dream starts."""
    if arguments.action:
        return ACTIONS[arguments.action](arguments)
    if arguments.now or arguments.dry_run or arguments.follow:
        return start_or_watch(arguments)
    return show_status(arguments)


def params_for(arguments: Arguments) -> dict[str, object]:
    """Which memories it is about."""
    wanted = {"scope": arguments.scope or ("agent" if arguments.agent else None)}
    wanted["agent"] = arguments.agent
    return {"cwd": project_of(arguments), **{key: text for key, text in wanted.items() if text}}


def with_scope(command: str, scope: str | None) -> str:
    """A command to type next, about the same memories."""
    return f"{command} --scope {scope}" if scope in {"group", "user", "team"} else command


def show_status(arguments: Arguments) -> int:
    answer = call("dream/status", params_for(arguments))
    if arguments.json:
        print_json(answer)
        return 0
    print(wrapped(one_line(text_at(answer, "message"))))
    if last := date_and_time(text_at(answer, "last")):
        print(f"last dream: {last}. Details: {with_scope('memoryd dream log', arguments.scope)}")
    if estimate := estimate_of(object_at(answer, "estimate")):
        print(estimate)
    return 0


def estimate_of(one: Json) -> str:
    """What the next dream would cost; empty if that is nothing."""
    if text_at(one, "how") != "model":
        return ""
    return (
        f"the next one reads {number_at(one, 'read'):.0f} of"
        f" {number_at(one, 'memories'):.0f} memories:"
        f" about {abbreviated(number_at(one, 'tokens'))} tokens,"
        f" ${number_at(one, 'usd'):.2f} (at most ${number_at(one, 'most_usd'):.2f})"
    )


def stop(arguments: Arguments) -> int:
    answer = call("dream/stop", params_for(arguments), timeout_seconds=60)
    number, state = f"{number_at(answer, 'dream'):.0f}", text_at(answer, "state")
    if arguments.json:
        print_json(answer)
    elif state == "stopped":
        print(f"dream {number} is stopped; nothing was changed")
    else:
        print(f"too late: dream {number} is {state}")
    return 0


def undo(arguments: Arguments) -> int:
    """Undoes the last dream; the exit code is 1 if a file was changed since and is kept."""
    answer = call("dream/undo", params_for(arguments), timeout_seconds=60)
    left = [str(file) for file in items_at(answer, "left")]
    if arguments.json:
        print_json(answer)
        return int(bool(left))
    restored = counted(len(items_at(answer, "restored")), "file")
    print(f"dream {number_at(answer, 'dream'):.0f} is undone: {restored} restored")
    for file in left:
        print(f"  {one_line(file)}: skipped (changed since the dream)")
    if left:
        print("  memoryd history shows what each of these was before the dream")
    return int(bool(left))


def show_log(arguments: Arguments) -> int:
    """A row for each past dream, or one dream in full."""
    params = params_for(arguments)
    if arguments.number:
        params["dream"] = arguments.number
    answer = call("dream/log", params)
    dreams = list(objects_at(answer, "dreams"))
    if arguments.json:
        print_json(answer)
    elif arguments.number:
        for one in dreams:
            print_outcome(one, with_diffs=True)
    else:
        for line in table([row_of(one) for one in dreams]):
            print(line)
        if not dreams:
            command = with_scope("memoryd dream --now --follow", arguments.scope)
            print(f"No dreams here yet. Start one with: {command}")
    return 0


def review(arguments: Arguments) -> int:
    """Shows a refused dream with everything it would change."""
    if not arguments.number:
        past = call("dream/log", params_for(arguments) | {"limit": 500})
        refused = (one for one in objects_at(past, "dreams") if text_at(one, "state") == "refused")
        arguments.number = int(number_at(next(refused, {}), "dream"))
        if not arguments.number:
            print("No dream is waiting for review.")
            return 0
    return show_log(arguments)


def accept(arguments: Arguments) -> int:
    """Applies a refused dream; the exit code is 1 if that fails."""
    params = params_for(arguments) | ({"dream": arguments.number} if arguments.number else {})
    answer = call("dream/accept", params, timeout_seconds=60)
    if arguments.json:
        print_json(answer)
    else:
        print_outcome(answer, with_diffs=False)
    return int(text_at(answer, "state") != "done")


ACTIONS: Mapping[str, Callable[[Arguments], int]] = {
    "stop": stop,
    "undo": undo,
    "log": show_log,
    "review": review,
    "accept": accept,
}


def row_of(one: Json) -> tuple[str, ...]:
    summary = object_at(one, "summary")
    return (
        f"{number_at(one, 'dream'):.0f}",
        date_and_time(text_at(one, "started")),
        text_at(one, "state"),
        text_at(summary, "how"),
        f"${number_at(summary, 'usd'):.2f}",
        text_at(one, "reason") or counts_of(summary) or "nothing to do",
    )


def start_or_watch(arguments: Arguments) -> int:
    """Starts a dream if asked to, and shows it until it ends if asked to."""
    starts = arguments.now or arguments.dry_run
    params = params_for(arguments) | {"force": arguments.now, "dry_run": arguments.dry_run}
    if starts and not (arguments.follow or arguments.dry_run):
        answer = call("dream/start", params, timeout_seconds=60)
        if arguments.json:
            print_json(answer)
        else:
            number = number_at(answer, "dream")
            command = with_scope("memoryd dream --follow", arguments.scope)
            print(f"dream {number:.0f} has started; watch it with: {command}")
        return 0
    # Subscribed first: a short dream is over before a second call gets through.
    with subscription(EVENTS, project_of(arguments)) as events:
        if starts:
            number = int(number_at(call("dream/start", params, timeout_seconds=60), "dream"))
        else:
            status = call("dream/status", params_for(arguments))
            number = int(number_at(object_at(status, "running"), "dream"))
            if not number:
                return show_status(arguments)
        return watch(events, number, arguments)


def watch(events: Iterator[Json], number: int, arguments: Arguments) -> int:
    is_shown = arguments.follow and not arguments.json
    try:
        with view_for(number, is_shown=is_shown) as view:
            follow(events, number, view, arguments)
    except KeyboardInterrupt:
        command = with_scope("memoryd dream stop", arguments.scope)
        print(f"the dream continues; stop it with: {command}", file=sys.stderr)
        return INTERRUPTED
    answer = call("dream/log", params_for(arguments) | {"dream": number})
    one = next(objects_at(answer, "dreams"), {})
    if arguments.json:
        print(json.dumps(one) if arguments.follow else json.dumps(one, indent=2))
    else:
        print_outcome(one, with_diffs=arguments.dry_run)
    return int(text_at(one, "state") not in GOOD_ENDS)


def follow(events: Iterator[Json], number: int, view: View, arguments: Arguments) -> None:
    for event in events:
        if number_at(event, "dream") != number:
            continue
        if arguments.json and arguments.follow:
            print(json.dumps(event), flush=True)
        view.update(event)
        if text_at(event, "kind") == "dream/finished":
            return
    raise LocalFailure(
        "the daemon stopped during the dream", "it undoes the dream at its next start"
    )


def print_outcome(one: Json, *, with_diffs: bool) -> None:
    """What a dream did, for people."""
    summary, state = object_at(one, "summary"), text_at(one, "state")
    counts = counts_of(summary) or "nothing to do" * (state in GOOD_ENDS)
    head = f"dream {number_at(one, 'dream'):.0f} {'is ' * (state != 'failed')}{state}"
    details = f": {counts}" * bool(counts)
    print(f"{paint(head, STATE_COLOURS.get(state, 'bold'))}{details}{bill_of(summary)}")
    if reason := text_at(one, "reason"):
        print(wrapped(one_line(reason)))
    if words := text_at(summary, "words"):
        print(wrapped(one_line(words)))
    for line in table([file_row(file) for file in objects_at(summary, "files")]):
        print(f"  {line}")
    for line in remarks(summary):
        print(f"  {wrapped(one_line(line), 2)}")
    if said := text_at(summary, "said"):
        print(wrapped(one_line(said)))
    if with_diffs:
        for file in objects_at(summary, "files"):
            print_diff(text_at(file, "diff"))
    if after := what_next(one, state):
        print(paint(after, "dim"))


def file_row(file: Json) -> tuple[str, ...]:
    added, removed = number_at(file, "added"), number_at(file, "removed")
    change = f"+{added:.0f} -{removed:.0f}" if added or removed else ""
    return (text_at(file, "file"), text_at(file, "deed"), change)


def remarks(summary: Json) -> Iterator[str]:
    for file in items_at(summary, "left_alone"):
        yield f"{file}: skipped (changed meanwhile)"
    for flag in objects_at(summary, "flags"):
        yield f"{text_at(flag, 'file')}: {text_at(flag, 'concern')}"
    if lost := [str(file) for file in items_at(summary, "lost")]:
        yield f"lost: {', '.join(lost)}"


def counts_of(summary: Json) -> str:
    changes = [text_at(file, "deed") for file in objects_at(summary, "files")]
    counts = (
        (change, changes.count(change)) for change in ("new", "changed", "retired", "removed")
    )
    words = [f"{count} {change}" for change, count in counts if count]
    return ", ".join(words or ["index tidied"] * ("index" in changes))


def bill_of(summary: Json) -> str:
    if text_at(summary, "how") != "model":
        return f" ({number_at(summary, 'seconds'):.1f} s)"
    tokens = number_at(summary, "input_tokens") + number_at(summary, "output_tokens")
    return (
        f" ({number_at(summary, 'seconds'):.1f} s, {abbreviated(tokens)} tokens,"
        f" ${number_at(summary, 'usd'):.4f})"
    )


def what_next(one: Json, state: str) -> str:
    scope = text_at(one, "scope")
    if state == "done" and items_at(object_at(one, "summary"), "files"):
        return f"Undo: {with_scope('memoryd dream undo', scope)}"
    if state == "previewed":
        return f"Nothing was changed. Apply it: {with_scope('memoryd dream --now', scope)}"
    if state == "refused":
        number = f"{number_at(one, 'dream'):.0f}"
        looking = with_scope(f"memoryd dream review {number}", scope)
        taking = with_scope(f"memoryd dream accept {number}", scope)
        return f"See what it would change: {looking}. Apply it anyway: {taking}"
    return ""


def add_commands(commands: Commands) -> None:
    command = commands.add(
        "dream",
        dream,
        "show when the next dream starts; start, watch, stop, undo or review one",
        example="memoryd dream --now --follow",
    )
    command.add_argument(
        "action",
        metavar="ACTION",
        nargs="?",
        choices=tuple(ACTIONS),
        help="stop the running dream, undo the last one, log past dreams, review or accept one"
        " that was refused because it would lose too much",
    )
    command.add_argument(
        "number",
        metavar="N",
        nargs="?",
        type=whole_number,
        help="the dream to log with its diffs, to review or to accept",
    )
    command.add_argument(
        "--scope",
        metavar="SCOPE",
        choices=SCOPES,
        help="whose memories: %(choices)s (default: project)",
    )
    command.add_argument("--agent", metavar="NAME", help="the memories of this agent")
    command.add_argument("--now", action="store_true", help="start now, ignoring the schedule")
    command.add_argument(
        "--dry-run", action="store_true", help="show what would change, and change nothing"
    )
    command.add_argument("--follow", action="store_true", help="watch the dream until it ends")
    add_project(command)
    add_json(command)
