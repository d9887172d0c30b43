"""The command `agent`: sub-agents with a memory of their own, and snapshots of it."""

from memoryd_client.cli.commands import (
    Arguments,
    Commands,
    add_json,
    add_project,
    project_of,
)
from memoryd_client.cli.naming import WHERE
from memoryd_client.cli.render import one_line, print_json, table
from memoryd_client.cli.wording import counted
from memoryd_client.connection.answers import Json, items_at, number_at, objects_at, text_at
from memoryd_client.connection.call import call
from memoryd_client.connection.failures import UsageError

HEADING = ("AGENT", "HOME", "MEMORIES", "SNAPSHOT", "FOLDER")


def agent(arguments: Arguments) -> int:
    """Lists agents, or writes a snapshot of one."""
    if arguments.action == "snapshot":
        return snapshot(arguments)
    if arguments.name or arguments.where:
        raise UsageError("memoryd agent list takes no name", "memoryd agent snapshot NAME")
    return list_agents(arguments)


def list_agents(arguments: Arguments) -> int:
    answer = call("agent/list", {"cwd": project_of(arguments)})
    if arguments.json:
        print_json(answer)
        return 0
    agents = list(objects_at(answer, "agents"))
    for line in table([row_of(one) for one in agents], HEADING):
        print(line)
    if not agents:
        print("No sub-agent has a memory here. One gets it by `memory:` in its definition, or by")
        print('memoryd remember "..." --agent NAME')
    return 0


def row_of(one: Json) -> tuple[str, ...]:
    snapshot_at = text_at(one, "snapshot")[:10] or "none"
    count = f"{number_at(one, 'memories'):.0f}"
    return (text_at(one, "name"), text_at(one, "home"), count, snapshot_at, text_at(one, "path"))


def snapshot(arguments: Arguments) -> int:
    """Writes an agent's memory into the repository, for version control."""
    if not arguments.name:
        raise UsageError("memoryd agent snapshot needs the name of an agent", "memoryd agent")
    params: dict[str, object] = {"cwd": project_of(arguments), "agent": arguments.name}
    if arguments.where:
        params["where"] = arguments.where
    answer = call("agent/snapshot", params)
    if arguments.json:
        print_json(answer)
    else:
        files = counted(len(items_at(answer, "files")), "file")
        print(f"wrote {files} and snapshot.json to {one_line(text_at(answer, 'path'))}")
    return 0


def add_commands(commands: Commands) -> None:
    command = commands.add(
        "agent",
        agent,
        "list sub-agents with memories; snapshot one for version control",
        example="memoryd agent snapshot code-reviewer",
    )
    command.add_argument(
        "action",
        metavar="ACTION",
        nargs="?",
        choices=("list", "snapshot"),
        default="list",
        help="%(choices)s (default: %(default)s)",
    )
    command.add_argument("name", metavar="NAME", nargs="?", help="the agent to take a snapshot of")
    command.add_argument(
        "--where",
        metavar="SCOPE",
        choices=WHERE,
        help="which of its memories: %(choices)s (default: its own)",
    )
    add_project(command)
    add_json(command)
