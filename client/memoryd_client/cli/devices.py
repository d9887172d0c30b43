"""The command `device`: a person's own machines, kept in step through a database."""

from memoryd_client.cli import config
from memoryd_client.cli.commands import (
    Arguments,
    Commands,
    add_json,
    add_project,
    project_of,
    typed_or_asked,
)
from memoryd_client.cli.render import one_line, paint, print_json, table, wrapped
from memoryd_client.cli.team import print_counts, remember_address, state_of, when_of
from memoryd_client.cli.wording import counted
from memoryd_client.connection.answers import (
    Json,
    is_true_at,
    number_at,
    objects_at,
    text_at,
    texts_at,
)
from memoryd_client.connection.call import call
from memoryd_client.connection.failures import UsageError
from memoryd_client.toml_edit import value_at

ACTIONS = ("list", "init", "add", "revoke", "sync", "project")
SLOW_SECONDS = 150.0


def device(arguments: Arguments) -> int:
    """Does what was asked for; without that, lists the machines."""
    action = arguments.action or "list"
    if action in {"list", "init", "sync"} and arguments.what:
        raise UsageError(f"memoryd device {action} takes no name", "see memoryd device --help")
    if action == "revoke" and not arguments.what:
        raise UsageError("memoryd device revoke needs a name", "memoryd device lists them")
    if action == "project" and not arguments.what:
        raise UsageError("memoryd device project needs a name", "for example acme/shop")
    if action != "add" and (arguments.name or arguments.start_over):
        raise UsageError("--name and --start-over go with add", "see memoryd device --help")
    if action not in {"add", "init"} and arguments.database:
        raise UsageError("--database goes with add and init", "see memoryd device --help")
    if action == "init" and not arguments.member:
        raise UsageError("memoryd device init needs --member ROLE", "for example --member alice")
    if action != "init" and arguments.member:
        raise UsageError("--member goes with init", "see memoryd device --help")
    return DO[action](arguments)


def init(arguments: Arguments) -> int:
    params = {"members": arguments.member, "dsn": arguments.database or ""}
    answer = call("device/init", params, SLOW_SECONDS)
    if arguments.json:
        print_json(answer)
        return 0
    members = ", ".join(one_line(one) for one in texts_at(answer, "members"))
    print(f"the tables on {one_line(text_at(answer, 'server'))} are up to date")
    print(f"next, on a machine of each member ({members}): memoryd device add --database DSN")
    return 0


def add(arguments: Arguments) -> int:
    params: dict[str, object] = {"cwd": project_of(arguments)}
    given = {
        "code": typed_or_asked(arguments.what, "code: "),
        "name": arguments.name,
        "dsn": arguments.database,
        "start_over": arguments.start_over,
    }
    answer = call(
        "device/add", params | {key: value for key, value in given.items() if value}, SLOW_SECONDS
    )
    if arguments.database:
        remember_address(arguments.database)
    if value_at(config.text_now(), "sync.private") is not True:
        config.write(*config.changed(Arguments(key="sync.private", value="true")))
    if arguments.json:
        print_json(answer)
        return 0
    name, server = one_line(text_at(answer, "name")), one_line(text_at(answer, "server"))
    if is_true_at(answer, "is_new"):
        print(f"this machine is {name}; what it remembers is on {server}, sealed")
    synced = answer.get("sync")
    if isinstance(synced, dict):
        print_sync(synced)
    if code := text_at(answer, "code"):
        minutes = number_at(answer, "expires_seconds") / 60
        print("on the other machine, in a clone of your project:")
        print(paint(f"  memoryd device add {one_line(code)} --database {server}", "bold"))
        print(f"the code works once, for {minutes:.0f} minutes; keep it to yourself")
    return 0


def sync(arguments: Arguments) -> int:
    answer = call("device/sync", {"cwd": project_of(arguments)}, SLOW_SECONDS)
    if arguments.json:
        print_json(answer)
    else:
        print_sync(answer)
    return 0


def print_sync(answer: Json) -> None:
    print_counts(answer)
    for name in texts_at(answer, "conflicts"):
        file = one_line(name)
        print(f"  changed on two machines, the newer one stays: {file}; both are in its history")
    print_left(answer)


