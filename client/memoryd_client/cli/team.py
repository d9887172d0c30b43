"""The command `team`: memories that a team shares through its own Postgres database."""

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
from memoryd_client.cli.times import parsed_time, short_time
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

ACTIONS = ("status", "init", "join", "leave", "sync", "share", "unshare", "rm", "log")
TAKES_NAME = frozenset({"share", "unshare", "rm"})
SLOW_SECONDS = 150.0
ADDRESS_PROMPT = "address of the database: "


def team(arguments: Arguments) -> int:
    """Does what was asked for; without that, says how this project stands."""
    action = arguments.action or "status"
    refuse_stray(arguments, action)
    return DO[action](arguments)


def refuse_stray(arguments: Arguments, action: str) -> None:
    if action in TAKES_NAME - {"share"} and not arguments.what:
        raise UsageError(f"memoryd team {action} needs a memory", "memoryd list --scope team")
    if action in {"status", "leave", "sync"} and arguments.what:
        raise UsageError(f"memoryd team {action} takes no name", "see memoryd team --help")
    if (arguments.member or arguments.remove_member) and action != "init":
        raise UsageError("--member and --remove-member go with init", "see memoryd team --help")
    if arguments.undo and action != "rm":
        raise UsageError("--undo goes with rm", "see memoryd team --help")


def identity_of(arguments: Arguments) -> dict[str, object]:
    named = {"name": arguments.name or "", "remote": arguments.remote or ""}
    return {"cwd": project_of(arguments)} | {key: value for key, value in named.items() if value}


def init(arguments: Arguments) -> int:
    params = identity_of(arguments) | {
        "dsn": typed_or_asked(arguments.what, ADDRESS_PROMPT),
        "members": arguments.member or [],
        "leavers": arguments.remove_member or [],
    }
    answer = call("team/init", params, SLOW_SECONDS)
    if arguments.json:
        print_json(answer)
        return 0
    before, version = number_at(answer, "before"), number_at(answer, "version")
    made = "made" if before == 0 else f"brought from version {before:.0f}"
    state = "are up to date" if before == version else f"were {made} (version {version:.0f})"
    print(f"the tables on {one_line(text_at(answer, 'server'))} {state}")
    project = one_line(text_at(answer, "project"))
    if members := texts_at(answer, "members"):
        print(f"members of {project}: {one_line(', '.join(members))}")
    if gone := texts_at(answer, "removed"):
        print(f"no longer members of {project}: {one_line(', '.join(gone))}")
    print("each member now runs, in their clone: memoryd team join DSN")
    return 0


def join(arguments: Arguments) -> int:
    dsn = typed_or_asked(arguments.what, ADDRESS_PROMPT)
    answer = call("team/join", identity_of(arguments) | {"dsn": dsn}, SLOW_SECONDS)
    if dsn:
        remember_address(dsn)
    if arguments.json:
        print_json(answer)
        return 0
    project, server = text_at(answer, "project"), text_at(answer, "server")
    print(f"joined {one_line(project)} on {one_line(server)}")
    if problem := text_at(answer, "problem"):
        print(wrapped(f"The first sync has to wait: {problem}. {text_at(answer, 'hint')}"))
    else:
        synced = answer.get("sync")
        print_sync(synced if isinstance(synced, dict) else {})
    print("share a memory of this project: memoryd team share NAME")
    return 0


def remember_address(dsn: str) -> None:
    """In config.toml, where the daemon finds it when it starts again."""
    if value_at(config.text_now(), "team.dsn") != dsn:
        config.write(*config.changed(Arguments(key="team.dsn", value=dsn)))


def leave(arguments: Arguments) -> int:
    answer = call("team/leave", {"cwd": project_of(arguments)})
    if arguments.json:
        print_json(answer)
        return 0
    project, files = one_line(text_at(answer, "project")), number_at(answer, "files")
    print(f"left {project}; the team's files stay on this machine ({files:.0f})")
    return 0


def sync(arguments: Arguments) -> int:
    answer = call("team/sync", {"cwd": project_of(arguments)}, SLOW_SECONDS)
    if arguments.json:
        print_json(answer)
    else:
        print_sync(answer)
    return 0


def print_sync(answer: Json) -> None:
    print_counts(answer)
    print_lists(answer)


def print_counts(answer: Json) -> None:
    """How much one sync has moved."""
    parts = [
        f"{key} {len(names)}"
        for key in ("pulled", "pushed", "removed")
        if (names := texts_at(answer, key))
    ]
    print(", ".join(parts) or "everything is in step")


def print_lists(answer: Json) -> None:
    """What was left out, each with its reason."""
    for name in texts_at(answer, "conflicts"):
        print(f"  the team's {one_line(name)} won; yours: memoryd history {one_line(name)}")
    for one in objects_at(answer, "skipped"):
        print(f"  not shared: {one_line(text_at(one, 'name'))}: {one_line(text_at(one, 'reason'))}")
    for one in objects_at(answer, "refused"):
        print(f"  not taken: {one_line(text_at(one, 'name'))}: {one_line(text_at(one, 'reason'))}")
    held = list(objects_at(answer, "held"))
    if held:
        authors = ", ".join(sorted({one_line(text_at(one, "reason")) for one in held}))
        count = counted(len(held), "memory", "memories")
        print(f"  waiting for your review: {count} by {authors} (memoryd inbox)")


def share(arguments: Arguments) -> int:
    if not arguments.what:
        return suggest(arguments)
    answer = call("team/share", {"cwd": project_of(arguments), "path": arguments.what})
    undo = f"memoryd team unshare {one_line(arguments.what)}"
    return report_moved(arguments, answer, f"the team has it. Undo: {undo}")


