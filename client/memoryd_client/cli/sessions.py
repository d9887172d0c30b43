"""The commands about transcripts: sessions, and the import of old ones."""

import sys
import time
from datetime import datetime

from memoryd_client.cli.commands import (
    JSON,
    PROJECT,
    Argument,
    Arguments,
    Command,
    answer_to,
    project_of,
)
from memoryd_client.cli.render import Colour, columns, one_line, paint, print_json, printable, table
from memoryd_client.connection.answers import (
    Json,
    is_true_at,
    number_at,
    object_at,
    objects_at,
    text_at,
)
from memoryd_client.connection.call import Conversation, call
from memoryd_client.connection.failures import LocalFailure, UsageError

LONG_SECONDS = 600.0  # a first look into years of transcripts takes its time
ID_CHARACTERS = 8
BAR_CHARACTERS = 30
INTERRUPTED = 130
SPEAKERS: dict[str, tuple[str, Colour]] = {
    "prompt": ("you", "cyan"),
    "assistant": ("assistant", "green"),
    "notice": ("notice", "dim"),
    "printed": ("printed", "dim"),
    "interrupt": ("interrupted", "yellow"),
    "api_error": ("error", "red"),
}


def sessions(arguments: Arguments) -> int:
    """List the sessions of a project, or print one of them."""
    if arguments.deed == "show":
        if not arguments.session:
            raise UsageError("memoryd sessions show needs a session; memoryd sessions lists them")
        return show(arguments)
    if arguments.deed:
        raise UsageError(f"there is no memoryd sessions {arguments.deed}; did you mean show?")
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
    turns, tokens = number_at(session, "turns"), number_at(session, "context_tokens")
    return (
        text_at(session, "session_id")[:ID_CHARACTERS],
        moment(text_at(session, "last_activity")),
        counted(turns, "turn"),
        f"{short(tokens)} tokens",
        text_at(session, "git_branch") or "-",
        text_at(session, "first_prompt"),
    )


def show(arguments: Arguments) -> int:
    """Print a session as a person reads it."""
    answer = call("session/show", {"session_id": arguments.session}, LONG_SECONDS)
    if arguments.json:
        print_json(answer)
        return 0
    branch = text_at(answer, "git_branch")
    where = one_line(text_at(answer, "cwd")) + (f", branch {one_line(branch)}" if branch else "")
    print(paint(f"session {text_at(answer, 'session_id')}", "bold"))
    print(paint(f"{moment(text_at(answer, 'started'))} in {where}", "dim"))
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
    print(f"\n{paint(name, colour)} {paint(moment(at), 'dim')}")
    for line in printable(text).rstrip("\n").splitlines():
        print(f"  {line}".rstrip())


def import_old(arguments: Arguments) -> int:
    """Say what an import of old sessions takes, ask, and follow it to its end."""
    if arguments.retry_parked:
        answer = call("queue/retry")
        if arguments.json:
            print_json(answer)
            return 0
        print(f"{number_at(answer, 'retried'):.0f} turns that had been set aside are tried again")
        return 0
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


def counted(count: float, thing: str) -> str:
    return f"{count:.0f} {thing}{'' if count == 1 else 's'}"


def estimate_words(estimate: Json) -> str:
    turns, usd = number_at(estimate, "turns"), number_at(estimate, "usd")
    since = moment(text_at(estimate, "since"))
    if not turns:
        return f"No turn since {since} is left to import."
    resumed = "An earlier import goes on. " if is_true_at(estimate, "resumes") else ""
    return (
        f"{resumed}{counted(turns, 'turn')}"
        f" in {counted(number_at(estimate, 'sessions'), 'session')}"
        f" since {since}: about {short(number_at(estimate, 'tokens'))} tokens,"
        f" at most ${usd:.2f} with {one_line(text_at(estimate, 'model'))}"
        " (nothing without a key for it)."
    )


def agrees(arguments: Arguments) -> bool:
    """Asks the person at the terminal; nobody there means that nobody can say yes."""
    if arguments.json or not sys.stdin.isatty():
        raise UsageError("nobody is there to ask", "say --yes to import")
    return answer_to("Import them? [y/N] ", "n") in {"y", "yes"}


def follow(params: Json, arguments: Arguments) -> int:
    """Starts the import and shows it until it ends; an interrupt stops it in good order."""
    kinds = ["import/progress", "import/finished"]
    with Conversation(time.monotonic() + LONG_SECONDS) as talk:
        talk.ask("events/subscribe", {"kinds": kinds})
        call("import/start", params, LONG_SECONDS)
        talk.wait_for_ever()
        progress = Progress(is_quiet=arguments.json)
        try:
            for message in talk.messages():
                event = object_at(message, "params")
                if text_at(event, "kind") == "import/progress":
                    progress.show(event)
                elif text_at(event, "kind") == "import/finished":
                    progress.end()
                    return conclude(event, arguments)
        except KeyboardInterrupt:
            progress.end()
            call("import/stop")
            print(f"stopped; what was imported stays. {again(arguments)}", file=sys.stderr)
            return INTERRUPTED
    raise LocalFailure("the daemon ended during the import", again(arguments))


def conclude(event: Json, arguments: Arguments) -> int:
    turns, is_complete = number_at(event, "turns"), is_true_at(event, "complete")
    if arguments.json:
        print_json(event)
    elif is_complete:
        print(f"{turns:.0f} turns are queued; memoryd status shows how they are worked on")
    else:
        print(f"{turns:.0f} turns were imported, then it was stopped. {again(arguments)}")
    return 0 if is_complete else 1


def again(arguments: Arguments) -> str:
    project = f" --project {arguments.project}" if arguments.project else ""
    return f"To go on: memoryd import --since {arguments.since}{project}"


class Progress:
    """A bar that moves on a terminal; elsewhere a line for every tenth."""

    def __init__(self, *, is_quiet: bool) -> None:
        self._is_quiet = is_quiet
        self._is_bar = columns() is not None
        self._tenth = -1

    def show(self, event: Json) -> None:
        done, total = number_at(event, "files_done"), number_at(event, "files_total")
        share = done / total if total else 1.0
        words = f"{done:.0f} of {total:.0f} sessions, {number_at(event, 'turns'):.0f} turns"
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


def moment(text: str) -> str:
    """When something was, by the clock of whoever reads it."""
    try:
        return f"{datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M}"
    except ValueError:
        return ""


def short(number: float) -> str:
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return f"{number:.0f}"


COMMANDS = (
    Command(
        "sessions",
        "list the sessions of this project, or print one of them",
        "memoryd sessions show 2e368284",
        sessions,
        (
            Argument(("deed",), "show: print one session", "show", is_optional=True),
            Argument(("session",), "its id, or the beginning of it", "ID", is_optional=True),
            Argument(("--limit",), "how many to list", "N", default=20, is_number=True),
            PROJECT,
            JSON,
        ),
    ),
    Command(
        "import",
        "learn from sessions that were there before memoryd; says first what it costs",
        "memoryd import --since 30d --project .",
        import_old,
        (
            Argument(("--since",), "how far back: 30d, 12h, 8w or a date", "WHEN", default="30d"),
            Argument(("--project",), "only this project (all, if not given)", "PATH"),
            Argument(("--dry-run",), "only say what it would take", is_switch=True),
            Argument(("--yes",), "do not ask", is_switch=True),
            Argument(
                ("--retry-parked",),
                "instead, try again the turns that could not be worked on",
                is_switch=True,
            ),
            JSON,
        ),
    ),
)
