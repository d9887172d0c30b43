"""The commands about the past of a memory: history, and restore."""

from memoryd_client.cli.commands import JSON, PROJECT, Argument, Arguments, Command, project_of
from memoryd_client.cli.dream import print_diff
from memoryd_client.cli.render import one_line, paint, print_json, printable
from memoryd_client.cli.sessions import moment
from memoryd_client.connection.answers import Json, number_at, objects_at, text_at
from memoryd_client.connection.call import call
from memoryd_client.connection.failures import LocalFailure

CAUSES = {
    "extraction": "learnt from a session",
    "dream": "by a dream",
    "user": "as you asked",
    "agent": "by the agent",
    "sync": "from elsewhere",
    "outside": "by an editor or another program",
    "restore": "brought back",
    "refused": "not written: somebody was quicker",
}
DIFFS_SHOWN = 10


def history(arguments: Arguments) -> int:
    """Print the versions of a memory, each with what it changed; or the text of one of them."""
    params = {"cwd": project_of(arguments), "path": arguments.memory}
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
        raise LocalFailure(f"nothing is known of the past of {arguments.memory}")
    texts = texts_of(params, versions[: DIFFS_SHOWN + 1])
    for at, version in enumerate(versions):
        print(paint(one_line(version_words(version)), "bold"))
        if at < DIFFS_SHOWN:
            print_diff(change(texts.get(older_than(versions, at), ""), texts[number_of(version)]))
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
    """The version that this one replaced; what was refused replaced nothing."""
    before = (one for one in versions[at + 1 :] if text_at(one, "cause") != "refused")
    return number_of(next(before, {}))


def number_of(version: Json) -> int:
    return int(number_at(version, "version"))


def version_words(version: Json) -> str:
    cause = text_at(version, "cause")
    removed = "" if text_at(version, "sha256") else "; removed"
    session = f", session {text_at(version, 'session_id')[:8]}" * bool(
        text_at(version, "session_id")
    )
    when = moment(text_at(version, "at"))
    return f"version {number_of(version)}, {when}, {CAUSES.get(cause, cause)}{session}{removed}"


def change(old: str, new: str) -> str:
    import difflib  # noqa: PLC0415 - no other command pays for it

    lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=2))
    return "\n".join(lines[2:])


def restore(arguments: Arguments) -> int:
    """Make an earlier version the present one; the present one stays in the history."""
    params: dict[str, object] = {"cwd": project_of(arguments), "path": arguments.memory}
    if arguments.version is not None:
        params["version"] = arguments.version
    answer = call("memory/restore", params)
    if arguments.json:
        print_json(answer)
    else:
        path, version = one_line(text_at(answer, "path")), number_at(answer, "version")
        print(f"restored {path}, now version {version:.0f}")
    return 0


MEMORY = Argument(("memory",), "a file name as `memoryd list` shows it, or a path", "NAME")

COMMANDS = (
    Command(
        "history",
        "show what a memory said before, and who changed it",
        "memoryd history feedback_use_tabs.md --version 12",
        history,
        (
            MEMORY,
            Argument(("--version",), "print the whole text of this one", "N", is_number=True),
            PROJECT,
            JSON,
        ),
    ),
    Command(
        "restore",
        "bring back an earlier version, a forgotten memory or a retired one",
        "memoryd restore feedback_use_tabs.md 12",
        restore,
        (
            MEMORY,
            Argument(
                ("version",),
                "the version (the one before, if not given)",
                "VERSION",
                is_number=True,
                is_optional=True,
            ),
            PROJECT,
            JSON,
        ),
    ),
)
