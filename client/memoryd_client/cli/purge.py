"""`memoryd forget --purge`: removes a memory for good and prints where it looked for the rest."""

import sys

from memoryd_client.cli.commands import Arguments, answer_to, project_of
from memoryd_client.cli.render import one_line, paint, print_json, table, wrapped
from memoryd_client.connection.answers import (
    Json,
    is_true_at,
    items_at,
    number_at,
    objects_at,
    text_at,
)
from memoryd_client.connection.call import call
from memoryd_client.connection.failures import LocalFailure

HEADING = ("LOOKED IN", "FILES", "REMOVED", "LEFT")
# It rewrites the database and reads every transcript.
PURGE_SECONDS = 600.0


def purge(arguments: Arguments) -> int:
    """Purges one memory; the exit code is 1 if something of ours is left."""
    if not arguments.yes:
        confirm(arguments)
    params = {"cwd": project_of(arguments), "path": arguments.memory}
    answer = call("memory/purge", params, timeout_seconds=PURGE_SECONDS)
    if arguments.json:
        print_json(answer)
    else:
        print_answer(answer)
    return 0 if is_true_at(answer, "gone") else 1


def confirm(arguments: Arguments) -> None:
    name = one_line(arguments.memory)
    if arguments.json or not sys.stdin.isatty():
        raise LocalFailure(
            "a purge cannot be undone, so it has to be confirmed",
            f"memoryd forget --purge --yes {name}",
        )
    print(wrapped(f"{name} goes from its file, history, inbox, notes, checkpoints and logs."))
    if answer_to("Nothing brings it back. Purge it? [y/N] ", "n") not in {"y", "yes"}:
        raise LocalFailure("nothing was purged")


def print_answer(answer: Json) -> None:
    places = list(objects_at(answer, "places"))
    ours = [one for one in places if is_true_at(one, "ours")]
    for line in table([row_of(one) for one in ours], HEADING):
        print(line)
    for one in ours:
        for path in items_at(one, "left"):
            print(paint(f"still in {one_line(str(path))} ({text_at(one, 'place')})", "red"))
    name = one_line(text_at(answer, "path").rpartition("/")[2])
    if is_true_at(answer, "gone"):
        print(wrapped(f"{name} is purged: nothing of it was found in any of these places."))
    others = [(one, path) for one in places if one not in ours for path in items_at(one, "left")]
    if others:
        print(wrapped("The same words are in files that memoryd does not change for you:"))
    for one, path in others:
        print(f"  {one_line(str(path))} ({text_at(one, 'place')})")


def row_of(place: Json) -> tuple[str, ...]:
    counts = (number_at(place, "looked"), number_at(place, "removed"), len(items_at(place, "left")))
    return (text_at(place, "place"), *(f"{count:.0f}" for count in counts))
