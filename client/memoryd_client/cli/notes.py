"""The commands about a session's state: notes, checkpoint, and context."""

from memoryd_client.cli.commands import Arguments, Commands, add_json, add_project, project_of
from memoryd_client.cli.render import one_line, print_json, printable, table, wrapped
from memoryd_client.cli.times import date_and_time
from memoryd_client.connection.answers import items_at, number_at, objects_at, text_at
from memoryd_client.connection.call import call
from memoryd_client.connection.failures import LocalFailure, UsageError

WAIT_SECONDS = 30.0
# What a person types, and the daemon's method for it.
CHECKPOINT_METHODS = {"save": "save", "list": "list", "show": "get", "remove": "remove"}
SESSION_HELP = "a session's id, or the start of it (default: the newest one)"


def notes(arguments: Arguments) -> int:
    """Prints the notes of a session; of the project's newest one if none is named."""
    session = arguments.session or newest_session(project_of(arguments))
    answer = call("session/notes", {"session_id": session, "cwd": project_of(arguments)})
    if arguments.json:
        print_json(answer)
    else:
        print(printable(text_at(answer, "text")).rstrip("\n"))
    return 0


def newest_session(cwd: str) -> str:
    answer = call("session/list", {"cwd": cwd, "limit": 1}, WAIT_SECONDS)
    for one in objects_at(answer, "sessions"):
        return text_at(one, "session_id")
    raise LocalFailure(
        "this project has no sessions yet",
        "name a session: memoryd notes SESSION. Those of another project: memoryd sessions"
        " --project DIR",
    )


def checkpoint(arguments: Arguments) -> int:
    """Saves, lists, shows or removes named copies of a session's notes."""
    action, name, cwd = arguments.action, arguments.name, project_of(arguments)
    if action != "list" and not name:
        raise UsageError(f"memoryd checkpoint {action} needs a name")
    params = {"cwd": cwd} | ({"name": name} if action != "list" else {})
    if action == "save" and arguments.session:
        params["session_id"] = arguments.session
    answer = call(f"checkpoint/{CHECKPOINT_METHODS[action]}", params, WAIT_SECONDS)
    if arguments.json:
        print_json(answer)
    elif action == "list":
        rows = [
            (
                text_at(one, "name"),
                date_and_time(text_at(one, "saved")),
                f"{number_at(one, 'bytes'):.0f} bytes",
            )
            for one in objects_at(answer, "checkpoints")
        ]
        for line in table(rows):
            print(line)
        if not rows:
            print(wrapped("No checkpoints here. Save one with: memoryd checkpoint save NAME"))
    elif action == "show":
        print(printable(text_at(answer, "text")).rstrip("\n"))
    else:
        print(f"{'saved' if action == 'save' else 'removed'} checkpoint {one_line(name)}")
    return 0


def context(arguments: Arguments) -> int:
    """Prints what a session here starts with, or approves an import from outside the project."""
    cwd = project_of(arguments)
    if arguments.action == "approve":
        return approve(cwd, arguments)
    answer = call("context", {"cwd": cwd, "path": arguments.path}, WAIT_SECONDS)
    if arguments.json:
        print_json(answer)
        return 0
    print(printable(text_at(answer, "text")).rstrip("\n"))
    for path in items_at(answer, "needs_approval"):
        print(f"\nleft out: {one_line(str(path))}\n  memoryd context approve {one_line(str(path))}")
    for warning in items_at(answer, "warnings"):
        print(wrapped(f"\n{warning}"))
    return 0


def approve(cwd: str, arguments: Arguments) -> int:
    if not arguments.file:
        raise UsageError("memoryd context approve needs the path of a file or folder")
    answer = call("context/approve", {"cwd": cwd, "path": arguments.file})
    if arguments.json:
        print_json(answer)
    else:
        print(f"approved for this project: {one_line(text_at(answer, 'approved'))}")
    return 0


def add_commands(commands: Commands) -> None:
    reading = commands.add("notes", notes, "print the notes of a session", example="memoryd notes")
    reading.add_argument("session", metavar="SESSION", nargs="?", help=SESSION_HELP)
    add_project(reading)
    add_json(reading)

    copying = commands.add(
        "checkpoint",
        checkpoint,
        "save, list, show or remove named copies of a session's notes",
        example='memoryd checkpoint save "before the rewrite"',
    )
    copying.add_argument(
        "action", metavar="ACTION", choices=tuple(CHECKPOINT_METHODS), help="one of %(choices)s"
    )
    copying.add_argument("name", metavar="NAME", nargs="?", help="the checkpoint's name")
    copying.add_argument("--session", metavar="SESSION", help=SESSION_HELP)
    add_project(copying)
    add_json(copying)

    starting = commands.add(
        "context",
        context,
        "print what a session in this project starts with",
        example="memoryd context --path src/api.py",
    )
    starting.add_argument(
        "action",
        metavar="ACTION",
        nargs="?",
        choices=("approve",),
        help="approve: allow imports from a file or folder outside the project",
    )
    starting.add_argument("file", metavar="FILE", nargs="?", help="the file or folder to approve")
    starting.add_argument(
        "--path", metavar="FILE", help="include instructions that apply to this file only"
    )
    add_project(starting)
    add_json(starting)
