"""The hooks as the client runs them, with the payloads that it really sent."""

import json
import signal
import subprocess
import time
import uuid
from pathlib import Path
from typing import Any

import pytest

from memoryd.api.handlers import hooks
from memoryd_client.install import claude_code
from tests.support.running import COMMAND, Daemon, give_way
from tests.support.scripted_model import ScriptedModel, says
from tests.support.session_script import SessionScript

RECORDED = Path(__file__).parents[1] / "data/claude-code/c19_hooks/hooks.json"
SESSION = "5f0c3a52-6f6e-4b6e-9d5c-1d2f3a4b5c6d"


@pytest.fixture
def cwd(tmp_path: Path) -> str:
    folder = tmp_path / "app"
    folder.mkdir()
    return str(folder)


def recorded() -> list[dict[str, Any]]:
    return [one.get("payload", one) for one in json.loads(RECORDED.read_text())]


def run_hook(daemon: Daemon, payload: dict[str, Any]) -> str:
    """What the real hook process prints for a payload; it must always exit 0."""
    done = subprocess.run(
        [*COMMAND, "hook"],
        input=json.dumps(payload).encode(),
        env=daemon.env,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def injected(daemon: Daemon, payload: dict[str, Any]) -> str:
    """The context that a hook adds, asked without the process's deadline."""
    with daemon.peer() as peer:
        stdout = peer.call("hook", **payload)["stdout"]
    if not stdout:
        return ""
    output = json.loads(stdout)["hookSpecificOutput"]
    assert output["hookEventName"] == payload["hook_event_name"]
    return str(output["additionalContext"])


def event(name: str, cwd: str, **more: Any) -> dict[str, Any]:
    return {"hook_event_name": name, "session_id": SESSION, "cwd": cwd} | more


def test_every_recorded_payload_gets_a_valid_answer(shared_daemon: Daemon) -> None:
    payloads = recorded()
    assert len(payloads) > 20
    for payload in payloads:
        with shared_daemon.peer() as peer:
            stdout = peer.call("hook", **payload)["stdout"]
        assert isinstance(stdout, str)
        if payload["hook_event_name"] not in {"SessionStart", "UserPromptSubmit"}:
            assert stdout == ""


@pytest.mark.parametrize("state", ["running", "frozen", "gone"])
def test_no_recorded_payload_can_make_the_process_fail(home: Path, state: str) -> None:
    one_of_each = {one["hook_event_name"]: one for one in recorded()}
    assert set(claude_code.EVENTS) < set(one_of_each)
    daemon = Daemon(home)
    try:
        if state != "gone":
            process = daemon.start().process
            assert process is not None
            process.send_signal(signal.SIGSTOP if state == "frozen" else signal.SIGCONT)
        for name in claude_code.EVENTS:
            said = run_hook(daemon, one_of_each[name])
            if state != "running" or name not in {"SessionStart", "UserPromptSubmit"}:
                assert said == ""
    finally:
        daemon.end()


def test_a_prompt_gets_the_memories_that_fit_once(shared_daemon: Daemon, cwd: str) -> None:
    fact = {"name": "Staging", "description": "where staging is", "type": "reference"}
    with shared_daemon.peer() as peer:
        peer.call("memory/save", cwd=cwd, **fact, body="Staging runs on host zebra-7.")
        peer.call("recall", query="staging host", cwd=cwd)
    prompt = event("UserPromptSubmit", cwd, prompt="which host does staging run on?")
    assert "zebra-7" in injected(shared_daemon, prompt)
    assert injected(shared_daemon, prompt) == ""


def test_the_process_prints_what_the_daemon_says(shared_daemon: Daemon, cwd: str) -> None:
    fact = {"name": "Émile", "description": "who is Émile", "type": "project"}
    with shared_daemon.peer() as peer:
        peer.call("memory/save", cwd=cwd, **fact, body='Émile owns "billing" ✓\nand more.')
        peer.call("recall", query="billing", cwd=cwd)
    prompt = event("UserPromptSubmit", cwd, prompt="who owns billing?", session_id="other")
    said = run_hook(shared_daemon, prompt)
    if said:  # the process may give up after its 220 ms on a busy machine, and then says nothing
        text = json.loads(said)["hookSpecificOutput"]["additionalContext"]
        assert '| Émile owns "billing" ✓\n| and more.' in text
    assert run_hook(shared_daemon, event("Stop", cwd)) == ""


@pytest.mark.parametrize(
    "prompt", ["", "   ", "<task-notification>\n<task-id>x</task-id>", "<command-name>/x"]
)
def test_a_prompt_that_a_machine_wrote_recalls_nothing(
    shared_daemon: Daemon, cwd: str, prompt: str
) -> None:
    assert injected(shared_daemon, event("UserPromptSubmit", cwd, prompt=prompt)) == ""


def test_a_prompt_without_content_asks_neither_ranking_nor_model(home: Path, cwd: str) -> None:
    chosen = says('{"selected_memories": ["user_yes_go.md"]}')
    with ScriptedModel(lambda _: chosen) as model:
        daemon = Daemon(home, ANTHROPIC_API_KEY="made-up", ANTHROPIC_BASE_URL=model.base_url)
        daemon.start()
        try:
            with daemon.peer() as peer:
                memory = {"name": "Yes and go on", "type": "user", "description": "ok, continue"}
                peer.call("memory/save", cwd=cwd, body="Thanks, looks good.", **memory)
                peer.call("recall", query="", cwd=cwd, deadline_ms=60_000)
            before = len(model.requests)
            for prompt in ("ok", "yes", "go on", "continue", "great", "try again", "do it"):
                assert injected(daemon, event("UserPromptSubmit", cwd, prompt=prompt)) == ""
            assert len(model.requests) == before
            asked = "ok, continue with what I said about yes and thanks, it looks good"
            assert injected(daemon, event("UserPromptSubmit", cwd, prompt=asked))
        finally:
            daemon.end()


@pytest.mark.parametrize("name", ["Stop", "SubagentStop", "SessionEnd", "PreCompact", "Unheard"])
def test_all_other_hooks_print_nothing(shared_daemon: Daemon, cwd: str, name: str) -> None:
    more = {"transcript_path": f"{shared_daemon.home}/.claude/projects/-x/{SESSION}.jsonl"}
    assert injected(shared_daemon, event(name, cwd, **more)) == ""


def test_a_broken_payload_prints_nothing(
    shared_daemon: Daemon,
) -> None:
    for payload in ({}, {"hook_event_name": 5}, {"hook_event_name": "SessionStart", "cwd": "rel"}):
        assert run_hook(shared_daemon, payload) == ""


def a_long_session(daemon: Daemon, cwd: str) -> Path:
    script = SessionScript(SESSION, cwd)
    usage = {"cache_read_input_tokens": 20_000, "input_tokens": 1, "output_tokens": 1}
    script.prompt("rewrite the importer")
    script.answer("half of it is done", message={"usage": usage})
    slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in cwd)
    folder = daemon.home / ".claude/projects" / slug
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{SESSION}.jsonl"
    path.write_bytes(script.data)
    notes = folder / SESSION / "session-memory/summary.md"
    notes.parent.mkdir(parents=True)
    notes.write_text("# Session Title\n\nImporter\n\n# Current State\n\nhalf of it is done\n")
    return notes