def unshare(arguments: Arguments) -> int:
    answer = call("team/unshare", {"cwd": project_of(arguments), "path": arguments.what})
    return report_moved(arguments, answer, "it is private again, and removed for the team")


def remove(arguments: Arguments) -> int:
    params = {"cwd": project_of(arguments), "path": arguments.what, "undo": arguments.undo}
    answer = call("team/remove", params)
    if arguments.undo:
        return report_moved(arguments, answer, "the team has it again")
    undo = f"memoryd team rm {one_line(text_at(answer, 'path').rpartition('/')[2])} --undo"
    return report_moved(arguments, answer, f"removed for the whole team. Undo: {undo}")


def report_moved(arguments: Arguments, answer: Json, words: str) -> int:
    if arguments.json:
        print_json(answer)
        return 0
    print(f"{one_line(text_at(answer, 'path'))}: {words}")
    if is_true_at(answer, "is_waiting"):
        print("  the server does not know yet; it is told as soon as it can be reached")
    return 0


def suggest(arguments: Arguments) -> int:
    """Private memories that by their type are for the team."""
    answer = call("team/status", {"cwd": project_of(arguments)})
    names = texts_at(answer, "suggested")
    if arguments.json:
        print_json({"suggested": names})
        return 0
    for name in names:
        print(one_line(name))
    words = "Share one with memoryd team share NAME." if names else "Nothing here is for the team."
    print(wrapped(words))
    return 0


def log(arguments: Arguments) -> int:
    params: dict[str, object] = {"cwd": project_of(arguments)}
    if arguments.what:
        params["path"] = arguments.what
    answer = call("team/log", params, SLOW_SECONDS)
    if arguments.json:
        print_json(answer)
        return 0
    rows = [
        (
            when_of(text_at(one, "at")),
            text_at(one, "author"),
            text_at(one, "action"),
            text_at(one, "file"),
        )
        for one in objects_at(answer, "versions")
    ]
    for line in table(rows, ("WHEN", "WHO", "WHAT", "FILE")):
        print(line)
    return 0


def when_of(text: str) -> str:
    when = parsed_time(text)
    return short_time(when) if when else ""


def status(arguments: Arguments) -> int:
    answer = call("team/status", {"cwd": project_of(arguments)})
    if arguments.json:
        print_json(answer)
        return 0
    if not is_true_at(answer, "is_joined"):
        print("this project does not share memories with a team")
        print(paint("  memoryd team join postgresql://USER@HOST/DATABASE", "bold"))
        return 0
    print(f"{one_line(text_at(answer, 'project'))} on {one_line(text_at(answer, 'server'))}")
    print(f"  {state_of(answer)}")
    entries, cap = number_at(answer, "entries"), number_at(answer, "entry_cap")
    print(f"  {entries:.0f} of at most {cap:.0f} entries")
    for warning in texts_at(answer, "warnings"):
        print(wrapped(f"  warning: {one_line(warning)}"))
    waiting = texts_at(answer, "waiting")
    if waiting:
        print(f"  {counted(len(waiting), 'change')} to push")
    for name in texts_at(answer, "removals"):
        print(f"  to be removed for the team: {one_line(name)}")
    for name in texts_at(answer, "left_out"):
        file = one_line(name)
        print(f"  removed on this machine only: {file} (for all: memoryd team rm {file})")
    print_lists({key: answer.get(key) for key in ("skipped", "refused", "held")})
    for one in objects_at(answer, "conflicts"):
        print(f"  {lost_line(one)}")
    if number := len(texts_at(answer, "suggested")):
        count = counted(number, "private memory is", "private memories are")
        print(f"  {count} of a type that teams usually share: memoryd team share lists them")
    return 0


def lost_line(one: Json) -> str:
    file, number = one_line(text_at(one, "file")), number_at(one, "version")
    return (
        f"{when_of(text_at(one, 'at'))}: {one_line(text_at(one, 'author'))} changed {file} too, and"
        f" theirs won; yours: memoryd restore {file} {number:.0f}"
    )


def state_of(answer: Json) -> str:
    if message := text_at(answer, "message"):
        return f"{one_line(message)}; {one_line(text_at(answer, 'hint'))}"
    when = when_of(text_at(answer, "last_sync"))
    if not when:
        return "not synced yet since the daemon started"
    how = "changes of others arrive at once" if is_true_at(answer, "listens") else "by polling"
    return f"synced {when}; {how}"


DO = {
    "status": status,
    "init": init,
    "join": join,
    "leave": leave,
    "sync": sync,
    "share": share,
    "unshare": unshare,
    "rm": remove,
    "log": log,
}


def add_commands(commands: Commands) -> None:
    command = commands.add(
        "team",
        team,
        "share memories of this project with a team, through a Postgres database of its own",
        example="memoryd team join postgresql://alice@db.example.com/memories",
    )
    command.add_argument(
        "action",
        metavar="ACTION",
        nargs="?",
        choices=ACTIONS,
        help="one of %(choices)s (default: status)",
    )
    command.add_argument(
        "what",
        metavar="MEMORY",
        nargs="?",
        help="a memory; for init and join the address of the database without its password, or -"
        " to read it from standard input",
    )
    command.add_argument("--name", metavar="NAME", help="what the team calls this project")
    command.add_argument("--remote", metavar="NAME", help="the git remote that names this project")
    command.add_argument(
        "--member",
        metavar="ROLE",
        action="append",
        help="for init: this login belongs to the project; may be given several times",
    )
    command.add_argument(
        "--remove-member",
        metavar="ROLE",
        action="append",
        help="for init: this login no longer belongs to it",
    )
    command.add_argument("--undo", action="store_true", help="for rm: bring a memory back")
    add_project(command)
    add_json(command)
