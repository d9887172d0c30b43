"""The command about dreams: when the next may come, begin one, watch it, stop it, take it back."""

import json
import sys
import time
from collections.abc import Iterator

from memoryd_client.cli.commands import JSON, PROJECT, Argument, Arguments, Command, project_of
from memoryd_client.cli.dream_view import GOOD_ENDS, View, view_for
from memoryd_client.cli.render import Colour, one_line, paint, print_json, printable, table, wrapped
from memoryd_client.cli.sessions import counted, moment, short
from memoryd_client.connection.answers import (
    Json,
    items_at,
    number_at,
    object_at,
    objects_at,
    text_at,
)
from memoryd_client.connection.call import Conversation, call
from memoryd_client.connection.failures import LocalFailure, UsageError

KINDS = ("dream/started", "dream/phase", "dream/file", "dream/finished")
INTERRUPTED = 130
STATE_COLOURS: dict[str, Colour] = {"done": "green", "refused": "yellow", "failed": "red"}


def dream(arguments: Arguments) -> int:
    """Do what was asked for, or say how things stand."""
    deeds = {"stop": stop, "undo": undo, "log": show_log, "review": review, "accept": accept}
    if arguments.deed:
        if arguments.deed not in deeds:
            choices = ", ".join(deeds)
            raise UsageError(f"there is no memoryd dream {arguments.deed}; there are: {choices}")
        return deeds[arguments.deed](arguments)
    if arguments.now or arguments.dry_run or arguments.follow:
        return begin_or_watch(arguments)
    return show_status(arguments)


def whose(arguments: Arguments) -> dict[str, object]:
    """The params that say which memories it is about."""
    scope = {"scope": arguments.scope} if arguments.scope else {}
    return {"cwd": project_of(arguments), **scope}


def with_scope(command: str, scope: str | None) -> str:
    """What to type next, about the same memories."""
    return f"{command} --scope {scope}" if scope == "user" else command


def show_status(arguments: Arguments) -> int:
    answer = call("dream/status", whose(arguments))
    if arguments.json:
        print_json(answer)
        return 0
    print(wrapped(one_line(text_at(answer, "message"))))
    if last := moment(text_at(answer, "last")):
        telling = with_scope("memoryd dream log", arguments.scope)
        print(f"last dream: {last}; {telling} tells more")
    return 0


def stop(arguments: Arguments) -> int:
    answer = call("dream/stop", whose(arguments), timeout_seconds=60)
    if arguments.json:
        print_json(answer)
    elif text_at(answer, "state") == "stopped":
        print(f"dream {number_at(answer, 'dream'):.0f} is stopped; nothing was changed")
    else:
        print(f"too late: dream {number_at(answer, 'dream'):.0f} is {text_at(answer, 'state')}")
    return 0


def undo(arguments: Arguments) -> int:
    """Take the last dream back; what somebody changed since makes the exit code 1."""
    answer = call("dream/undo", whose(arguments), timeout_seconds=60)
    left = [str(file) for file in items_at(answer, "left")]
    if arguments.json:
        print_json(answer)
        return int(bool(left))
    restored = len(items_at(answer, "restored"))
    files = f"{counted(restored, 'file')} {'is' if restored == 1 else 'are'} as before"
    print(f"dream {number_at(answer, 'dream'):.0f} is undone: {files}")
    for file in left:
        print(f"  {one_line(file)} was changed since, and is left as it is")
    if left:
        print("  memoryd history shows what each of these said before the dream")
    return int(bool(left))


def show_log(arguments: Arguments) -> int:
    """Past dreams in a row each, or one with all it did."""
    params = whose(arguments)
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
            asking = with_scope("memoryd dream --now --follow", arguments.scope)
            print(f"No dreams here yet. To have one: {asking}")
    return 0


def review(arguments: Arguments) -> int:
    """A dream that was kept for review, with all it would do."""
    if not arguments.number:
        past = call("dream/log", whose(arguments) | {"limit": 500})
        waiting = (one for one in objects_at(past, "dreams") if text_at(one, "state") == "refused")
        arguments.number = int(number_at(next(waiting, {}), "dream"))
        if not arguments.number:
            print("No dream waits for review.")
            return 0
    return show_log(arguments)


def accept(arguments: Arguments) -> int:
    """Apply a dream that the guard refused; one that came to nothing makes the exit code 1."""
    params = whose(arguments) | ({"dream": arguments.number} if arguments.number else {})
    answer = call("dream/accept", params, timeout_seconds=60)
    if arguments.json:
        print_json(answer)
    else:
        print_outcome(answer, with_diffs=False)
    return int(text_at(answer, "state") != "done")


def row_of(one: Json) -> tuple[str, ...]:
    summary = object_at(one, "summary")
    return (
        f"{number_at(one, 'dream'):.0f}",
        moment(text_at(one, "started")),
        text_at(one, "state"),
        text_at(summary, "how"),
        f"${number_at(summary, 'usd'):.2f}",
        text_at(one, "reason") or counts_of(summary) or "nothing to do",
    )


