"""`memoryd adopt`: brings the memories of a project's old place to where it is now."""

import sys

from memoryd_client.cli.commands import (
    Arguments,
    Commands,
    add_json,
    add_project,
    answer_to,
    project_of,
)
from memoryd_client.cli.render import one_line, print_json, wrapped
from memoryd_client.cli.wording import counted, tilde
from memoryd_client.connection.answers import (
    Json,
    is_true_at,
    items_at,
    number_at,
    object_at,
    text_at,
)
from memoryd_client.connection.call import call
from memoryd_client.connection.failures import LocalFailure

ADOPT_SECONDS = 120.0


def adopt(arguments: Arguments) -> int:
    """Shows what would happen, asks, and does it."""
    what = {"undo": True} if arguments.undo else {"old": arguments.old or ""}
    params = {"cwd": project_of(arguments), **what}
    if not arguments.yes:
        preview = call("project/adopt", params | {"dry_run": True}, timeout_seconds=ADOPT_SECONDS)
        if arguments.json:
            print_json(preview)
            return 0
        print_plan(preview, undo=arguments.undo)
        confirm(arguments)
    answer = call("project/adopt", params, timeout_seconds=ADOPT_SECONDS)
    if arguments.json:
        print_json(answer)
    elif arguments.undo:
        print("The adoption is undone.")
    else:
        if arguments.yes:
            print_plan(answer, undo=False)
        print("Done. Undo: memoryd adopt --undo")
    return 0


def confirm(arguments: Arguments) -> None:
    if not sys.stdin.isatty():
        words = ["--undo"] if arguments.undo else [one_line(arguments.old)] * bool(arguments.old)
        command = " ".join(["memoryd adopt", *words, "--yes"])
        raise LocalFailure("nothing was changed", f"to do it: {command}")
    if answer_to("Do it? [Y/n] ", "y") not in {"y", "yes"}:
        raise LocalFailure("nothing was changed")


def print_plan(answer: Json, *, undo: bool) -> None:
    here, there = (tilde(one_line(text_at(answer, key))) for key in ("target", "source"))
    print(f"from  {here if undo else there}")
    print(f"to    {there if undo else here}")
    renamed, same = object_at(answer, "renamed"), len(items_at(answer, "already_here"))
    count = len(items_at(answer, "moved")) + len(renamed)
    verb = "copied, since the old project still exists" if is_true_at(answer, "copied") else "moved"
    print(f"{counted(count, 'memory', 'memories')} {verb}, with their history")
    for old, new in renamed.items():
        print(f"  {one_line(old)} becomes {one_line(str(new))}: the name is taken")
    if same:
        print(f"{same} already here, word for word")
    for key, thing in (("logs", "daily log"), ("checkpoints", "checkpoint")):
        if number := number_at(answer, key):
            print(counted(number, thing))
    if not is_true_at(answer, "same_project") and not undo:
        print(wrapped("The two do not say that they are one repository: check the old path."))


def add_commands(commands: Commands) -> None:
    command = commands.add(
        "adopt",
        adopt,
        "bring the memories of a moved or cloned project to this one",
        example="memoryd adopt ~/src/old-name",
    )
    command.add_argument(
        "old",
        metavar="OLD",
        nargs="?",
        help="the old path of the project, or its folder's name (default: what doctor found)",
    )
    command.add_argument("--undo", action="store_true", help="take the last adoption back")
    command.add_argument(
        "--yes", action="store_true", help="do not ask; without it, --json only shows the plan"
    )
    add_project(command)
    add_json(command)
