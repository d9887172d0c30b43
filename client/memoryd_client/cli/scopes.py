"""The commands that move a memory from one scope to another: promote and demote."""

from memoryd_client.cli.commands import (
    Arguments,
    Commands,
    add_json,
    add_memory,
    add_project,
    project_of,
)
from memoryd_client.cli.memories import given
from memoryd_client.cli.render import one_line, print_json
from memoryd_client.connection.answers import text_at
from memoryd_client.connection.call import call

WHERE = {
    "project": "this project alone has it",
    "group": "the projects of the group have it",
    "user": "every project has it",
    "team": "the team has it",
}


def promote(arguments: Arguments) -> int:
    """Moves a memory to a wider scope."""
    return move(arguments, arguments.scope, "demote", "project")


def demote(arguments: Arguments) -> int:
    """Moves a memory back to a narrower scope."""
    return move(arguments, arguments.scope, "promote", "user")


def move(arguments: Arguments, scope: str, back: str, default: str) -> int:
    """Moves it; `back` is the command that undoes it, which goes to `default` by itself."""
    params = given(
        cwd=project_of(arguments),
        path=arguments.memory,
        scope=scope,
        anyway=getattr(arguments, "anyway", False),
    )
    answer = call("memory/move", params)
    if arguments.json:
        print_json(answer)
        return 0
    file, source = one_line(text_at(answer, "file")), text_at(answer, "source")
    undo = f"memoryd {back} {file}"
    if source != default:
        undo = f"{undo} --scope {source}"
    if arguments.project:
        undo = f"{undo} --project {one_line(arguments.project)}"
    print(f"moved to {one_line(text_at(answer, 'path'))}: {WHERE.get(scope, scope)}. Undo: {undo}")
    return 0


def add_commands(commands: Commands) -> None:
    promoting = commands.add(
        "promote",
        promote,
        "make a memory of this project one of its group or of every project",
        example="memoryd promote feedback_keep_answers_short.md",
    )
    add_memory(promoting)
    promoting.add_argument(
        "--scope",
        metavar="SCOPE",
        choices=("group", "user", "team"),
        default="user",
        help="where to: %(choices)s (default: %(default)s)",
    )
    promoting.add_argument(
        "--anyway", action="store_true", help="even if it names something of this project"
    )
    add_project(promoting)
    add_json(promoting)

    demoting = commands.add(
        "demote",
        demote,
        "make a memory of every project one of this project or its group",
        example="memoryd demote feedback_keep_answers_short.md",
    )
    add_memory(demoting)
    demoting.add_argument(
        "--scope",
        metavar="SCOPE",
        choices=("project", "group"),
        default="project",
        help="where to: %(choices)s (default: %(default)s)",
    )
    add_project(demoting)
    add_json(demoting)
