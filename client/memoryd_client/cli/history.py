"""The commands about earlier versions of a memory: history and restore."""

from memoryd_client.cli.commands import (
    Arguments,
    Commands,
    add_agent,
    add_json,
    add_memory,
    add_project,
    whole_number,
    whose,
)
from memoryd_client.cli.render import one_line, paint, print_diff, print_json, printable
from memoryd_client.cli.times import date_and_time
from memoryd_client.cli.wording import cause_words
from memoryd_client.connection.answers import Json, number_at, objects_at, text_at
from memoryd_client.connection.call import call
from memoryd_client.connection.failures import LocalFailure

DIFFS_SHOWN = 10


def history(arguments: Arguments) -> int:
    """Prints the versions of a memory, each with what it changed; or the text of one version."""
    params = {**whose(arguments), "path": arguments.memory}
    if arguments.version is not None:
        answer = call("memory/history", params | {"version": arguments.version})
        if arguments.json:
            print_json(answer)
        else:
            print(printable(text_at(answer, "content")).rstrip("\n"))
        return 0
    answer = call("memory/history", params)
    if arguments.json:
        print_json(answer)
        return 0
    versions = list(objects_at(answer, "versions"))
    if not versions:
        raise LocalFailure(f"{arguments.memory} has no earlier versions")
    texts = texts_of(params, versions[: DIFFS_SHOWN + 1])
    for at, version in enumerate(versions):
        print(paint(one_line(version_words(version)), "bold"))
        if at < DIFFS_SHOWN:
            print_diff(diff(texts.get(older_than(versions, at), ""), texts[number_of(version)]))
            print()
    return 0


def texts_of(params: Json, versions: list[Json]) -> dict[int, str]:
    """The texts of these versions; a removal has none."""
    return {
        number_of(version): text_at(
            call("memory/history", {**params, "version": number_of(version)}), "content"
        )
        if text_at(version, "sha256")
        else ""
        for version in versions
    }


def older_than(versions: list[Json], at: int) -> int:
    """The version that this one replaced; a refused write replaced nothing."""
    before = (one for one in versions[at + 1 :] if text_at(one, "cause") != "refused")
    return number_of(next(before, {}))


def number_of(version: Json) -> int:
    return int(number_at(version, "version"))


def version_words(version: Json) -> str:
    cause, session = cause_words(text_at(version, "cause")), text_at(version, "session_id")
    removed = "" if text_at(version, "sha256") else "; removed"
    from_session = f", session {session[:8]}" if session else ""
    when = date_and_time(text_at(version, "at"))
    return f"version {number_of(version)}, {when}, {cause}{from_session}{removed}"


def diff(old: str, new: str) -> str:
    import difflib  # noqa: PLC0415 - only this command needs it

    lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=2))
    return "\n".join(lines[2:])


def restore(arguments: Arguments) -> int:
    """Makes an earlier version the current one; the current one stays in the history."""
    params: dict[str, object] = {**whose(arguments), "path": arguments.memory}
    if arguments.version is not None:
        params["version"] = arguments.version
    answer = call("memory/restore", params)
    if arguments.json:
        print_json(answer)
    else:
        path, version = one_line(text_at(answer, "path")), number_at(answer, "version")
        print(f"restored {path}, now version {version:.0f}")
    return 0


def add_commands(commands: Commands) -> None:
    reading = commands.add(
        "history",
        history,
        "show the versions of a memory, and who changed it",
        example="memoryd history feedback_use_tabs.md --version 2",
    )
    add_memory(reading)
    reading.add_argument(
        "--version", metavar="N", type=whole_number, help="print the whole text of this version"
    )
    add_project(reading)
    add_agent(reading)
    add_json(reading)

    restoring = commands.add(
        "restore",
        restore,
        "bring back an earlier version, a forgotten memory or a retired one",
        example="memoryd restore feedback_use_tabs.md 2",
    )
    add_memory(restoring)
    restoring.add_argument(
        "version",
        metavar="VERSION",
        nargs="?",
        type=whole_number,
        help="the version (default: the one before)",
    )
    add_project(restoring)
    add_agent(restoring)
    add_json(restoring)
