"""The command `recall`: what is remembered about a question, and why these memories."""

from memoryd_client.cli.commands import JSON, PROJECT, Argument, Arguments, Command, project_of
from memoryd_client.cli.render import one_line, paint, print_json, printable, wrapped
from memoryd_client.connection.answers import (
    Json,
    Memory,
    number_at,
    object_at,
    objects_at,
    text_at,
)
from memoryd_client.connection.call import call

WAIT_SECONDS = 30.0


def recall(arguments: Arguments) -> int:
    """Print the memories that fit, best first."""
    params: dict[str, object] = {
        "query": " ".join(arguments.query),
        "cwd": project_of(arguments),
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
    told = f"{count or 'no'} {'memory fits' if count == 1 else 'memories fit'}"
    took = f"{number_at(answer, 'elapsed_ms'):.1f} ms, {text_at(answer, 'selector')}"
    print(paint(f"{told} ({took})", "dim"))
    if arguments.why:
        for one in objects_at(answer, "left_out"):
            print(f"left out by the {text_at(one, 'budget')} budget: {text_at(one, 'path')}")
    return 0


def print_memory(one: Json, reason: Json | None) -> None:
    memory = Memory.read(one)
    about = ", ".join(filter(None, (memory.type, memory.scope, memory.age)))
    print(f"{paint(one_line(memory.name), 'bold')}  {paint(about, 'dim')}")
    print(paint(one_line(memory.path), "dim"))
    for line in printable(text_at(one, "content")).rstrip("\n").splitlines():
        print(f"  {line}")
    if memory.stale:
        print(wrapped("  (older than a day: check it before you rely on it)"))
    if reason is not None:
        print(paint(f"  why: {why_of(one, reason)}", "dim"))
    print()


def why_of(one: Json, reason: Json) -> str:
    """Which words counted how much, and how much the meaning."""
    terms = object_at(reason, "terms")
    strongest = sorted(terms, key=lambda term: -number_at(terms, term))
    words = ", ".join(f"{one_line(term)} {number_at(terms, term):.2f}" for term in strongest)
    meaning = f"meaning {number_at(reason, 'meaning'):.2f}"
    return f"score {number_at(one, 'score'):.2f} = words ({words or 'none'}) + {meaning}"


COMMANDS = (
    Command(
        "recall",
        "show what is remembered about a question",
        'memoryd recall "how do we deploy?" --why',
        recall,
        (
            Argument(("query",), "the question, in your own words", "QUERY", is_repeated=True),
            Argument(("--why",), "which words and how much meaning matched", is_switch=True),
            Argument(("--limit",), "how many at the most", "N", is_number=True),
            Argument(("--as-of",), "what was believed at a date (2026-03-30)", "DATE"),
            PROJECT,
            JSON,
        ),
    ),
)
