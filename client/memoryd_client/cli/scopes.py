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
    "user": "every project has it",
    "team": "the team has it",
}


def promote(arguments: Arguments) -> int:
    """Moves a memory to a wider scope."""
    return move(arguments, arguments.scope, f"memoryd demote {{}}{undo_scope(arguments)}")


def demote(arguments: Arguments) -> int:
    """Moves a memory back to a narrower scope."""
    return move(arguments, arguments.scope, "memoryd promote {}")


def undo_scope(arguments: Arguments) -> str:
    return f" --project {arguments.project}" if arguments.project else ""


def move(arguments: Arguments, scope: str, undo: str) -> int:
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
    back = undo.format(file)
    if source not in {"project", "user"}:
        back = f"{back} --scope {source}"
    print(f"moved to {one_line(text_at(answer, 'path'))}: {WHERE.get(scope, scope)}. Undo: {back}")
    return 0


def add_commands(commands: Commands) -> None:
    promoting = commands.add(
        "promote",
        promote,
        "make a memory of this project one of every project",
        example="memoryd promote feedback_keep_answers_short.md",
    )
    add_memory(promoting)
    promoting.add_argument(
        "--scope",
        metavar="SCOPE",
        choices=("user", "team"),
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
        "make a memory of every project one of this project alone",
        example="memoryd demote feedback_keep_answers_short.md",
    )
    add_memory(demoting)
    demoting.add_argument(
        "--scope",
        metavar="SCOPE",
        choices=("project",),
        default="project",
        help="where to: %(choices)s (default: %(default)s)",
    )
    add_project(demoting)
    add_json(demoting)