def print_left(answer: Json) -> None:
    for one in objects_at(answer, "refused"):
        print(f"  not taken: {one_line(text_at(one, 'name'))}: {one_line(text_at(one, 'reason'))}")
    for one in objects_at(answer, "skipped"):
        print(f"  not sent: {one_line(text_at(one, 'name'))}: {one_line(text_at(one, 'reason'))}")
    waiting = answer.get("waiting")
    for project, count in waiting.items() if isinstance(waiting, dict) else ():
        why = f"project {one_line(str(project))} is not on this machine yet"
        print(f"  waiting on the server: {counted(count, 'file')} ({why})")


def revoke(arguments: Arguments) -> int:
    answer = call("device/revoke", {"name": arguments.what}, SLOW_SECONDS)
    if arguments.json:
        print_json(answer)
        return 0
    left = ", ".join(one_line(one) for one in texts_at(answer, "devices"))
    gone = one_line(text_at(answer, "revoked"))
    print(f"{gone} is revoked; everything has a new key, which only these have: {left}")
    print("if it is in other hands, change the password of your login to the database too")
    return 0


def project(arguments: Arguments) -> int:
    answer = call("device/project", {"cwd": project_of(arguments), "name": arguments.what})
    if arguments.json:
        print_json(answer)
        return 0
    root, name = one_line(text_at(answer, "root")), one_line(text_at(answer, "project"))
    print(f"{root} is {name} on all your machines; give it the same name there")
    return 0


def show_list(arguments: Arguments) -> int:
    answer = call("device/list", {})
    if arguments.json:
        print_json(answer)
        return 0
    if not is_true_at(answer, "is_added"):
        print("this machine has not been added yet")
        print(paint("  memoryd device add --database postgresql://USER@HOST/DATABASE", "bold"))
        return 0
    rows = [
        (
            text_at(one, "name"),
            when_of(text_at(one, "added")),
            "this one" if is_true_at(one, "is_this") else "",
        )
        for one in objects_at(answer, "devices")
    ]
    for line in table(rows, ("MACHINE", "ADDED", "")):
        print(line)
    if not is_true_at(answer, "is_on"):
        print("  syncing is off: memoryd config set sync.private true, then restart the daemon")
        return 0
    print(f"  {state_of(answer)}")
    print(f"  {counted(number_at(answer, 'rows'), 'sealed row')} on the server")
    if unsent := number_at(answer, "unsent"):
        print(f"  {counted(unsent, 'change')} to send")
    for warning in texts_at(answer, "warnings"):
        print(wrapped(f"  warning: {one_line(warning)}"))
    print_left(answer)
    for root in texts_at(answer, "nameless"):
        why = f"{one_line(root)} has no git remote"
        print(f"  not synced: {why}; name it: memoryd device project NAME")
    for root in texts_at(answer, "copies"):
        print(f"  not synced, since the project is here already: {one_line(root)}")
    for one in objects_at(answer, "conflicts"):
        print(f"  {lost_line(one)}")
    return 0


def lost_line(one: Json) -> str:
    file, number = one_line(text_at(one, "file")), number_at(one, "version")
    when, other = when_of(text_at(one, "at")), one_line(text_at(one, "author"))
    how = f"memoryd restore {file} {number:.0f}" if number else f"memoryd history {file}"
    return f"{when}: {file} was changed here and on {other}; the newer one stays, the other: {how}"


DO = {
    "list": show_list,
    "init": init,
    "add": add,
    "revoke": revoke,
    "sync": sync,
    "project": project,
}


def add_commands(commands: Commands) -> None:
    command = commands.add(
        "device",
        device,
        "keep your memories the same on all your machines, sealed, through a database",
        example="memoryd device add --database postgresql://alice@db.example.com/memories",
    )
    command.add_argument(
        "action",
        metavar="ACTION",
        nargs="?",
        choices=ACTIONS,
        help="one of %(choices)s (default: list)",
    )
    command.add_argument(
        "what",
        metavar="NAME",
        nargs="?",
        help="for add: the code that another machine printed, or - to be asked for it; for revoke:"
        " a machine; for project: what this project is called on all your machines",
    )
    command.add_argument("--name", metavar="NAME", help="for add: what this machine is called")
    command.add_argument(
        "--database",
        metavar="DSN",
        help="for add and init: the address of the database, without a password (default:"
        " team.dsn)",
    )
    command.add_argument(
        "--member",
        metavar="ROLE",
        action="append",
        help="for init: this login may keep its machines in step there; may be given several times",
    )
    command.add_argument(
        "--start-over",
        action="store_true",
        help="for add: give up what your lost machines had there, and begin with this one",
    )
    add_project(command)
    add_json(command)
