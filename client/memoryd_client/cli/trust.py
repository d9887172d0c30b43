"""The command `trust`: a person vouches for memories that nobody is known to have written.

In a terminal, `inbox` asks about each of them, after the statements that wait.
"""

from memoryd_client.cli.commands import (
    Arguments,
    Commands,
    add_agent,
    add_json,
    add_project,
    answer_to,
    whose,
)
from memoryd_client.cli.render import one_line, paint, print_json, table, wrapped
from memoryd_client.connection.answers import Json, objects_at, text_at, texts_at
from memoryd_client.connection.call import call
from memoryd_client.connection.failures import DaemonError, Failure, UsageError

KEYS = "[t]rust, [f]orget, [s]kip, [q]uit? "
HEADING = ("FILE", "SCOPE", "TEXT")


def trust(arguments: Arguments) -> int:
    """Confirms the named memories or all; without either, lists those that wait."""
    if arguments.all and arguments.memories:
        raise UsageError("--all takes no names", "see memoryd trust --help")
    params = {
        **whose(arguments),
        "paths": list(arguments.memories),
        "all": bool(arguments.all),
    }
    answer = call("memory/trust", params)
    if arguments.json:
        print_json(answer)
    elif arguments.all or arguments.memories:
        print_confirmed(answer)
    else:
        print_waiting(answer)
    return 0


def print_confirmed(answer: Json) -> None:
    for one in objects_at(answer, "confirmed"):
        print(f"confirmed {one_line(text_at(one, 'path'))}")
    for path in texts_at(answer, "known"):
        print(f"{one_line(path)} needs no confirmation: it is known who wrote it")
    left = len(list(objects_at(answer, "waiting")))
    if left:
        print(paint(f"{left} still of unknown origin: memoryd trust lists them", "dim"))


def print_waiting(answer: Json) -> None:
    found = list(objects_at(answer, "waiting"))
    rows = [tuple(text_at(one, key) for key in ("file", "scope", "text")) for one in found]
    for line in table(rows, HEADING):
        print(line)
    if not found:
        print(
            "Every memory here is known: you said it, an agent concluded it, or you confirmed it."
        )
        return
    print()
    print(
        wrapped(
            "Nobody is known to have written these: they were here before memoryd, or a program"
            " changed them. Recall serves them with that said. Confirm what is yours with memoryd"
            " trust NAME, or all with memoryd trust --all; remove one with memoryd forget NAME."
        )
    )


def found_in(cwd: str) -> list[Json]:
    """The memories of unknown origin; none from a daemon that cannot tell."""
    try:
        return list(objects_at(call("memory/trust", {"cwd": cwd}), "waiting"))
    except DaemonError:
        return []


def walk_found(cwd: str) -> None:
    """Asks about each memory of unknown origin; what is skipped stays as it is."""
    found = found_in(cwd)
    for number, one in enumerate(found, start=1):
        print(paint(f"{number} of {len(found)} of unknown origin", "dim"))
        print(paint(one_line(text_at(one, "text")), "bold"))
        print(paint(f"  {text_at(one, 'scope')}: {one_line(text_at(one, 'file'))}", "dim"))
        print()
        if not ask_about(one, cwd):
            return
        print()


def ask_about(one: Json, cwd: str) -> bool:
    """Carries out what the person types; false to stop."""
    path = text_at(one, "path")
    while True:
        key = answer_to(KEYS, "s")[:1]
        if key in {"q", "n"}:
            return False
        try:
            if key == "t":
                print_confirmed(call("memory/trust", {"cwd": cwd, "paths": [path]}))
            elif key == "f":
                call("memory/forget", {"cwd": cwd, "path": path})
                print(f"forgot {one_line(path)}")
            if key in {"t", "f", "s"}:
                return True
        except Failure as failure:
            print(one_line(failure.message))
            print(f"  {one_line(failure.hint)}")


def add_commands(commands: Commands) -> None:
    command = commands.add(
        "trust",
        trust,
        "confirm memories of unknown origin, or list them",
        example="memoryd trust feedback_use_tabs_makefiles.md",
    )
    command.add_argument(
        "memories", metavar="MEMORY", nargs="*", help="a path, file name or title; none lists them"
    )
    command.add_argument(
        "--all", action="store_true", help="confirm all of this project's and your own"
    )
    add_project(command)
    add_agent(command)
    add_json(command)
