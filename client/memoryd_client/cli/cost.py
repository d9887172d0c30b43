"""`memoryd cost`: what models have cost, by day, job and project, and how much is still allowed."""

import sys
from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from memoryd_client.cli.commands import JSON, Argument, Arguments, Command
from memoryd_client.cli.render import one_line, paint, print_json, table, wrapped
from memoryd_client.cli.status import clock, moment_of, spending_words, tilde
from memoryd_client.connection.answers import Json, number_at, object_at, objects_at, text_at
from memoryd_client.connection.call import call

BAR_COLUMNS = 30
DAYS = 30
FILLED_BAR = "\N{FULL BLOCK}"
PLAIN_BAR = "#"


def cost(arguments: Arguments) -> int:
    """Print what was spent, and on what."""
    answer = call("cost", {"days": arguments.days})
    if arguments.json:
        print_json(answer)
        return 0
    print(wrapped(one_line(summary(answer))))
    days = list(objects_at(answer, "days"))
    if not days:
        print(wrapped(f"Nothing was spent in the last {arguments.days} days."))
        return 0
    print_part("by day", day_rows(days, bar_sign()))
    print_part("by job", map(total_row, objects_at(answer, "jobs")))
    print_part("by project", map(project_row, objects_at(answer, "projects")))
    print_part("by model", map(total_row, objects_at(answer, "models")))
    return 0


def summary(answer: Json) -> str:
    """What was spent against the caps, and when they begin anew."""
    day, month = moment_of(answer.get("day_resets")), moment_of(answer.get("month_resets"))
    words = spending_words(object_at(answer, "spending"))
    anew = f"; the day begins anew at {clock(day)}, the month at {clock(month)}"
    return words + (anew if day and month else "")


def print_part(title: str, rows: Iterator[Sequence[str]]) -> None:
    print(f"\n{paint(title, 'bold')}")
    for line in table(list(rows)):
        print(line)


def day_rows(days: Sequence[Json], sign: str) -> Iterator[Sequence[str]]:
    """A bar for each day since the first that cost anything; the longest is the dearest."""
    spent = {text_at(one, "name"): number_at(one, "usd") for one in days}
    most = max(spent.values())
    for day in all_days(spent):
        usd = spent.get(day, 0.0)
        length = round(usd / most * BAR_COLUMNS) if most else 0
        yield day, dollars(usd), sign * (length or bool(usd))


def all_days(spent: dict[str, float]) -> Iterator[str]:
    """Those in between too; a name that is no date is shown for what it is."""
    try:
        first, last = date.fromisoformat(min(spent)), date.fromisoformat(max(spent))
    except ValueError:
        return iter(sorted(spent))
    return ((first + timedelta(n)).isoformat() for n in range((last - first).days + 1))


def bar_sign() -> str:
    encoding = sys.stdout.encoding or "ascii"
    return FILLED_BAR if encoding.lower().replace("-", "") == "utf8" else PLAIN_BAR


def project_row(total: Json) -> Sequence[str]:
    return (tilde(text_at(total, "name")) or "(none)", *figures(total))


def total_row(total: Json) -> Sequence[str]:
    return (text_at(total, "name"), *figures(total))


def figures(total: Json) -> Sequence[str]:
    """Money, calls and tokens; an open call is one whose cost is not known, taken at its worst."""
    cached = number_at(total, "cache_read_tokens")
    read = cached + number_at(total, "input_tokens") + number_at(total, "cache_write_tokens")
    share = f" ({cached / read:.0%} from the cache)" if read else ""
    unknown = number_at(total, "open_calls")
    calls = f"{number_at(total, 'calls'):.0f} calls"
    return (
        dollars(number_at(total, "usd")),
        f"{calls} ({unknown:.0f} of unknown cost)" if unknown else calls,
        f"{tokens(read)} tokens in{share}, {tokens(number_at(total, 'output_tokens'))} out",
    )


def dollars(usd: float) -> str:
    """Cents matter little in sums, and are all there is in a single call."""
    return f"${usd:.2f}" if usd >= 1 else f"${usd:.4f}"


def tokens(count: float) -> str:
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.1f}{unit}"
    return f"{count:.0f}"


COMMANDS = (
    Command(
        "cost",
        "show what models have cost, by day, job and project",
        "memoryd cost --days 7",
        cost,
        (
            Argument(("--days",), "how many days to look back", "N", default=DAYS, is_number=True),
            JSON,
        ),
    ),
)
