"""The command `review`: what has ended, aged or lost what it cites; one key for each decision."""

import sys
from collections.abc import Sequence

from memoryd_client.cli.commands import (
    Arguments,
    Commands,
    add_json,
    add_project,
    answer_to,
    project_of,
)
from memoryd_client.cli.editor import edited
from memoryd_client.cli.render import one_line, paint, print_json, printable, table
from memoryd_client.connection.answers import Json, number_at, objects_at, text_at
from memoryd_client.connection.call import call
from memoryd_client.connection.failures import Failure, UsageError

ACTIONS = ("list", "keep", "retire")
HEADING = ("MEMORY", "TYPE", "DUE SINCE", "WHY")
WHY = {
    "ended": "it says that it ended",
    "gone": "what it cites is gone",
    "old": "nobody has used it for long",
}
KEYS = "[k]eep, [c]hange, [r]etire, [s]kip, [q]uit? "


def review(arguments: Arguments) -> int:
    """Lists or decides; without an action, asks about each memory on a terminal."""
    action, named, cwd = arguments.action, arguments.memories, project_of(arguments)
    if action in {None, "list"} and named:
        raise UsageError("a list takes no memories", f"keep one: memoryd review keep {named[0]}")
    if action in {"keep", "retire"}:
        if not named:
            raise UsageError(f"{action} needs a memory", "memoryd review list shows what is due")
        return decide(arguments, action, named, cwd)
    if action is None and not arguments.json and sys.stdin.isatty() and sys.stdout.isatty():
        return walk(list(objects_at(call("review/list", {"cwd": cwd}), "memories")), cwd)
    return list_due(arguments, cwd)


def list_due(arguments: Arguments, cwd: str) -> int:
    answer = call("review/list", {"cwd": cwd})
    if arguments.json:
        print_json(answer)
        return 0
    found = list(objects_at(answer, "memories"))
    for line in table([row_of(one) for one in found], HEADING):
        print(line)
    if found:
        print()
        print("Still true: memoryd review keep MEMORY. Not any more: memoryd review retire MEMORY.")
    else:
        print("Nothing is due for review.")
    return 0


def row_of(one: Json) -> tuple[str, ...]:
    reason = WHY.get(text_at(one, "reason"), text_at(one, "reason"))
    if gone := text_at(one, "gone"):
        reason = f"{reason}: {gone}"
    return (text_at(one, "file"), text_at(one, "type"), text_at(one, "since"), one_line(reason))


def decide(arguments: Arguments, action: str, named: Sequence[str], cwd: str) -> int:
    answers = [call(f"review/{action}", {"cwd": cwd, "path": name}) for name in named]
    if arguments.json:
        print_json({"reviewed": answers})
        return 0
    for name, answer in zip(named, answers, strict=True):
        print(outcome(action, name, answer))
    return 0


def outcome(action: str, name: str, answer: Json) -> str:
    if action == "keep":
        return f"kept {one_line(name)}; due again on {text_at(answer, 'review_by')}"
    return f"retired {one_line(name)}. Undo: memoryd restore {one_line(name)}"


def walk(items: Sequence[Json], cwd: str) -> int:
    """Asks about each memory in turn; what is skipped stays due."""
    if not items:
        print("Nothing is due for review.")
        return 0
    for number, one in enumerate(items, start=1):
        print(paint(f"{number} of {len(items)}", "dim"))
        print_item(one)
        print()
        if not ask_about(one, cwd):
            break
        print()
    return 0


def print_item(one: Json) -> None:
    print(paint(one_line(text_at(one, "name")), "bold"))
    for line in printable(text_at(one, "text")).splitlines():
        print(f"  | {line}")
    file, type_, since, why = row_of(one)
    print(paint(f"  {file} ({type_}), written {text_at(one, 'age')}", "dim"))
    print(paint(f"  due since {since}: {why}", "dim"))


def ask_about(one: Json, cwd: str) -> bool:
    """Carries out what the person types, and asks again if that fails; false to stop."""
    while True:
        key = answer_to(KEYS, "s")[:1]
        if key in {"q", "n"}:
            return False
        try:
            if key == "s" or carried_out(key, one, cwd):
                return True
        except Failure as failure:
            print(one_line(failure.message))
            print(f"  {one_line(failure.hint)}")


def carried_out(key: str, one: Json, cwd: str) -> bool:
    """Does what a key stands for; false if it stands for nothing."""
    path, name = text_at(one, "path"), text_at(one, "file")
    match key:
        case "k":
            print(outcome("keep", name, call("review/keep", {"cwd": cwd, "path": path})))
        case "c":
            change(path, name, cwd)
        case "r":
            print(outcome("retire", name, call("review/retire", {"cwd": cwd, "path": path})))
        case _:
            return False
    return True


def change(path: str, name: str, cwd: str) -> None:
    """In the person's editor; what they changed or left is then kept."""
    memory = call("memory/get", {"cwd": cwd, "path": path})
    before = text_at(memory, "content")
    with edited(before) as after:
        if after != before:
            version = int(number_at(memory, "version"))
            call("memory/edit", {"cwd": cwd, "path": path, "content": after, "version": version})
    print(outcome("keep", name, call("review/keep", {"cwd": cwd, "path": path})))


def add_commands(commands: Commands) -> None:
    command = commands.add(
        "review",
        review,
        "keep, change or retire memories that have ended or aged",
        example="memoryd review keep project_release.md",
    )
    command.add_argument(
        "action",
        metavar="ACTION",
        nargs="?",
        choices=ACTIONS,
        help="%(choices)s; without one, asks about each on a terminal",
    )
    command.add_argument(
        "memories", metavar="MEMORY", nargs="*", help="a memory's file, title or path"
    )
    add_project(command)
    add_json(command)
