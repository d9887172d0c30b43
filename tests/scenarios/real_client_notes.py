"""Session notes inside the real Claude Code: in long turns, at compactions, in later sessions.

Part of `make test-client`; as in `real_client`, everything happens without a network.
"""

import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from memoryd.sessions.rules import notes
from tests.scenarios.real_client import (
    INSIDE,
    WAIT_SECONDS,
    a_home,
    as_asked,
    ask,
    in_a_namespace_of_its_own,
)
from tests.support.running import Daemon
from tests.support.scripted_model import Call, ScriptedModel, SeenRequest, asks, says

TASK = "Look at every part of the parser, one after the other."
NOTES = notes.render([notes.NotesSection(title, f"on {title}") for title, _ in notes.SECTIONS])
CALLS = 6
TOKENS_EACH = 4_000
FOR_THE_COMPACTOR = "Notes of this session so far"
STOPPED_HERE = "The last session in this project"


def main() -> int:
    claude = os.environ.get("CLAUDE") or shutil.which("claude")
    if claude is None:
        print("no claude command: npm install @anthropic-ai/claude-code, or set CLAUDE to its path")
        return 1
    if os.environ.get(INSIDE) != "1":
        return in_a_namespace_of_its_own("tests.scenarios.real_client_notes")
    with a_home() as (home, project), ScriptedModel(lambda _: says(NOTES)) as writer:
        key = {"ANTHROPIC_API_KEY": "made-up", "ANTHROPIC_BASE_URL": writer.base_url}
        daemon = Daemon(home, **key).start()
        try:
            assert daemon.run("install", "--hooks", "claude-code").returncode == 0
            play(Path(claude), home, project, writer)
        finally:
            daemon.end()
    return 0


def play(claude: Path, home: Path, project: Path, writer: ScriptedModel) -> None:
    held: list[str] = []
    with ScriptedModel(works_long(home, held)) as model:
        ask(claude, home, project, model, TASK, "--allowedTools", "Bash(echo:*)")
    assert held, "the turn ended before its notes were there"
    assert any(TASK in json.dumps(request.body) for request in writer.requests)
    print("a model wrote the notes while the turn was running")
    with ScriptedModel(answers) as model:
        ask(claude, home, project, model, "/compact", "--continue")
        told = [json.dumps(request.body) for request in model.requests]
    assert any(FOR_THE_COMPACTOR in body for body in told), "the compactor was not given the notes"
    print("the compactor was given the notes")
    for option in ("--continue", "--fork-session"):
        words = ("--continue", option) if option != "--continue" else (option,)
        with ScriptedModel(answers) as model:
            ask(claude, home, project, model, "Go on.", *words)
            told = [json.dumps(request.body) for request in model.requests]
        assert not any(STOPPED_HERE in body for body in told), option
    print("a continued or forked session is not told what its history holds")


def works_long(home: Path, held: list[str]) -> Any:
    """A model that calls a tool several times, and waits for notes before its last words."""

    def reply(request: SeenRequest) -> Any:
        results = json.dumps(request.body["messages"]).count('"tool_result"')
        has_tools = any(one.get("name") == "Bash" for one in request.body.get("tools", ()))
        used = TOKENS_EACH * (results + 1)
        if not has_tools:
            return as_asked(request, says("A parser."))
        if results < CALLS:
            call = Call("Bash", {"command": f"echo part {results}"})
            return as_asked(request, asks(call, input_tokens=used))
        held.extend(wait_for_notes(home))
        return as_asked(request, says("All of it was looked at.", input_tokens=used))

    return reply


def wait_for_notes(home: Path) -> list[str]:
    until = time.monotonic() + WAIT_SECONDS / 2
    while not (found := list(home.glob(".claude/projects/*/*/session-memory/summary.md"))):
        if time.monotonic() > until:
            return []
    return [path.read_text() for path in found]


def answers(request: SeenRequest) -> Any:
    return as_asked(request, says("Understood."))


if __name__ == "__main__":
    sys.exit(main())
