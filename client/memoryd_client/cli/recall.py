"""The command `recall`: which memories match a question, and why."""

from memoryd_client.cli.commands import (
    Arguments,
    Commands,
    add_agent,
    add_as_of,
    add_json,
    add_project,
    project_of,
    whole_number,
    whose,
)
from memoryd_client.cli.naming import title_of
from memoryd_client.cli.render import one_line, paint, print_json, printable, table, wrapped
from memoryd_client.connection.answers import (
    Json,
    is_true_at,
    number_at,
    object_at,
    objects_at,
    text_at,
)
from memoryd_client.connection.call import call
from memoryd_client.connection.failures import LocalFailure
from memoryd_client.connection.memory_header import Memory

WAIT_SECONDS = 30.0
STATS_HEADING = ("FILE", "GIVEN", "USED", "AGAINST", "SILENT", "")


def recall(arguments: Arguments) -> int:
    """Prints the memories that match, best first."""
    if arguments.stats:
        return stats(arguments)
    if not arguments.query:
        raise LocalFailure(
            "there is no question", 'for example: memoryd recall "how do we deploy?"'
        )
    params: dict[str, object] = {
        "query": " ".join(arguments.query),
        **whose(arguments),
    }
    if arguments.limit is not None:
        params["limit"] = arguments.limit
    if arguments.as_of:
        params["as_of"] = arguments.as_of
    answer = call("recall", params, WAIT_SECONDS)
    if arguments.json:
        print_json(answer)
        return 0
    reasons = {text_at(one, "path"): one for one in objects_at(answer, "why")}
    for one in objects_at(answer, "memories"):
        print_memory(one, reasons.get(text_at(one, "path")) if arguments.why else None)
    count = len(list(objects_at(answer, "memories")))
    matches = f"{count or 'no'} {'memory matches' if count == 1 else 'memories match'}"
    took = f"{number_at(answer, 'elapsed_ms'):.1f} ms, {text_at(answer, 'selector')}"
    print(paint(f"{matches} ({took})", "dim"))
    if arguments.why:
        for one in objects_at(answer, "left_out"):
            print(f"left out by the {text_at(one, 'budget')} limit: {text_at(one, 'path')}")
    return 0


def stats(arguments: Arguments) -> int:
    """Prints how often each memory was given, and what the transcripts then show of it."""
    answer = call("recall/stats", {"cwd": project_of(arguments)})
    if arguments.json:
        print_json(answer)
        return 0
    found = list(objects_at(answer, "memories"))
    if not found:
        print("no memory was given to a session yet")
        return 0
    for line in table([stats_row(one) for one in found], STATS_HEADING):
        print(line)
    print(paint("used, against: the answer or a tool call shows it; silent: nothing shows", "dim"))
    return 0


def stats_row(one: Json) -> tuple[str, ...]:
    counts = (f"{number_at(one, key):.0f}" for key in ("given", "used", "contradicted", "silent"))
    held_back = "no longer injected unasked" if is_true_at(one, "is_held_back") else ""
    return one_line(text_at(one, "path").rpartition("/")[2]), *counts, held_back


def print_memory(one: Json, reason: Json | None) -> None:
    memory = Memory.read(one)
    about = [f"{memory.type} memory" * bool(memory.type), f"{memory.scope} scope", memory.age]
    title = one_line(title_of(memory.name, memory.description))
    print(f"{paint(title, 'bold')}  {paint(', '.join(filter(None, about)), 'dim')}")
    print(paint(one_line(memory.path), "dim"))
    for line in printable(text_at(one, "content")).rstrip("\n").splitlines():
        print(f"  {line}")
    if memory.stale:
        print(wrapped("  (older than a day: check it before you rely on it)"))
    if reason is not None:
        print(paint(f"  why: {why_of(one, reason)}", "dim"))
    print()


def why_of(one: Json, reason: Json) -> str:
    """How much each word counted, and how much the meaning."""
    terms = object_at(reason, "terms")
    strongest = sorted(terms, key=lambda term: -number_at(terms, term))
    words = ", ".join(f"{one_line(term)} {number_at(terms, term):.2f}" for term in strongest)
    meaning = f"meaning {number_at(reason, 'meaning'):.2f}"
    return f"score {number_at(one, 'score'):.2f} = words ({words or 'none'}) + {meaning}"


def add_commands(commands: Commands) -> None:
    command = commands.add(
        "recall",
        recall,
        "show what is remembered about a question",
        example='memoryd recall "how do we deploy?" --why',
    )
    command.add_argument("query", metavar="QUERY", nargs="*", help="the question, in your words")
    command.add_argument(
        "--stats", action="store_true", help="show how often each memory was given and used"
    )
    command.add_argument(
        "--why", action="store_true", help="show which words and how much meaning matched"
    )
    command.add_argument("--limit", metavar="N", type=whole_number, help="show at most N memories")
    add_as_of(command)
    add_project(command)
    add_agent(command)
    add_json(command)
