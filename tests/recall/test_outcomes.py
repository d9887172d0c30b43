"""What a turn shows of a memory that was injected at its prompt."""

from pathlib import Path

import pytest

from memoryd.recall.outcome_table import OutcomeCounts, OutcomeTable
from memoryd.recall.rules.outcomes import SILENT_TIMES, outcome_of
from memoryd.recall.rules.tool_rules import ToolCall
from memoryd.system.database import Database

HOST = "Staging runs on host zebra-7."
PNPM = "Use pnpm, never npm, in the web client."


@pytest.mark.parametrize(
    ("content", "prompt", "answer", "command", "outcome"),
    [
        (HOST, "where is staging?", "It is on zebra-7.", "", "used"),
        (HOST, "where is staging?", "", "ssh zebra-7 uptime", "used"),
        (HOST, "is zebra-7 up?", "zebra-7 answers.", "", "silent"),
        (HOST, "fix the login", "Done.", "pytest -q", "silent"),
        (PNPM, "add zod", "Added.", "npm install zod", "contradicted"),
        (
            "Deploys wait for the standup of the team.",
            "when?",
            "After the team standup, deploys go.",
            "",
            "used",
        ),
    ],
)
def test_an_outcome_is_what_shows(
    content: str, prompt: str, answer: str, command: str, outcome: str
) -> None:
    calls = [ToolCall("Bash", command)] if command else []
    assert outcome_of(content, prompt, answer, calls) == outcome


def test_what_was_never_used_in_ten_turns_sinks_until_it_changes(tmp_path: Path) -> None:
    database = Database.open(str(tmp_path / "state.db"))
    table = OutcomeTable(database)
    for number in range(SILENT_TIMES):
        assert table.never_used() == set()
        table.add("/m/a.md", "silent", float(number))
        table.add("/m/b.md", "silent", float(number))
        table.add("/m/b.md", "used", float(number))
    assert table.never_used() == {"/m/a.md"}
    assert table.counts("/m/b.md") == OutcomeCounts(used=SILENT_TIMES, silent=SILENT_TIMES)
    table.forget("/m/a.md")
    assert table.never_used() == set()
    database.close()