def test_after_a_compaction_the_session_gets_its_notes_back(
    shared_daemon: Daemon, cwd: str
) -> None:
    a_long_session(shared_daemon, cwd)
    text = injected(shared_daemon, event("SessionStart", cwd, source="compact"))
    assert "Notes of this session" in text
    assert "| half of it is done" in text


def test_the_compactor_gets_the_notes_as_plain_text(shared_daemon: Daemon, cwd: str) -> None:
    a_long_session(shared_daemon, cwd)
    with shared_daemon.peer() as peer:
        stdout = peer.call("hook", **event("PreCompact", cwd, trigger="auto"))["stdout"]
    assert stdout.startswith("Notes of this session so far")
    assert "| half of it is done" in stdout


@pytest.mark.parametrize("source", ["resume", "fork"])
def test_a_resumed_session_has_its_history_and_gets_nothing(
    shared_daemon: Daemon, cwd: str, source: str
) -> None:
    a_long_session(shared_daemon, cwd)
    assert injected(shared_daemon, event("SessionStart", cwd, source=source)) == ""


def test_a_cleared_session_is_not_told_where_the_last_one_stopped(
    shared_daemon: Daemon, cwd: str
) -> None:
    a_long_session(shared_daemon, cwd)
    began = event("SessionStart", cwd, source="clear", session_id="new-one")
    assert "Importer" not in injected(shared_daemon, began)