def begin_or_watch(arguments: Arguments) -> int:
    """Begins a dream if asked to, and shows it to its end if asked to."""
    starts = arguments.now or arguments.dry_run
    params = whose(arguments) | {"force": arguments.now, "dry_run": arguments.dry_run}
    if starts and not (arguments.follow or arguments.dry_run):
        answer = call("dream/start", params, timeout_seconds=60)
        if arguments.json:
            print_json(answer)
        else:
            number = number_at(answer, "dream")
            watching = with_scope("memoryd dream --follow", arguments.scope)
            print(f"dream {number:.0f} has begun; watch it with: {watching}")
        return 0
    with Conversation(time.monotonic() + 10.0) as talk:
        # First the ears, then the dream: a short one is over before a second call gets through.
        talk.ask("events/subscribe", {"kinds": list(KINDS), "cwd": project_of(arguments)})
        talk.wait_for_ever()
        if starts:
            number = int(number_at(call("dream/start", params, timeout_seconds=60), "dream"))
        else:
            status = call("dream/status", whose(arguments))
            number = int(number_at(object_at(status, "running"), "dream"))
            if not number:
                return show_status(arguments)
        return watch(talk, number, arguments)


def watch(talk: Conversation, number: int, arguments: Arguments) -> int:
    is_shown = arguments.follow and not arguments.json
    try:
        with view_for(number, is_shown=is_shown) as view:
            follow(talk, number, view, arguments)
    except KeyboardInterrupt:
        stopping = with_scope("memoryd dream stop", arguments.scope)
        print(f"the dream goes on; {stopping} ends it", file=sys.stderr)
        return INTERRUPTED
    answer = call("dream/log", whose(arguments) | {"dream": number})
    one = next(objects_at(answer, "dreams"), {})
    if arguments.json:
        print(json.dumps(one) if arguments.follow else json.dumps(one, indent=2))
    else:
        print_outcome(one, with_diffs=arguments.dry_run)
    return int(text_at(one, "state") not in GOOD_ENDS)


def follow(talk: Conversation, number: int, view: View, arguments: Arguments) -> None:
    for message in talk.messages():
        event = object_at(message, "params")
        if number_at(event, "dream") != number:
            continue
        if arguments.json and arguments.follow:
            print(json.dumps(event), flush=True)
        view.hear(event)
        if text_at(event, "kind") == "dream/finished":
            return
    raise LocalFailure("the daemon ended during the dream", "it takes the dream back by itself")


def print_outcome(one: Json, *, with_diffs: bool) -> None:
    """What came of a dream, as a person wants to read it."""
    summary, state = object_at(one, "summary"), text_at(one, "state")
    counts = counts_of(summary) or "nothing to do" * (state in GOOD_ENDS)
    head = f"dream {number_at(one, 'dream'):.0f} {'is ' * (state != 'failed')}{state}"
    told = f": {counts}" * bool(counts)
    print(f"{paint(head, STATE_COLOURS.get(state, 'bold'))}{told}{bill_of(summary)}")
    if reason := text_at(one, "reason"):
        print(wrapped(one_line(reason)))
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
        yield f"{file} was changed by somebody else meanwhile, and is left as it is"
    for flag in objects_at(summary, "flags"):
        yield f"{text_at(flag, 'file')}: {text_at(flag, 'concern')}"
    if lost := [str(file) for file in items_at(summary, "lost")]:
        yield f"lost: {', '.join(lost)}"


def counts_of(summary: Json) -> str:
    deeds = [text_at(file, "deed") for file in objects_at(summary, "files")]
    counted = ((deed, deeds.count(deed)) for deed in ("new", "changed", "retired", "removed"))
    words = [f"{count} {deed}" for deed, count in counted if count]
    return ", ".join(words or ["index tidied"] * ("index" in deeds))


def bill_of(summary: Json) -> str:
    if text_at(summary, "how") != "model":
        return f" ({number_at(summary, 'seconds'):.1f} s)"
    tokens = number_at(summary, "input_tokens") + number_at(summary, "output_tokens")
    return (
        f" ({number_at(summary, 'seconds'):.1f} s, {short(tokens)} tokens,"
        f" ${number_at(summary, 'usd'):.4f})"
    )


def what_next(one: Json, state: str) -> str:
    scope = text_at(one, "scope")
    if state == "done" and items_at(object_at(one, "summary"), "files"):
        return f"{with_scope('memoryd dream undo', scope)} takes all of it back"
    if state == "previewed":
        return f"nothing was changed; {with_scope('memoryd dream --now', scope)} does it"
    if state == "refused":
        number = f"{number_at(one, 'dream'):.0f}"
        looking = with_scope(f"memoryd dream review {number}", scope)
        taking = with_scope(f"memoryd dream accept {number}", scope)
        return f"{looking} shows what it would do; {taking} does it all the same"
    return ""


def print_diff(diff: str) -> None:
    if not diff:
        return
    print()
    for line in printable(diff).splitlines():
        colour: Colour = "bold" if line.startswith(("---", "+++")) else "dim"
        if not line.startswith(("---", "+++")) and line[:1] in {"+", "-"}:
            colour = "green" if line[0] == "+" else "red"
        print(paint(line, colour) if line[:1] in {"+", "-", "@"} else line)


COMMANDS = (
    Command(
        "dream",
        "show when the next dream may come; begin, watch, stop, undo or review one",
        "memoryd dream --now --follow",
        dream,
        (
            Argument(
                ("deed",),
                "stop; undo the last one; log: the dreams so far; review or accept one that was"
                " kept back because it would lose too much",
                "DEED", is_optional=True,
            ),
            Argument(
                ("number",), "the dream to log with its diffs, to review or to accept", "N", None,
                None, is_number=True, is_optional=True,
            ),
            Argument(("--scope",), "whose memories", choices=("project", "user")),
            Argument(("--now",), "do not wait for hours and sessions", is_switch=True),
            Argument(("--dry-run",), "show what would change, and change nothing", is_switch=True),
            Argument(("--follow",), "watch it to its end", is_switch=True),
            PROJECT,
            JSON,
        ),
    ),
)  # fmt: skip
