"""What a purge takes out of the state, table by table."""

from memoryd.api.purge.tables import PurgedMemory, StatePurge
from memoryd.devices.device_table import AGREED
from memoryd.memories.rules.traces import Traces
from memoryd.system.database import Database
from memoryd.team.team_table import LostChange, TeamTable

FOLDER = "/home/alice/.claude/projects/shop/memory"


def test_no_change_that_lost_keeps_the_name_of_a_purged_memory(database: Database) -> None:
    table = TeamTable(database)
    of_machines, of_team = AGREED, f"{FOLDER}/team"
    for folder in (of_machines, of_team, "/elsewhere/team"):
        for file in ("project_secret.md", "project_other.md"):
            table.note_lost(folder, LostChange(file, 1.0, "desk", 1))
    files = ("project_secret.md",)
    StatePurge(database).purge(PurgedMemory(FOLDER, files, Traces((), files)))
    for folder in (of_machines, of_team):
        assert [one.entry for one in table.lost_changes(folder)] == ["project_other.md"]
    assert len(table.lost_changes("/elsewhere/team")) == 2