def test_a_scripted_session_is_not_the_last_one(shared_daemon: Daemon, cwd: str) -> None:
    notes = a_long_session(shared_daemon, cwd)
    transcript = notes.parent.parent.with_suffix(".jsonl")
    marked = transcript.read_bytes().replace(b'{"', b'{"entrypoint":"sdk-cli","', 1)
    transcript.write_bytes(marked)
    began = event("SessionStart", cwd, source="startup", session_id="new-one")
    assert "Importer" not in injected(shared_daemon, began)


def test_a_new_session_is_told_where_the_last_one_stopped(shared_daemon: Daemon, cwd: str) -> None:
    a_long_session(shared_daemon, cwd)
    text = injected(
        shared_daemon, event("SessionStart", cwd, source="startup", session_id="new-one")
    )
    assert "| Importer" in text
    assert "CLAUDE.md" not in text
    own = injected(shared_daemon, event("SessionStart", cwd, source="startup"))
    assert "Importer" not in own


def test_what_the_client_loads_itself_is_not_repeated(shared_daemon: Daemon, cwd: str) -> None:
    (Path(cwd) / "CLAUDE.md").write_text("Never use semicolons.")
    with shared_daemon.peer() as peer:
        fact = {"description": "d", "type": "user", "body": "b"}
        peer.call("memory/save", cwd=cwd, name="In the project", **fact)
        own = peer.call("memory/save", cwd=cwd, name="Of the person", scope="user", **fact)
        text = injected(shared_daemon, event("SessionStart", cwd, source="startup", session_id="n"))
        peer.call("memory/forget", cwd=cwd, path=own["path"])
    assert "semicolons" not in text
    assert "In the project" not in text
    assert "Of the person" in text


def test_memory_that_is_off_says_nothing(shared_daemon: Daemon, cwd: str) -> None:
    a_long_session(shared_daemon, cwd)
    with shared_daemon.peer() as peer:
        peer.call("switch", cwd=cwd, enabled=False)
    assert injected(shared_daemon, event("SessionStart", cwd, source="compact")) == ""


def test_recent_tools_are_read_from_the_end_of_the_transcript(tmp_path: Path) -> None:
    script = SessionScript(SESSION, "/app")
    script.prompt("go")
    for tool in ("Read", "Bash", "Read", "mcp__db__query"):
        call = script.call(tool, {"x": 1})
        script.result(call, "ok")
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"cut off line' + b"x" * 100 + b"\n" + script.data)
    assert list(hooks.tools_at_the_end(str(path))) == ["Read", "Bash", "Read", "mcp__db__query"]
    assert list(hooks.tools_at_the_end(str(tmp_path / "none.jsonl"))) == []


def test_a_text_that_is_too_long_is_cut_at_a_line() -> None:
    text = "\n".join(f"line {number} \U0001f600" for number in range(3000))
    cut = hooks.limited(text)
    assert len(cut.encode("utf-16-le")) // 2 <= 10_000
    assert cut.endswith("did not fit]")
    assert hooks.limited("short") == "short"


def test_what_the_loaded_index_says_whole_is_not_injected(shared_daemon: Daemon, cwd: str) -> None:
    said = {"name": "Staging runs on host okapi-3", "type": "reference"}
    with shared_daemon.peer() as peer:
        peer.call(
            "memory/save",
            cwd=cwd,
            **said,
            description="Staging runs on host okapi-3.",
            body="Staging runs on host okapi-3.",
        )
        peer.call("recall", query="staging host", cwd=cwd)
    prompt = event("UserPromptSubmit", cwd, prompt="which host does staging run on?")
    assert "okapi-3" in injected(shared_daemon, prompt | {"session_id": "without a start"})
    injected(shared_daemon, event("SessionStart", cwd, source="startup", session_id="started"))
    began = event("SessionStart", cwd, source="compact", session_id="started")
    # What the client has loaded is looked up in the background; a compaction starts it again.
    for _ in range(100):
        if not injected(shared_daemon, prompt | {"session_id": "started"}):
            return
        injected(shared_daemon, began)
    pytest.fail("it was injected a hundred times")


def test_a_prompt_that_refuses_memory_gets_none(shared_daemon: Daemon, cwd: str) -> None:
    fact = {"name": "Staging", "description": "where staging is", "type": "reference"}
    with shared_daemon.peer() as peer:
        peer.call("memory/save", cwd=cwd, **fact, body="Staging runs on host zebra-9.")
        peer.call("recall", query="staging host", cwd=cwd)
    asked = "which host does staging run on?"
    refused = event("UserPromptSubmit", cwd, prompt=f"Ignore your memory: {asked}")
    assert injected(shared_daemon, refused) == ""
    assert "zebra-9" in injected(shared_daemon, event("UserPromptSubmit", cwd, prompt=asked))


