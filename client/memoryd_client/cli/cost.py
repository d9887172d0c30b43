"""The command `cost`: what models have cost, by day, job and project, against the budget."""

import sys
from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from memoryd_client.cli.commands import Arguments, Commands, add_json, whole_number
from memoryd_client.cli.render import one_line, paint, print_json, table, wrapped
from memoryd_client.cli.status import plan_lines, spending_words
from memoryd_client.cli.times import parsed_time, short_time
from memoryd_client.cli.wording import abbreviated, counted, dollars, tilde
from memoryd_client.connection.answers import Json, number_at, object_at, objects_at, text_at
from memoryd_client.connection.call import call

BAR_COLUMNS = 30
DAYS = 30
FILLED_BAR = "\N{FULL BLOCK}"
PLAIN_BAR = "#"


def cost(arguments: Arguments) -> int:
    """Prints what was spent, and on what."""
    answer = call("cost", {"days": arguments.days})
    if arguments.json:
        print_json(answer)
        return 0
    print(wrapped(one_line(summary(answer))))
    if plan := object_at(answer, "plan"):
        for line in plan_lines(plan):
            print(wrapped(one_line(line)))
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
    """Spending against the budget, and when the budget resets."""
    day, month = parsed_time(answer.get("day_resets")), parsed_time(answer.get("month_resets"))
    words = spending_words(object_at(answer, "spending"))
    if not (day and month):
        return words
    resets = f"daily budget resets at {short_time(day)}, monthly at {short_time(month)}"
    return f"{words}; {resets}"


def print_part(title: str, rows: Iterator[Sequence[str]]) -> None:
    print(f"\n{paint(title, 'bold')}")
    for line in table(list(rows)):
        print(line)


def day_rows(days: Sequence[Json], sign: str) -> Iterator[Sequence[str]]:
    """A bar for each day since the first with a cost; the longest is the most expensive day."""
    spent = {text_at(one, "name"): number_at(one, "usd") for one in days}
    most = max(spent.values())
    for day in all_days(spent):
        usd = spent.get(day, 0.0)
        length = round(usd / most * BAR_COLUMNS) if most else 0
        yield day, dollars(usd), sign * (length or bool(usd))


def all_days(spent: dict[str, float]) -> Iterator[str]:
    """Every day from the first to the last; the names as they are when one is not a date."""
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
    """Money, calls and tokens; a call of unknown cost is counted at the most it can have cost."""
    cached = number_at(total, "cache_read_tokens")
    read = cached + number_at(total, "input_tokens") + number_at(total, "cache_write_tokens")
    share = f" ({cached / read:.0%} from the cache)" if read else ""
    output = abbreviated(number_at(total, "output_tokens"))
    unknown = number_at(total, "open_calls")
    calls = counted(number_at(total, "calls"), "call")
    return (
        dollars(number_at(total, "usd")),
        f"{calls} ({unknown:.0f} of unknown cost)" if unknown else calls,
        f"{abbreviated(read)} tokens in{share}, {output} out",
    )


def add_commands(commands: Commands) -> None:
    command = commands.add(
        "cost",
        cost,
        "show what models have cost, by day, job and project",
        example="memoryd cost --days 7",
    )
    command.add_argument(
        "--days",
        metavar="N",
        type=whole_number,
        default=DAYS,
        help="how many days to look back (default: %(default)s)",
    )
    add_json(command)
