"""The commands about transcripts: list and show sessions, and import old ones."""

import sys
from collections.abc import Iterator

from memoryd_client.cli.commands import (
    INTERRUPTED,
    Arguments,
    Commands,
    add_json,
    add_project,
    answer_to,
    project_of,
    whole_number,
)
from memoryd_client.cli.render import Colour, columns, one_line, paint, print_json, printable, table
from memoryd_client.cli.times import date_and_time
from memoryd_client.cli.wording import abbreviated, counted
from memoryd_client.connection.answers import (
    Json,
    is_true_at,
    number_at,
    objects_at,
    text_at,
)
from memoryd_client.connection.call import call, subscription
from memoryd_client.connection.failures import LocalFailure, UsageError

LONG_SECONDS = 600.0  # the first look at years of transcripts takes a while
ID_CHARACTERS = 8
BAR_CHARACTERS = 30
SPEAKERS: dict[str, tuple[str, Colour]] = {
    "prompt": ("you", "cyan"),
    "assistant": ("assistant", "green"),
    "notice": ("notice", "dim"),
    "printed": ("printed", "dim"),
    "interrupt": ("interrupted", "yellow"),
    "api_error": ("error", "red"),
}


def sessions(arguments: Arguments) -> int:
    """Lists the sessions of a project, or prints one of them."""
    if arguments.action == "show":
        if not arguments.session:
            raise UsageError("memoryd sessions show needs a session", "list them: memoryd sessions")
        return show(arguments)
    params = {"cwd": project_of(arguments), "limit": arguments.limit}
    answer = call("session/list", params, LONG_SECONDS)
    if arguments.json:
        print_json(answer)
        return 0
    rows = [row_of(session) for session in objects_at(answer, "sessions")]
    for line in table(rows):
        print(line)
    if not rows:
        print("No sessions here yet.")
    return 0


def row_of(session: Json) -> tuple[str, ...]:
    return (
        text_at(session, "session_id")[:ID_CHARACTERS],
        date_and_time(text_at(session, "last_activity")),
        counted(number_at(session, "turns"), "turn"),
        f"{abbreviated(number_at(session, 'context_tokens'))} tokens",
        text_at(session, "git_branch") or "-",
        text_at(session, "first_prompt"),
    )


def show(arguments: Arguments) -> int:
    """Prints a session for a person to read."""
    answer = call("session/show", {"session_id": arguments.session}, LONG_SECONDS)
    if arguments.json:
        print_json(answer)
        return 0
    branch = text_at(answer, "git_branch")
    where = one_line(text_at(answer, "cwd")) + (f", branch {one_line(branch)}" if branch else "")
    print(paint(f"session {text_at(answer, 'session_id')}", "bold"))
    print(paint(f"{date_and_time(text_at(answer, 'started'))} in {where}", "dim"))
    if left_out := number_at(answer, "parts_left_out"):
        print(paint(f"(the {left_out:.0f} oldest parts are left out)", "dim"))
    for part in objects_at(answer, "parts"):
        print_part(text_at(part, "kind"), text_at(part, "text"), text_at(part, "at"))
    return 0


def print_part(kind: str, text: str, at: str) -> None:
    if kind == "tools":
        for call_line in text.splitlines():
            print(paint(f"  * {one_line(call_line)}", "dim"))
        return
    if kind == "compaction":
        print(paint(f"\n--- compacted ({one_line(text) or 'unknown cause'}) ---", "yellow"))
        return
    name, colour = SPEAKERS.get(kind, (kind, "dim"))
    print(f"\n{paint(name, colour)} {paint(date_and_time(at), 'dim')}")
    for line in printable(text).rstrip("\n").splitlines():
        print(f"  {line}".rstrip())


def import_old(arguments: Arguments) -> int:
    """Prints what an import of old sessions costs, asks, and follows it until it ends."""
    if arguments.retry_parked:
        return retry_parked(arguments)
    params = {"since": arguments.since}
    if arguments.project:
        params["cwd"] = project_of(arguments)
    estimate = call("import/start", {**params, "dry_run": True}, LONG_SECONDS)
    if arguments.json and arguments.dry_run:
        print_json(estimate)
        return 0
    print(estimate_words(estimate), file=sys.stderr if arguments.json else sys.stdout)
    if arguments.dry_run:
        return 0
    if not number_at(estimate, "turns"):
        if arguments.json:
            print_json(estimate)
        return 0
    if not arguments.yes and not agrees(arguments):
        raise LocalFailure("nothing was imported")
    return follow(params, arguments)


def retry_parked(arguments: Arguments) -> int:
    answer = call("queue/retry")
    if arguments.json:
        print_json(answer)
    else:
        print(f"trying {counted(number_at(answer, 'retried'), 'parked turn')} again")
    return 0