def test_what_was_extracted_from_a_session_is_not_given_back_to_it(
    shared_daemon: Daemon, cwd: str
) -> None:
    folder = Path(shared_daemon.env["HOME"])
    with shared_daemon.peer() as peer:
        saved = peer.call(
            "memory/save",
            cwd=cwd,
            name="Lint",
            description="linting",
            type="feedback",
            body="Run the linter quokka before every review.",
        )
        path = Path(saved["path"])
        assert folder in path.parents
        path.write_text(
            path.read_text().replace("type: feedback", f"type: feedback\nsource: {SESSION}")
        )
        peer.call("recall", query="linter quokka", cwd=cwd)
    prompt = event("UserPromptSubmit", cwd, prompt="does the linter quokka run before a review?")
    assert injected(shared_daemon, prompt) == ""
    assert "quokka" in injected(shared_daemon, prompt | {"session_id": "another"})


def test_a_rule_is_given_once_when_the_agent_is_about_to_act(
    shared_daemon: Daemon, cwd: str
) -> None:
    with shared_daemon.peer() as peer:
        peer.call(
            "memory/save",
            cwd=cwd,
            name="Run make check before you commit",
            description="Always run make check before you commit.",
            type="feedback",
            body="Always run make check before you commit.",
        )
        peer.call("recall", query="make check", cwd=cwd)
    call = event("PreToolUse", cwd, tool_name="Bash", tool_input={"command": "git commit -m x"})
    assert injected(shared_daemon, call | {"tool_input": {"command": "git status"}}) == ""
    assert injected(shared_daemon, call | {"tool_input": "not an object"}) == ""
    assert "| Always run make check" in injected(shared_daemon, call)
    assert injected(shared_daemon, call) == ""


def test_a_models_choice_that_is_late_comes_with_the_next_hook_and_is_paid_for_once(
    home: Path, cwd: str
) -> None:
    chosen = says('{"selected_memories": ["project_coffee.md"]}')
    with ScriptedModel(lambda _: chosen) as model:
        daemon = Daemon(home, ANTHROPIC_API_KEY="made-up", ANTHROPIC_BASE_URL=model.base_url)
        daemon.start()
        try:
            with daemon.peer() as peer:
                memory = {"name": "Coffee", "type": "project", "description": "the machine"}
                peer.call("memory/save", cwd=cwd, body="Descale it on Mondays.", **memory)
                peer.call("recall", query="", cwd=cwd, deadline_ms=0)
            before = len(model.requests)
            prompt = "what should I know about hot beverages in this office, please?"
            assert "Descale" not in injected(daemon, event("UserPromptSubmit", cwd, prompt=prompt))
            call = event("PreToolUse", cwd, tool_name="Read", tool_input={"file_path": "/x"})
            until = time.monotonic() + 60
            while "| Descale it on Mondays." not in injected(daemon, call):
                assert time.monotonic() < until, "the choice never arrived"
                give_way()
            assert injected(daemon, call) == ""
            assert len(model.requests) == before + 1
        finally:
            daemon.end()


def test_what_a_person_types_to_memoryd_is_saved_as_theirs(shared_daemon: Daemon, cwd: str) -> None:
    typed = "/memoryd:remember Invoices leave the house on Fridays, never before noon."
    told = injected(shared_daemon, event("UserPromptSubmit", cwd, prompt=typed))
    assert "word for word" in told
    with shared_daemon.peer() as peer:
        (memory,) = peer.call("memory/list", cwd=cwd)["memories"]
        content = peer.call("memory/get", cwd=cwd, path=memory["path"])["content"]
    assert memory["file"] in told
    assert "Invoices leave the house on Fridays, never before noon.\n" in content
    assert "trust: user-said" in content
    assert f"source: {SESSION}" in content


def test_a_command_to_memoryd_without_words_saves_nothing(shared_daemon: Daemon, cwd: str) -> None:
    told = injected(shared_daemon, event("UserPromptSubmit", cwd, prompt="/memoryd:remember"))
    assert "saved nothing" in told
    with shared_daemon.peer() as peer:
        assert peer.call("memory/list", cwd=cwd)["memories"] == []


def test_a_typed_dream_starts_and_a_typed_inbox_is_shown(shared_daemon: Daemon, cwd: str) -> None:
    with shared_daemon.peer() as peer:
        fact = {"name": "n", "description": "d", "type": "project", "body": "b"}
        peer.call("memory/save", cwd=cwd, **fact)
    told = injected(shared_daemon, event("UserPromptSubmit", cwd, prompt="/memoryd:dream"))
    assert "started dream" in told
    told = injected(shared_daemon, event("UserPromptSubmit", cwd, prompt="/memoryd:inbox"))
    assert "empty" in told


