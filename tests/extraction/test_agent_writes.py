"""What the agent saved itself: seen however it was written, and compared statement by statement."""

from typing import Any

import pytest

from memoryd.extraction.rules.agent_writes import is_saved, saved_by_agent, writes_into
from memoryd.transcripts.rules.assembler import living_history, read_entries
from memoryd.transcripts.rules.turns import Turn
from tests.support.session_script import SessionScript

MEMORY = "/home/dev/.claude/projects/-home-dev-work-app/memory"
NOTE = "Deploys run on Thursdays."


def turn_with(tool: str, given: Any, output: str = "ok", *, is_error: bool = False) -> Turn:
    script = SessionScript()
    script.prompt("remember it")
    script.result(script.call(tool, given), output, is_error=is_error)
    script.answer("Done.")
    (turn,) = living_history(read_entries([script.data]))
    assert isinstance(turn, Turn)
    return turn


@pytest.mark.parametrize(
    ("written", "inside"),
    [
        (f"{MEMORY}/feedback_tabs.md", ["feedback_tabs.md"]),
        (f"{MEMORY}/sub/../x.md", ["x.md"]),
        (f"{MEMORY}/sub/x.md", ["sub/x.md"]),
        (f"{MEMORY}/../notes.md", []),
        (f"{MEMORY}2/x.md", []),
        ("src/app.py", []),
        (f"../../../..{MEMORY}/x.md", ["x.md"]),
    ],
)
def test_a_file_written_into_the_folder_is_a_memory(written: str, inside: list[str]) -> None:
    turn = turn_with("Write", {"file_path": written, "content": NOTE})
    assert [write.file for write in writes_into(MEMORY, turn)] == inside
    assert [write.text for write in writes_into(MEMORY, turn)] == [NOTE] * len(inside)


def test_edits_count_by_what_they_put_in() -> None:
    path = f"{MEMORY}/a.md"
    edit = turn_with("Edit", {"file_path": path, "old_string": "Fridays", "new_string": NOTE})
    assert [write.text for write in writes_into(MEMORY, edit)] == [NOTE]
    edits = [{"old_string": "a", "new_string": "one"}, {"old_string": "b", "new_string": "two"}]
    many = turn_with("MultiEdit", {"file_path": path, "edits": edits})
    assert [write.text for write in writes_into(MEMORY, many)] == ["one\ntwo"]


@pytest.mark.parametrize(
    ("command", "file"),
    [
        (f"cat > {MEMORY}/a.md <<'EOF'\n{NOTE}\nEOF", "a.md"),
        (f'echo "{NOTE}" >> "{MEMORY}/a.md"', "a.md"),
        (f"echo '{NOTE}' | tee -a {MEMORY}/a.md", "a.md"),
        (f"cp /tmp/a.md {MEMORY}/b.md", "b.md"),
        (f"cp /tmp/a.md {MEMORY}/", "a.md"),
        (f"mv /tmp/a.md {MEMORY} && ls", "a.md"),
        (f"cd {MEMORY} && printf x > a.md", "a.md"),
        ("cat > ~/.claude/projects/-home-dev-work-app/memory/a.md <<EOF\nx\nEOF", "a.md"),
        ('echo x >> "$HOME/.claude/projects/-home-dev-work-app/memory/a.md"', "a.md"),
        (f"M={MEMORY}; echo x > $M/a.md", ""),
        (f"python3 - <<'E'\nopen('{MEMORY}/a.md', 'w').write('x')\nE", ""),
    ],
)
def test_a_shell_command_that_writes_there_counts(command: str, file: str) -> None:
    writes = writes_into(MEMORY, turn_with("Bash", {"command": command}))
    assert [write.file for write in writes] == [file]


@pytest.mark.parametrize(
    "command",
    [
        f"cat {MEMORY}/a.md",
        f"ls {MEMORY} 2>/dev/null",
        f"grep -r tabs {MEMORY} 2>&1 | head",
        "echo x > /tmp/memory/a.md",
        "cp a.md b.md",
        "git commit -m 'a > b'",
    ],
)
def test_a_shell_command_that_only_reads_does_not_count(command: str) -> None:
    assert writes_into(MEMORY, turn_with("Bash", {"command": command})) == []


@pytest.mark.parametrize(
    "tool", ["mcp__memoryd__remember", "mcp__plugin_memoryd_memoryd__remember"]
)
def test_our_own_tool_counts_under_any_name_of_its_server(tool: str) -> None:
    turn = turn_with(tool, {"text": NOTE}, f"Saved as {MEMORY}/project_deploys.md.")
    (write,) = saved_by_agent(turn, [MEMORY])
    assert (write.file, write.text) == ("project_deploys.md", NOTE)


@pytest.mark.parametrize("tool", ["mcp__other__remember", "mcp__memoryd__recall"])
def test_other_tools_do_not(tool: str) -> None:
    assert saved_by_agent(turn_with(tool, {"text": NOTE}), [MEMORY]) == []


def test_a_failed_write_does_not_count() -> None:
    given = {"file_path": f"{MEMORY}/tabs.md", "content": "x"}
    assert saved_by_agent(turn_with("Write", given, "denied", is_error=True), [MEMORY]) == []
    command = {"command": f"echo x > {MEMORY}/a.md"}
    assert saved_by_agent(turn_with("Bash", command, "no space", is_error=True), [MEMORY]) == []


def test_a_statement_is_saved_if_one_place_says_most_of_it() -> None:
    saved = ["# Deploys\n\nThe team deploys on Thursdays with `make ship`."]
    assert is_saved("Remember that we deploy on Thursdays with make ship.", saved)
    assert not is_saved("Remember that staging is rebuilt every night.", saved)
    filler = " ".join(f"word{n}" for n in range(200))
    assert not is_saved("deploy thursdays ship", [f"deploy {filler} thursdays {filler} ship"])
    assert not is_saved("", saved)


def test_the_opposite_of_what_was_written_is_not_saved() -> None:
    assert not is_saved("Never use tabs in Makefiles.", ["Use tabs in Makefiles."])
    assert not is_saved("Always use tabs in Makefiles.", ["Tabs: do not use tabs in Makefiles."])
    assert is_saved("Never use tabs in Makefiles.", ["Makefiles\n\nDo not use tabs in Makefiles."])
