"""The command `inbox`: statements that may be worth keeping, one key for each decision."""

import sys
from collections.abc import Sequence

from memoryd_client.cli.commands import (
    Arguments,
    Commands,
    add_anyway,
    add_json,
    add_project,
    answer_to,
    project_of,
    whole_number,
)
from memoryd_client.cli.editor import edited
from memoryd_client.cli.render import one_line, paint, print_json, printable, table, wrapped
from memoryd_client.cli.times import parsed_time, short_time
from memoryd_client.cli.trust import found_in, walk_found
from memoryd_client.cli.wording import counted, tilde
from memoryd_client.connection.answers import Json, is_true_at, number_at, objects_at, text_at
from memoryd_client.connection.call import call
from memoryd_client.connection.failures import Failure, LocalFailure, UsageError

ACTIONS = ("list", "show", "accept", "edit", "reject")
HEADING = ("ID", "TYPE", "SAID", "STATEMENT")
WHY = {
    "may-last": "it may hold beyond the task it was said in",
    "secret": "it says little without the secret in it, which is never saved",
    "long-message": "the message is long or shows another voice: it may not be your own words",
    "review": "everything waits for review here",
    "contradicts": "it may contradict what is remembered",
    "agent": "the agent concluded it",
    "imported": "it came with an archive",
    "team": "its author is new to this machine; to accept it takes over all that they share",
}
KEYS = "[a]ccept, [e]dit, [r]eject, [s]kip, [q]uit? "


def inbox(arguments: Arguments) -> int:
    """Lists, shows or decides; without an action, asks about each statement on a terminal."""
    action, ids = arguments.action, arguments.ids
    cwd = None if arguments.everywhere else project_of(arguments)
    if action in {None, "list"} and ids:
        raise UsageError("a list takes no ids", f"to see one: memoryd inbox show {ids[0]}")
    if action in {"show", "edit"} and len(ids) != 1:
        raise UsageError(f"{action} takes one id", "memoryd inbox list shows the ids")
    if arguments.all and (action not in {"accept", "reject"} or ids):
        raise UsageError(
            "--all goes with accept or reject, without ids", "see memoryd inbox --help"
        )
    if action is None and not arguments.json and sys.stdin.isatty() and sys.stdout.isatty():
        return walk(waiting(cwd), cwd)
    match action:
        case None | "list":
            return list_waiting(arguments, cwd)
        case "show":
            return show(arguments, item(ids[0]))
        case "edit":
            return edit(arguments, item(ids[0]))
        case _:
            code = decide(arguments, action, chosen(arguments, cwd))
            if arguments.all and not arguments.json:
                print_questions(waiting(cwd))
            return code


def waiting(cwd: str | None) -> list[Json]:
    return list(objects_at(call("inbox/list", {} if cwd is None else {"cwd": cwd}), "items"))


def item(number: int) -> Json:
    for one in waiting(None):
        if number_at(one, "id") == number:
            return one
    raise LocalFailure(f"{number} is not in the inbox", "memoryd inbox list shows what is")


def chosen(arguments: Arguments, cwd: str | None) -> list[int]:
    if arguments.all:
        # Nobody means to retire memories by keeping statements.
        leaves_out = arguments.action == "accept"
        return [
            int(number_at(one, "id"))
            for one in waiting(cwd)
            if not (leaves_out and is_true_at(one, "retires"))
        ]
    if not arguments.ids:
        raise UsageError(f"{arguments.action} needs ids, or --all", "memoryd inbox list shows them")
    return list(arguments.ids)


def list_waiting(arguments: Arguments, cwd: str | None) -> int:
    answer = call("inbox/list", {} if cwd is None else {"cwd": cwd})
    if arguments.json:
        print_json(answer)
        return 0
    found = list(objects_at(answer, "items"))
    for line in table([row_of(one) for one in found], HEADING):
        print(line)
    if found:
        print()
        print(
            wrapped("Keep one with memoryd inbox accept ID, drop one with memoryd inbox reject ID.")
        )
    else:
        print("The inbox is empty.")
    if cwd is not None:
        print_unknown(cwd)
    return 0


def print_unknown(cwd: str) -> None:
    """That memories of unknown origin wait too."""
    count = len(found_in(cwd))
    if count:
        thing = "memory" if count == 1 else "memories"
        print(wrapped(f"{count} {thing} of unknown origin: memoryd trust lists and confirms them."))


def row_of(one: Json) -> tuple[str, ...]:
    number = str(int(number_at(one, "id")))
    return (number, text_at(one, "type"), said(one), statement_of(one))


def statement_of(one: Json) -> str:
    """What to decide on; of a question about a memory, which one."""
    if not is_true_at(one, "retires"):
        return text_at(one, "text")
    said_so, _, _ = text_at(one, "text").partition("\n\n")
    return f"retire {text_at(one, 'contradicts')}? {said_so}"


def said(one: Json) -> str:
    when = parsed_time(text_at(one, "said"))
    return short_time(when) if when else ""


def show(arguments: Arguments, one: Json) -> int:
    if arguments.json:
        print_json(one)
    else:
        print_item(one)
    return 0