OVERRIDE = "CLAUDE_COWORK_MEMORY_PATH_OVERRIDE"


def agent_settings(daemon: Daemon, cwd: str) -> dict[str, Any]:
    with daemon.peer() as peer:
        findings = peer.call("health", cwd=cwd)["findings"]
    (found,) = (one for one in findings if one["check"] == "agent settings")
    return dict(found)


def test_a_session_cannot_lead_memories_to_a_folder_that_only_it_names(
    shared_daemon: Daemon, cwd: str, tmp_path: Path
) -> None:
    fact = {"name": "Staging", "description": "where staging is", "type": "reference"}
    started = event("SessionStart", cwd, source="startup")
    run_hook(shared_daemon, started)
    assert agent_settings(shared_daemon, cwd)["verdict"] == "ok"
    env = shared_daemon.env | {OVERRIDE: str(tmp_path / "theirs")}
    subprocess.run(
        [*COMMAND, "hook"], input=json.dumps(started).encode(), env=env, check=True, timeout=60
    )
    found = agent_settings(shared_daemon, cwd)
    assert found["verdict"] == "warn"
    assert f"{OVERRIDE}={tmp_path}/theirs is ignored" in found["reason"]
    with shared_daemon.peer() as peer:
        saved = peer.call("memory/save", cwd=cwd, **fact, body="Staging runs on numbat-5.")["path"]
    assert "theirs" not in saved
    run_hook(shared_daemon, started)
    assert agent_settings(shared_daemon, cwd)["verdict"] == "ok"


def test_a_memory_folder_in_the_users_settings_is_used_and_in_a_repositorys_named(
    daemon: Daemon, cwd: str, tmp_path: Path
) -> None:
    def settings(folder: Path, value: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "settings.json").write_text(json.dumps({"env": {OVERRIDE: value}}))

    settings(Path(cwd) / ".claude", str(tmp_path / "theirs"))
    settings(daemon.home / ".claude", str(tmp_path / "mine"))
    daemon.start()
    fact = {"name": "Staging", "description": "where staging is", "type": "reference"}
    with daemon.peer() as peer:
        saved = peer.call("memory/save", cwd=cwd, **fact, body="Staging runs on numbat-6.")["path"]
        marks = {OVERRIDE: str(tmp_path / "mine")}
        peer.call("hook", **event("SessionStart", cwd, source="startup"), session_env=marks)
    assert saved.startswith(str(tmp_path / "mine"))
    reason = agent_settings(daemon, cwd)["reason"]
    assert f"project settings: {OVERRIDE} is ignored: a repository cannot choose" in reason
    assert "last session" not in reason


def test_a_session_that_switches_memory_off_gets_nothing_and_leaves_nothing(
    shared_daemon: Daemon, cwd: str
) -> None:
    fact = {"name": "Staging", "description": "where staging is", "type": "reference"}
    with shared_daemon.peer() as peer:
        peer.call("memory/save", cwd=cwd, **fact, body="Staging runs on host numbat-4.")
        peer.call("recall", query="staging host", cwd=cwd)
    asked = event("UserPromptSubmit", cwd, prompt="which host does staging run on?")
    own = str(uuid.uuid4())  # an id of its own: the daemon is shared, and takes each turn once
    off = {"session_id": own, "session_env": {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}}
    assert injected(shared_daemon, event("SessionStart", cwd, source="startup") | off) == ""
    assert injected(shared_daemon, asked | off) == ""
    assert "numbat-4" in injected(shared_daemon, asked | {"session_id": "on"})
    script = SessionScript(own, cwd)
    script.prompt("From now on use tabs in every Makefile.")
    script.answer("Understood.")
    slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in cwd)
    folder = shared_daemon.home / ".claude/projects" / slug
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{own}.jsonl"
    path.write_bytes(script.data)
    with shared_daemon.peer() as peer:
        peer.call("turn/ended", session_id=own, transcript_path=str(path))
        until = time.monotonic() + 60
        while "memory off" not in Path(peer.call("status")["log"]).read_text():
            assert time.monotonic() < until
            give_way()
        files = [one["file"] for one in peer.call("memory/list", cwd=cwd)["memories"]]
    assert not any("tabs" in file for file in files)
