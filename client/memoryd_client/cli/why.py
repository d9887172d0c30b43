"""The command `why`: where a memory comes from, what it replaced and how often it was used."""

from collections.abc import Iterator

from memoryd_client.cli.commands import (
    Arguments,
    Commands,
    add_agent,
    add_json,
    add_memory,
    add_project,
    whose,
)
from memoryd_client.cli.render import one_line, paint, print_json, printable
from memoryd_client.cli.times import date_and_time
from memoryd_client.cli.wording import cause_words, counted
from memoryd_client.connection.answers import Json, is_true_at, number_at, text_at, texts_at
from memoryd_client.connection.call import call

TRUST = {
    "user-said": "the person said it",
    "agent-concluded": "the agent concluded it",
    "imported": "it came with an archive, and you took it over",
    "team": "a teammate wrote it",
    "found": "of unknown origin; memoryd trust confirms it",
}


def why(arguments: Arguments) -> int:
    """Prints what is known about where a memory comes from."""
    answer = call("memory/why", {**whose(arguments), "path": arguments.memory})
    if arguments.json:
        print_json(answer)
        return 0
    print(paint(one_line(text_at(answer, "name")), "bold"))
    for label, text in facts_of(answer):
        print(f"  {label.ljust(12)}{one_line(text)}")
    said = printable(text_at(answer, "said")).strip()
    if said:
        print()
        for line in said.splitlines():
            print(f"  | {line}")
    return 0


def facts_of(answer: Json) -> Iterator[tuple[str, str]]:
    """A label and a text for everything that is known."""
    if state := state_words(answer):
        yield "state", f"{state}; bring it back with memoryd restore {name_of(answer)}"
    yield "saved", saved_words(answer)
    if trust := TRUST.get(text_at(answer, "trust")):
        author = text_at(answer, "author")
        yield "trust", f"{trust}: {author}" if author else trust
    if session := text_at(answer, "session_id"):
        yield "session", f"{session}{spoken_at(answer)}"
        if not text_at(answer, "transcript"):
            yield "transcript", "no longer there, so what was said cannot be shown"
    if old := texts_at(answer, "replaces"):
        yield "replaced", ", ".join(one.removeprefix(".retired/") for one in old)
    if new := texts_at(answer, "replaced_by"):
        yield "replaced by", ", ".join(one.removeprefix(".retired/") for one in new)
    if number_at(answer, "versions") > 1:
        yield "versions", versions_words(answer)
    yield "recalled", recalled_words(answer)
    if shown := outcome_words(answer):
        yield "then", shown
    if given := number_at(answer, "rule_given"):
        kept, broken = number_at(answer, "rule_followed"), number_at(answer, "rule_broken")
        yield "as a rule", f"given {counted(given, 'time')}; {kept:.0f} kept, {broken:.0f} broken"


def state_words(answer: Json) -> str:
    if is_true_at(answer, "is_gone"):
        return "forgotten"
    day = text_at(answer, "retired")
    return f"retired on {day}" if day else ""


def name_of(answer: Json) -> str:
    """What a command takes: a retired file is also found without its folder."""
    return text_at(answer, "file").removeprefix(".retired/")


def saved_words(answer: Json) -> str:
    when = date_and_time(text_at(answer, "created"))
    return f"{when or 'at an unknown time'}, {cause_words(text_at(answer, 'cause'))}".rstrip(", ")


def spoken_at(answer: Json) -> str:
    when = date_and_time(text_at(answer, "said_at"))
    return f", said at {when}" if when else ""


def versions_words(answer: Json) -> str:
    last = date_and_time(text_at(answer, "changed"))
    by = cause_words(text_at(answer, "changed_by"))
    count = number_at(answer, "versions")
    return f"{count:.0f}; the last change was on {last}, {by} (memoryd history shows all)"


def recalled_words(answer: Json) -> str:
    times = number_at(answer, "times_recalled")
    if not times:
        return "never yet"
    last, session = date_and_time(text_at(answer, "last_recalled")), text_at(answer, "recalled_in")
    return f"{counted(times, 'time')}, last on {last} in session {session[:8]}"


def outcome_words(answer: Json) -> str:
    """What the transcripts show of it after it was injected."""
    used, against, silent = (number_at(answer, key) for key in ("used", "contradicted", "silent"))
    if not used + against + silent:
        return ""
    return f"used {used:.0f}, contradicted {against:.0f}, nothing shows {silent:.0f}"


def add_commands(commands: Commands) -> None:
    asking = commands.add(
        "why",
        why,
        "say where a memory comes from and how often it was used",
        example="memoryd why feedback_use_tabs_makefiles.md",
    )
    add_memory(asking)
    add_project(asking)
    add_agent(asking)
    add_json(asking)
