"""The commands about one session's state: notes, checkpoint, and the context it starts with."""

from memoryd_client.cli.commands import JSON, PROJECT, Argument, Arguments, Command, project_of
from memoryd_client.cli.render import one_line, print_json, printable, table, wrapped
from memoryd_client.connection.answers import items_at, number_at, objects_at, text_at
from memoryd_client.connection.call import call
from memoryd_client.connection.failures import LocalFailure, UsageError

WAIT_SECONDS = 30.0


def notes(arguments: Arguments) -> int:
    """Print the notes of a session, the newest one of the project if none is named."""
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
        "no session was seen in this project",
        "memoryd notes SESSION names one; memoryd sessions --project PATH lists those of another",
    )


def checkpoint(arguments: Arguments) -> int:
    """Keep, list, show or remove named copies of a session's notes."""
    deed, name, cwd = arguments.deed, arguments.name, project_of(arguments)
    if deed != "list" and not name:
        raise UsageError(f"memoryd checkpoint {deed} needs a name")
    method = {"save": "save", "list": "list", "show": "get", "remove": "remove"}[deed]
    params = {"cwd": cwd} | ({"name": name} if deed != "list" else {})
    if deed == "save" and arguments.session:
        params["session_id"] = arguments.session
    answer = call(f"checkpoint/{method}", params, WAIT_SECONDS)
    if arguments.json:
        print_json(answer)
    elif deed == "list":
        rows = [
            (text_at(one, "name"), text_at(one, "saved"), f"{int(number_at(one, 'bytes'))} bytes")
            for one in objects_at(answer, "checkpoints")
        ]
        for line in table(rows):
            print(line)
        if not rows:
            print(wrapped("No checkpoints here. Keep one with: memoryd checkpoint save NAME"))
    elif deed == "show":
        print(printable(text_at(answer, "text")).rstrip("\n"))
    else:
        print(f"{'kept' if deed == 'save' else 'removed'} {one_line(name)}")
    return 0


def context(arguments: Arguments) -> int:
    """Print what a session here starts with, or approve an import that leads outside."""
    cwd = project_of(arguments)
    if arguments.deed == "approve":
        if not arguments.file:
            raise UsageError("memoryd context approve needs the path of a file or folder")
        answer = call("context/approve", {"cwd": cwd, "path": arguments.file})
        if arguments.json:
            print_json(answer)
        else:
            print(f"approved for this project: {one_line(text_at(answer, 'approved'))}")
        return 0
    if arguments.deed:
        raise UsageError("memoryd context, or memoryd context approve PATH")
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


SESSION = Argument(("--session",), "a session's id; the newest one if not given", "SESSION")

COMMANDS = (
    Command(
        "notes",
        "print the notes of a session",
        "memoryd notes",
        notes,
        (
            Argument(("session",), "a session's id; the newest one if not given", is_optional=True),
            PROJECT,
            JSON,
        ),
    ),
    Command(
        "checkpoint",
        "keep a named copy of a session's notes: save, list, show or remove",
        'memoryd checkpoint save "before the rewrite"',
        checkpoint,
        (
            Argument(("deed",), "what to do", choices=("save", "list", "show", "remove")),
            Argument(("name",), "the checkpoint's name", is_optional=True),
            SESSION,
            PROJECT,
            JSON,
        ),
    ),
    Command(
        "context",
        "print what a session in this project starts with",
        "memoryd context --path src/api.py",
        context,
        (
            Argument(("deed",), "approve: let an import lead outside", "approve", is_optional=True),
            Argument(("file",), "the file or folder to approve", "PATH", is_optional=True),
            Argument(("--path",), "also what is meant for this file alone", "FILE"),
            PROJECT,
            JSON,
        ),
    ),
)