def estimate_words(estimate: Json) -> str:
    turns, usd = number_at(estimate, "turns"), number_at(estimate, "usd")
    since = date_and_time(text_at(estimate, "since"))
    if not turns:
        return f"There is nothing to import since {since}."
    resumed = "Continues an earlier import. " if is_true_at(estimate, "resumes") else ""
    return (
        f"{resumed}{counted(turns, 'turn')}"
        f" in {counted(number_at(estimate, 'sessions'), 'session')}"
        f" since {since}: about {abbreviated(number_at(estimate, 'tokens'))} tokens,"
        f" at most ${usd:.2f} with {one_line(text_at(estimate, 'model'))}"
        " (free without a key)."
    )


def agrees(arguments: Arguments) -> bool:
    """Asks the person at the terminal; raises UsageError when there is none."""
    if arguments.json or not sys.stdin.isatty():
        raise UsageError("cannot ask: standard input is not a terminal", "add --yes to import")
    return answer_to("Import them? [y/N] ", "n") in {"y", "yes"}


def follow(params: Json, arguments: Arguments) -> int:
    """Starts the import and shows it until it ends; Ctrl-C stops it cleanly."""
    with subscription(("import/progress", "import/finished")) as events:
        call("import/start", params, LONG_SECONDS)
        progress = ProgressBar(is_quiet=arguments.json)
        try:
            finished = last_event(events, progress)
        except KeyboardInterrupt:
            progress.end()
            call("import/stop")
            print(f"stopped; imported turns are kept. {to_continue(arguments)}", file=sys.stderr)
            return INTERRUPTED
    if finished is None:
        raise LocalFailure("the daemon stopped during the import", to_continue(arguments))
    progress.end()
    return conclude(finished, arguments)


def last_event(events: Iterator[Json], progress: "ProgressBar") -> Json | None:
    """The event that ends the import, with every step shown; None when the daemon goes away."""
    for event in events:
        if text_at(event, "kind") == "import/finished":
            return event
        progress.show(event)
    return None


def conclude(event: Json, arguments: Arguments) -> int:
    turns, is_complete = counted(number_at(event, "turns"), "turn"), is_true_at(event, "complete")
    if arguments.json:
        print_json(event)
    elif is_complete:
        print(f"{turns} queued; memoryd status shows the progress")
    else:
        print(f"{turns} imported before it was stopped. {to_continue(arguments)}")
    return 0 if is_complete else 1


def to_continue(arguments: Arguments) -> str:
    project = f" --project {arguments.project}" if arguments.project else ""
    return f"To continue: memoryd import --since {arguments.since}{project}"


class ProgressBar:
    """A bar that moves on a terminal; in a pipe, a line for every tenth."""

    def __init__(self, *, is_quiet: bool) -> None:
        self._is_quiet = is_quiet
        self._is_bar = columns() is not None
        self._tenth = -1

    def show(self, event: Json) -> None:
        done, total = number_at(event, "files_done"), number_at(event, "files_total")
        share = done / total if total else 1.0
        words = f"{done:.0f} of {total:.0f} sessions, {counted(number_at(event, 'turns'), 'turn')}"
        if self._is_quiet:
            return
        if self._is_bar:
            bar = "#" * round(share * BAR_CHARACTERS)
            print(f"\r[{bar:<{BAR_CHARACTERS}}] {words}", end="", flush=True)
        elif int(share * 10) > self._tenth:
            print(words, flush=True)
        self._tenth = max(self._tenth, int(share * 10))

    def end(self) -> None:
        if self._is_bar and self._tenth >= 0 and not self._is_quiet:
            print()


def add_commands(commands: Commands) -> None:
    listing = commands.add(
        "sessions",
        sessions,
        "list the sessions of this project, or print one of them",
        example="memoryd sessions show 2e368284",
    )
    listing.add_argument(
        "action", metavar="ACTION", nargs="?", choices=("show",), help="show: print one session"
    )
    listing.add_argument(
        "session", metavar="ID", nargs="?", help="the session's id, or the start of it"
    )
    listing.add_argument(
        "--limit",
        metavar="N",
        type=whole_number,
        default=20,
        help="how many to list (default: %(default)s)",
    )
    add_project(listing)
    add_json(listing)

    importing = commands.add(
        "import",
        import_old,
        "learn from sessions older than memoryd; prints the cost first",
        example="memoryd import --since 30d --project .",
    )
    importing.add_argument(
        "--since",
        metavar="WHEN",
        default="30d",
        help="how far back: 30d, 12h, 8w or a date (default: %(default)s)",
    )
    importing.add_argument(
        "--project", metavar="DIR", help="only this project (default: all projects)"
    )
    importing.add_argument("--dry-run", action="store_true", help="only print what it would cost")
    importing.add_argument("--yes", action="store_true", help="do not ask")
    importing.add_argument(
        "--retry-parked",
        action="store_true",
        help="instead, try parked turns again: those that failed too often",
    )
    add_json(importing)
