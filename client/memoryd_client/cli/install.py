"""The commands that set memoryd up on this system and remove it again.

Each part has a flag in both commands. Without a flag they go step by step: each part is explained,
asked about, done and checked. The plugin is offered where the client knows plugins; who takes it is
not asked about hooks and server, which it brings along. A part that is off by default is only done
when a person says yes to it or names it: --yes leaves it out.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from memoryd_client.cli.commands import Arguments, Commands, Parser, add_json, answer_to
from memoryd_client.cli.install_parts import Part, parts_to_install, parts_to_remove
from memoryd_client.cli.render import one_line, paint, print_json, wrapped
from memoryd_client.connection.answers import items_at
from memoryd_client.connection.call import call
from memoryd_client.connection.failures import Failure, LocalFailure, UsageError, as_json
from memoryd_client.connection.locations import Locations, locations
from memoryd_client.doctor import fixes

if TYPE_CHECKING:
    from memoryd_client.install.service import Report

YES_WORDS = {"y", "yes"}
# Where they make no sense, nobody needs to hear of them.
OPTIONAL = {"plugin", "permissions", "statusline", "model"}
REVIEWER_QUESTION = (
    "sentences that may be worth remembering wait until somebody decides. That can be you, with"
    " memoryd inbox, or the agent: at the start of a session it is then shown up to five of them"
    " (about 300 tokens) and keeps or drops each."
)


def install(arguments: Arguments) -> int:
    """Installs the named parts; without a name, all of them step by step."""
    from memoryd_client.install import footprint  # noqa: PLC0415 - only install and uninstall need it

    places = locations()
    missing = footprint.missing_folders(places)
    try:
        code = run_parts(arguments, parts_to_install(places, arguments))
    finally:
        footprint.record(places, missing)
    if not (arguments.json or arguments.yes or named_parts(arguments)):
        ask_who_reviews(places)
    if not arguments.json:
        if not named_parts(arguments):
            offer_trust()
        print(wrapped(daemon_words()))
    return code


def daemon_words() -> str:
    """Whether a daemon runs: without one, everything else that was installed does nothing."""
    try:
        process = call("ping", timeout_seconds=5).get("pid")
    except Failure:
        return "No daemon is running yet. Start it with memoryd serve, then look with memoryd"
    return f"memoryd is running, as process {process}. Look at it with memoryd, or memoryd doctor"


def offer_trust() -> None:
    """Says once how to confirm what was there before; nothing if no daemon runs yet."""
    try:
        answer = call("memory/trust", {"cwd": os.getcwd()})  # noqa: PTH109 - text in, text out
    except (Failure, OSError):
        return
    count = len(items_at(answer, "waiting"))
    if count:
        print(
            wrapped(
                f"{count} of the memories here are of unknown origin: they are served with that"
                " said. If they are yours, confirm them all with: memoryd trust --all"
            )
        )


def ask_who_reviews(places: Locations) -> None:
    """Asks once whether the agent may sort the inbox; only where it could."""
    from memoryd_client.install import claude_code, config_toml, footprint, plugin  # noqa: PLC0415 - likewise

    in_settings = claude_code.has_hooks(places) and claude_code.has_server(places)
    if not (in_settings or plugin.is_installed(places)):
        return
    if config_toml.value_in(places.config, "inbox.reviewer") is not None:
        return
    print(headed("inbox", REVIEWER_QUESTION))
    if answer_to("  May the agent sort them? [y/N] ", "n") not in YES_WORDS:
        print("  They wait for you: memoryd inbox")
        return
    config_toml.change(places.config, {"inbox.reviewer": "agent"})
    print(f"inbox: wrote {one_line(str(places.config))}")
    print(wrapped(footprint.how_it_is_learned(places)))


def uninstall(arguments: Arguments) -> int:
    """Removes the named parts; without a name, all of them."""
    from memoryd_client.install import footprint, launcher  # noqa: PLC0415 - only install and uninstall need it

    places = locations()
    parts = parts_to_remove(places)
    code = run_parts(arguments, parts)
    # Last: these can still remove the rest, should this have been interrupted.
    if not any(part.is_needed() for part in parts if part.name != "state"):
        launcher.remove(places)
    if not any(part.is_needed() for part in parts):
        footprint.tidy(places)
    if not arguments.json and not named_parts(arguments):
        for line in what_stays(places):
            print(wrapped(line))
    return code


def what_stays(places: Locations) -> Iterator[str]:
    """What is left, and how to end it; without the package there is no command for that."""
    from memoryd_client.install import footprint, launcher  # noqa: PLC0415 - likewise

    is_gone = launcher.is_only_the_archive()

    if places.config.exists():
        yield f"Your settings in {one_line(str(places.config))} and your memories stay."
    if footprint.has_state(places):
        yield (
            f"The history, checkpoints and log stay in {one_line(str(places.state))};"
            f" {'remove that folder' if is_gone else 'memoryd uninstall --state removes them'}"
            f"{' if you do not want them' * is_gone}."
        )
    if footprint.is_running(places):
        how = fixes.end(places) if is_gone else "memoryd stop"
        yield f"A daemon still runs that was started by hand; {how} ends it."


def named_parts(arguments: Arguments) -> list[str]:
    known = ("service", "plugin", "hooks", "mcp", "permissions", "statusline", "model", "state")
    return [name for name in known if getattr(arguments, name, None)]


def run_parts(arguments: Arguments, parts: Sequence[Part]) -> int:
    """Runs each named part and prints a report.

    With none named, each part is explained, asked about unless --yes, and checked afterwards; one
    that fails does not stop the others, and one that is not possible here is no failure.
    """
    named = named_parts(arguments)
    with_state = "state" in named
    if arguments.yes and named == ["state"]:
        named = []
    asks = not named and not arguments.yes
    if asks and (arguments.json or not sys.stdin.isatty()):
        flags = ", ".join(part.flag for part in parts)
        raise UsageError(
            "cannot ask: standard input is not a terminal",
            f"name the parts ({flags}), or add --yes for all of them",
        )
    progress = Progress()
    for part in parts:
        is_due = part.name in named
        if not named:
            is_safe = asks or with_state or not part.is_off_by_default
            is_due = part.unless not in progress.done and is_safe
            is_due = is_due and is_wanted(part, progress, arguments, asks=asks)
        if is_due:
            do_part(part, progress, arguments, is_named=bool(named))
    if arguments.json:
        print_json(progress.reports)
    return int(progress.has_failed)


class Progress:
    """What became of the parts so far."""

    def __init__(self) -> None:
        self.reports: dict[str, object] = {}
        self.done: set[str] = set()
        self.has_failed = False


def do_part(part: Part, progress: Progress, arguments: Arguments, *, is_named: bool) -> None:
    """Does a part and reports it; one that nobody named may fail without stopping the others."""
    try:
        report = run_part(part, is_checked=not is_named)
    except Failure as failure:
        if is_named:
            raise
        progress.has_failed = True
        progress.reports[part.name] = as_json(failure)
        print(f"{part.name}: {one_line(failure.message)}", file=sys.stderr)
        print(f"  {one_line(failure.hint)}", file=sys.stderr)
        return
    progress.done.add(part.name)
    progress.reports[part.name] = report_json(report)
    if not arguments.json:
        print_report(part.name, report)


def is_wanted(part: Part, progress: Progress, arguments: Arguments, *, asks: bool) -> bool:
    """Whether a part that nobody named makes sense here and, if people are asked, is agreed to."""
    if not part.is_needed():
        if asks and part.name not in OPTIONAL:
            print(headed(part.name, "nothing to do"))
        return False
    if obstacle := part.obstacle():
        progress.reports[part.name] = {"not_possible": obstacle}
        if not arguments.json:
            print(headed(part.name, f"not possible here, {obstacle}"))
        return False
    return agreed(part) if asks else True


def headed(name: str, text: str) -> str:
    """A paragraph that begins with a name."""
    return wrapped(f"{name}: {text}", 2).replace(name, paint(name, "bold"), 1)


def agreed(part: Part) -> bool:
    """Explains what would change, and asks."""
    print(headed(part.name, part.purpose))
    print(f"  {wrapped(one_line(part.change), 2)}")
    choices, default = ("y/N", "n") if part.is_off_by_default else ("Y/n", "y")
    return answer_to(f"  Proceed? [{choices}] ", default) in YES_WORDS


def run_part(part: Part, *, is_checked: bool) -> "Report":
    try:
        report = part.run()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise LocalFailure(
            f"{error.filename or part.name}: {reason}", "fix that, then try again"
        ) from error
    if is_checked and part.check is not None:
        report = report._replace(notes=[*report.notes, f"checked: {part.check()}"])
    return report


def report_json(report: "Report") -> dict[str, object]:
    return {
        "written": [str(path) for path in report.written],
        "removed": [str(path) for path in report.removed],
        "fences": [fence._asdict() for fence in report.fences],
        "notes": list(report.notes),
    }


def print_report(part: str, report: "Report") -> None:
    for path in report.written:
        print(f"{part}: wrote {one_line(str(path))}")
    for path in report.removed:
        entries = "memoryd's entries from " if path.suffix == ".json" else ""
        print(f"{part}: removed {entries}{one_line(str(path))}")
    for fence in report.fences:
        verdict = paint(fence.verdict.ljust(8), "green" if fence.verdict == "up" else "yellow")
        print(f"{verdict}{fence.name}")
    for note in report.notes:
        print(wrapped(note))
    if part == "service" and report.written:
        print("memoryd starts now and at every login")
    if not (report.written or report.removed or report.notes):
        print(f"{part}: nothing to do")


def add_parts(command: Parser) -> None:
    command.add_argument("--service", action="store_true", help="the service of systemd or launchd")
    command.add_argument(
        "--hooks", metavar="AGENT", choices=("claude-code",), help="the hooks of %(choices)s"
    )
    command.add_argument("--mcp", action="store_true", help="the MCP server of Claude Code")
    command.add_argument(
        "--model",
        metavar="PROVIDER",
        choices=("claude-code",),
        help="%(choices)s: your own client as the model (its terms: memoryd manual models)",
    )
    command.add_argument(
        "--permissions", action="store_true", help="memoryd's read-only tools need no permission"
    )
    command.add_argument(
        "--statusline", action="store_true", help="memoryd in the status line of Claude Code"
    )
    command.add_argument(
        "--plugin",
        action="store_true",
        help="the plugin of Claude Code: hooks, MCP server and commands in one",
    )


def add_commands(commands: Commands) -> None:
    installing = commands.add(
        "install",
        install,
        "set memoryd up on this system, step by step or the parts you name",
        example="memoryd install --hooks claude-code --mcp",
        needs_daemon=False,
    )
    add_parts(installing)
    installing.add_argument(
        "--yes", action="store_true", help="all parts but the model, without asking"
    )
    installing.add_argument(
        "--writable",
        metavar="DIR",
        action="append",
        help="a folder outside ~/.claude that the service may write to, such as projects with"
        " agent memory; can be repeated",
    )
    add_json(installing)

    removing = commands.add(
        "uninstall",
        uninstall,
        "remove memoryd from this system; memories stay",
        example="memoryd uninstall --yes",
        needs_daemon=False,
    )
    add_parts(removing)
    removing.add_argument(
        "--state",
        action="store_true",
        help="earlier versions of memories, checkpoints, the record of spending, and the log",
    )
    removing.add_argument(
        "--yes", action="store_true", help="all parts, without asking; the state only with --state"
    )
    add_json(removing)