def print_item(one: Json) -> None:
    """The statement, why it waits, and what was said around it."""
    print(paint(printable(text_at(one, "text")), "bold"))
    facts = [
        ("type", text_at(one, "type")),
        ("project", tilde(text_at(one, "project"))),
        ("said", f"{said(one)}, in session {text_at(one, 'session_id')[:8]}"),
        ("waits because", WHY.get(text_at(one, "reason"), text_at(one, "reason"))),
        *(
            ("contradicts", f"{text_at(old, 'file')}: {text_at(old, 'text')}")
            for old in objects_at(one, "against")
        ),
        ("if you accept", "that memory is retired" if is_true_at(one, "retires") else ""),
    ]
    for label, text in facts:
        if text:
            print(paint(f"  {label}: {one_line(text)}", "dim"))
    around = printable(text_at(one, "around")).strip()
    if around and around != text_at(one, "text"):
        print()
        for line in around.splitlines():
            print(f"  | {line}")


def edit(arguments: Arguments, one: Json) -> int:
    before = text_at(one, "text") + "\n"
    number = int(number_at(one, "id"))
    with edited(before) as after:
        if not after.strip():
            hint = f"to drop it: memoryd inbox reject {number}"
            raise LocalFailure("the text is empty; nothing was saved", hint)
        if after.strip() == before.strip():
            answer = call("inbox/accept", {"ids": [number], "anyway": arguments.anyway})
        else:
            changed = {"ids": [number], "text": after, "anyway": arguments.anyway}
            answer = call("inbox/edit", changed)
    return report_kept(arguments, answer)


def decide(arguments: Arguments, action: str, ids: Sequence[int]) -> int:
    if not ids:
        print_json({"kept": []}) if arguments.json else print("There is nothing to decide on.")
        return 0
    if action == "accept":
        params = {"ids": list(ids), "anyway": arguments.anyway}
        return report_kept(arguments, call("inbox/accept", params))
    answer = call("inbox/reject", {"ids": list(ids)})
    if arguments.json:
        print_json(answer)
    else:
        print(f"rejected {counted(number_at(answer, 'rejected'), 'statement')}")
    return 0


def print_questions(items: Sequence[Json]) -> None:
    """Names the questions that --all left out."""
    ids = [str(int(number_at(one, "id"))) for one in items if is_true_at(one, "retires")]
    if ids:
        words = f"These ask whether to retire a memory: memoryd inbox accept {' '.join(ids)}"
        print(wrapped(words))


def report_kept(arguments: Arguments, answer: Json) -> int:
    """Says what was saved, and why each of the others was not; these wait on."""
    refused = list(objects_at(answer, "refused"))
    if arguments.json:
        print_json(answer)
        return int(bool(refused))
    for one in objects_at(answer, "kept"):
        path, is_new = one_line(text_at(one, "path")), is_true_at(one, "is_new")
        if is_true_at(one, "is_retired"):
            print(f"retired to {path}" if is_new else f"already gone: {path}")
        else:
            print(f"{'remembered in' if is_new else 'already remembered in'} {path}")
    for one in refused:
        number, reason = int(number_at(one, "id")), one_line(text_at(one, "reason"))
        print(f"{number}: {reason}", file=sys.stderr)
        print(f"  {one_line(text_at(one, 'hint'))}", file=sys.stderr)
    return int(bool(refused))


def walk(items: Sequence[Json], cwd: str | None) -> int:
    """Asks about each statement in turn, then about memories of unknown origin."""
    if not items:
        print("The inbox is empty.")
    for number, one in enumerate(items, start=1):
        print(paint(f"{number} of {len(items)}", "dim"))
        print_item(one)
        print()
        if not ask_about(one):
            return 0
        print()
    if cwd is not None:
        walk_found(cwd)
    return 0


def ask_about(one: Json) -> bool:
    """Carries out what the person types, and asks again if that fails; false to stop."""
    while True:
        key = answer_to(KEYS, "s")[:1]
        if key in {"q", "n"}:
            return False
        try:
            if key == "s" or carried_out(key, one):
                return True
        except Failure as failure:
            print(one_line(failure.message))
            print(f"  {one_line(failure.hint)}")


def carried_out(key: str, one: Json) -> bool:
    """Does what a key stands for; false if it stands for nothing."""
    ids = [int(number_at(one, "id"))]
    quiet = Arguments(json=False, action="", anyway=False)
    match key:
        case "a":
            report_kept(quiet, call("inbox/accept", {"ids": ids}))
        case "e":
            edit(quiet, one)
        case "r":
            call("inbox/reject", {"ids": ids})
            print("rejected")
        case _:
            return False
    return True


def add_commands(commands: Commands) -> None:
    command = commands.add(
        "inbox",
        inbox,
        "decide what to keep of statements that may be worth remembering",
        example="memoryd inbox accept 3 5",
    )
    command.add_argument(
        "action",
        metavar="ACTION",
        nargs="?",
        choices=ACTIONS,
        help="%(choices)s; without one, asks about each on a terminal",
    )
    command.add_argument(
        "ids", metavar="ID", nargs="*", type=whole_number, help="as memoryd inbox list shows them"
    )
    command.add_argument(
        "--all",
        action="store_true",
        help="accept or reject all that wait in this project; a question whether to retire a memory"
        " is accepted only by its id",
    )
    command.add_argument(
        "--everywhere", action="store_true", help="the inbox of every project, not only this one"
    )
    add_anyway(command)
    add_project(command)
    add_json(command)
