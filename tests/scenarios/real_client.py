"""memoryd inside the real Claude Code, end to end: `make test-client`, not part of `make test`.

It needs the client (npm package @anthropic-ai/claude-code; CLAUDE names its command), run in a
clean home against our scripted server on loopback. So that nothing can reach outside, whatever the
client tries, everything happens in a network namespace that has no network but loopback.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from memoryd.base.paths import places, project_memory
from tests.client.test_install import THEIRS
from tests.scenarios.test_launcher import evil_environment
from tests.support.removable import BREAKS, Removable
from tests.support.running import COMMAND, ROOT, Daemon, environment, make_home
from tests.support.scripted_daemon import ScriptedDaemon
from tests.support.scripted_model import (
    Call,
    Message,
    ScriptedModel,
    SeenRequest,
    Stream,
    asks,
    message_json,
    says,
)

FACT = "Remember that we deploy on Tuesdays only, because the customer's change board meets then."
RULE = "Invoices leave the house on Fridays, never before noon."
CANDIDATE = "We use pnpm for everything in the web client."
SORT_INBOX = "mcp__memoryd__sort_inbox"
QUESTION = "On which weekday do we deploy, and why?"
INSIDE = "MEMORYD_TEST_CLIENT_INSIDE"
WAIT_SECONDS = 120
KEY = "made-up-key-of-no-use-anywhere"
EVIL_NAMES = (
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONHOME",
    "PATH",
    "MEMORYD_SOCKET",
    "BASH_ENV",
    "ENV",
)
USAGE = {"input_tokens": 100, "output_tokens": 5}


def main() -> int:
    claude = os.environ.get("CLAUDE") or shutil.which("claude")
    if claude is None:
        print("no claude command: npm install @anthropic-ai/claude-code, or set CLAUDE to its path")
        return 1
    if os.environ.get(INSIDE) != "1":
        return in_a_namespace_of_its_own()
    scenes = (
        the_client_leaves_retired_memories_alone,
        a_memory_reaches_the_next_session,
        the_plugin_does_all_of_it,
        recall_needs_no_permission_once_it_is_given,
        the_agent_sorts_the_inbox,
        a_sub_agent_has_its_memory,
        a_repository_does_not_reach_us,
        the_terminal_shows_the_status_line,
        nothing_that_is_missing_stops_a_prompt,
    )
    wanted = [scene for scene in scenes if os.environ.get("SCENE", "") in scene.__name__]
    for scene in wanted:
        with ScriptedModel(streamed) as model:
            scene(Path(claude), model)
    print("all of it happened")
    return 0


def count_scripts(home: Path) -> None:
    """What is given with `-p` is a script's word by default, and this test cannot type."""
    folder = home / ".config/memoryd"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("[extraction]\nscripted = true\n")


def in_a_namespace_of_its_own(module: str = "tests.scenarios.real_client") -> int:
    """Runs this module again where there is no network but loopback."""
    inner = f"ip link set lo up && exec {sys.executable} -m {module}"
    command = ["unshare", "--map-root-user", "--net", "sh", "-c", inner]
    try:
        return subprocess.run(command, env=os.environ | {INSIDE: "1"}, check=False).returncode
    except FileNotFoundError:
        print("this needs unshare and ip (Linux): the client must not reach the network")
        return 1


def the_client_leaves_retired_memories_alone(claude: Path, model: ScriptedModel) -> None:
    """The client makes a missing MEMORY.md from the files it finds, but not from `.retired/`."""
    with a_home() as (home, project):
        look_for_retired(claude, home, project, model)


def look_for_retired(claude: Path, home: Path, project: Path, model: ScriptedModel) -> None:
    env = environment(home)
    memory = Path(project_memory(places(env, "linux", 0, str(home)), str(project), env, None).path)
    for file in ("current.md", "deeper/nested.md", ".retired/withdrawn.md"):
        path = memory / file
        path.parent.mkdir(parents=True, exist_ok=True)
        header = f"name: {path.stem}\ndescription: of {path.stem}\ntype: project"
        path.write_text(f"---\n{header}\n---\n\nText.\n")
    model.requests.clear()
    ask(claude, home, project, model, QUESTION)
    made = (memory / "MEMORY.md").read_text()
    assert "current" in made
    assert "nested" in made
    assert "withdrawn" not in made
    assert not any("withdrawn" in json.dumps(request.body) for request in model.requests)
    print("the client made MEMORY.md itself; .retired/ is neither in it nor in any request")


@contextmanager
def a_home() -> Iterator[tuple[Path, Path]]:
    """A home with one project in it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        home = make_home(Path(made))
        project = home / "src/app"
        project.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(project)], check=True)
        yield home, project


@contextmanager
def a_daemon(home: Path) -> Iterator[Daemon]:
    daemon = Daemon(home).start()
    try:
        yield daemon
    finally:
        daemon.end()


def a_memory_reaches_the_next_session(claude: Path, model: ScriptedModel) -> None:
    with a_home() as (home, project):
        count_scripts(home)
        with a_daemon(home) as daemon:
            play(claude, home, project, daemon, model)


def the_plugin_does_all_of_it(claude: Path, model: ScriptedModel) -> None:
    for folder in (ROOT, ROOT / "plugin"):
        subprocess.run([claude, "plugin", "validate", "--strict", folder], check=True)
    with a_home() as (home, project), a_daemon(home) as daemon:
        daemon.env["PATH"] = f"{claude.parent}:{daemon.env['PATH']}"
        settings = home / ".claude/settings.json"
        settings.write_text(THEIRS)
        done = daemon.run("install", "--plugin")
        assert done.returncode == 0, done.stderr
        ask(claude, home, project, model, f"/memoryd:remember {RULE}")
        told = [json.dumps(request.body) for request in model.requests]
        assert any("word for word" in body for body in told), "the hook did not say what it saved"
        with daemon.peer() as peer:
            (memory,) = peer.call("memory/list", cwd=str(project))["memories"]
            assert RULE in peer.call("memory/get", cwd=str(project), path=memory["path"])["content"]
        print(f"what was typed became a memory: {memory['file']}")
        model.requests.clear()
        ask(claude, home, project, model, "When do invoices leave the house?")
        told = [json.dumps(request.body) for request in model.requests]
        assert any("Fridays" in body for body in told), "the plugin's hook did not run"
        assert any("mcp__plugin_memoryd_memoryd__recall" in body for body in told)
        print("the plugin's hooks and server work")
        done = daemon.run("uninstall", "--plugin")
        assert done.returncode == 0, done.stderr
        assert json.loads(settings.read_text()) == json.loads(THEIRS)
        assert not (home / ".local/share/memoryd").exists()
        model.requests.clear()
        ask(claude, home, project, model, "When do invoices leave the house now?")
        assert not any("mcp__plugin" in json.dumps(request.body) for request in model.requests)
        print("the plugin is gone, and the settings are as they were")


def recall_needs_no_permission_once_it_is_given(claude: Path, _model: ScriptedModel) -> None:
    for part, tool in (
        ("--mcp", "mcp__memoryd__recall"),
        ("--plugin", "mcp__plugin_memoryd_memoryd__recall"),
    ):
        with (
            ScriptedModel(recalls_once(tool)) as model,
            a_home() as (home, project),
            a_daemon(home) as daemon,
        ):
            daemon.env["PATH"] = f"{claude.parent}:{daemon.env['PATH']}"
            daemon.run("remember", RULE, "--project", str(project))
            assert daemon.run("install", part).returncode == 0
            for is_allowed in (False, True):
                model.requests.clear()
                ask(claude, home, project, model, "Look it up.", ENABLE_TOOL_SEARCH="false")
                results = [text for request in model.requests for text in tool_results(request)]
                assert results, "the tool was not used"
                assert any("never before noon" in text for text in results) == is_allowed, results
                assert daemon.run("install", "--permissions").returncode == 0
            print(f"the tool asks before install --permissions, and not after it: {tool}")


def the_agent_sorts_the_inbox(claude: Path, model: ScriptedModel) -> None:
    """A sentence of one session is handed to the agent at the start of the next, which keeps it."""
    with a_home() as (home, project):
        folder = home / ".config/memoryd"
        folder.mkdir(parents=True)
        settings = '[extraction]\nscripted = true\n[inbox]\nreviewer = "agent"\n'
        (folder / "config.toml").write_text(settings)
        with a_daemon(home) as daemon:
            assert daemon.run("install", "--hooks", "claude-code", "--mcp").returncode == 0
            allow_tool(home, SORT_INBOX)
            ask(claude, home, project, model, f"{CANDIDATE} Fix the login test.")
            until = time.monotonic() + WAIT_SECONDS
            with daemon.peer() as peer:
                while not (waiting := peer.call("inbox/list")["items"]):
                    assert time.monotonic() < until, "nothing waits in the inbox"
            with ScriptedModel(sorts_once(waiting[0]["id"])) as reviewer:
                ask(claude, home, project, reviewer, "Go on.", ENABLE_TOOL_SEARCH="false")
                told = [json.dumps(request.body) for request in reviewer.requests]
            assert any("sort_inbox" in body and "pnpm" in body for body in told)
            with daemon.peer() as peer:
                assert peer.call("inbox/list")["items"] == []
                (memory,) = peer.call("memory/list", cwd=str(project))["memories"]
        print(f"the agent kept what waited: {memory['file']}")


def a_sub_agent_has_its_memory(claude: Path, _model: ScriptedModel) -> None:
    """The client and memoryd use the same folders; each tells the agent what the other does not."""
    with a_home() as (home, project), a_daemon(home) as daemon:
        assert daemon.run("install", "--hooks", "claude-code").returncode == 0
        definition = project / ".claude/agents/keeper.md"
        definition.parent.mkdir(parents=True)
        header = "name: keeper\ndescription: keeps watch\nmemory: project\ntools: Write, Read"
        definition.write_text(f"---\n{header}\n---\n\nYou keep watch.\n")
        place = ("--project", str(project))
        daemon.run("remember", "I read figures, not prose.", "--type", "user", *place)
        watch = ("remember", "The harbour gate sticks in winter.", "--type", "project", *place)
        for where in ("local", "project"):
            assert daemon.run(*watch, "--agent", "keeper", "--where", where).returncode == 0
        own = project / ".claude/agent-memory/keeper"
        written = own / "project_tides.md"
        with ScriptedModel(keeps_watch(written)) as model, daemon.peer() as peer:
            peer.call("events/subscribe", kinds=["extraction/finished"])
            ask(claude, home, project, model, "Let the keeper look.")
            while not peer.next_event()["session_id"].startswith("agent-"):
                continue
            told = [json.dumps(one.body) for one in model.requests if is_keepers(one)]
        assert told, "the sub-agent sent no request"
        assert "SubagentStart hook additional context" in told[0]
        assert "agent-memory-local/keeper/MEMORY.md" in told[0]
        assert "I read figures" in told[0]
        assert told[0].count("[The harbour gate") == 2, "the client's index and ours, each once"
        with daemon.peer() as peer:
            why = peer.call("memory/why", cwd=str(project), agent="keeper", path="project_tides.md")
        assert (why["trust"], why["cause"]) == ("agent-concluded", "agent"), why
        print("a sub-agent starts with its memories, and what it writes is known as its own")


def is_keepers(request: SeenRequest) -> bool:
    return "You keep watch." in json.dumps(request.body.get("system", ""))


def keeps_watch(file: Path) -> Any:
    """A model whose main agent calls the keeper, which writes a memory."""
    text = "---\nname: Tides\ndescription: when it floods\ntype: project\n---\n\nAt spring tide.\n"
    started = Call("Agent", {"description": "watch", "prompt": "Look.", "subagent_type": "keeper"})
    writes = Call("Write", {"file_path": str(file), "content": text})

    def reply(request: SeenRequest) -> Any:
        has_result = '"tool_result"' in json.dumps(request.body["messages"])
        is_main = any(one.get("name") == "Agent" for one in request.body.get("tools", ()))
        call = writes if is_keepers(request) else started
        is_due = not has_result and (is_main or is_keepers(request))
        return as_asked(request, asks(call) if is_due else says("Understood."))

    return reply


def allow_tool(home: Path, tool: str) -> None:
    path = home / ".claude/settings.json"
    settings = json.loads(path.read_text())
    settings.setdefault("permissions", {}).setdefault("allow", []).append(tool)
    path.write_text(json.dumps(settings))


def sorts_once(number: int) -> Any:
    """A model that keeps one candidate in its own words as soon as it has the tool."""

    def reply(request: SeenRequest) -> Any:
        has_tool = any(one.get("name") == SORT_INBOX for one in request.body.get("tools", ()))
        has_result = '"tool_result"' in json.dumps(request.body["messages"])
        decision = {"id": number, "keep": True, "text": "We use pnpm in the web client."}
        call = asks(Call(SORT_INBOX, {"decisions": [decision]}))
        return as_asked(request, call if has_tool and not has_result else says("Understood."))

    return reply


def a_repository_does_not_reach_us(claude: Path, model: ScriptedModel) -> None:
    """What a repository's settings put into the environment, with the real client passing it on."""
    with a_home() as (home, project), a_daemon(home) as daemon:
        assert daemon.run("install", "--hooks", "claude-code", "--mcp").returncode == 0
        remember_rule(daemon, project)
        evil = evil_environment(home, project / "evil", "stolen.sock")
        settings = {name: evil[name] for name in EVIL_NAMES}
        (project / ".claude").mkdir()
        (project / ".claude/settings.json").write_text(json.dumps({"env": settings}))
        trusted = json.loads((home / ".claude.json").read_text())
        trusted["projects"] = {str(project): {"hasTrustDialogAccepted": True}}
        (home / ".claude.json").write_text(json.dumps(trusted))
        with ScriptedDaemon(project / "evil/stolen.sock", {}) as stranger:
            ask(claude, home, project, model, "When do invoices leave the house?")
        assert stranger.requests == [], "a prompt went to the repository's socket"
        assert not (project / "evil/trace").exists(), "the repository's code ran"
        sent = [json.dumps(request.body) for request in model.requests]
        assert any("UserPromptSubmit hook" in body and "never before noon" in body for body in sent)
        assert any("mcp__memoryd__recall" in body for body in sent)
        print("a repository's variables reach neither the hook nor the server")


def the_terminal_shows_the_status_line(claude: Path, model: ScriptedModel) -> None:
    """In a terminal (tmux): the line is there, a prompt is answered, the hook's text goes along."""
    with a_home() as (home, project), a_daemon(home) as daemon:
        for part in (("--hooks", "claude-code"), ("--mcp",), ("--permissions",), ("--statusline",)):
            assert daemon.run("install", *part).returncode == 0
        remember_rule(daemon, project)
        known = json.loads((home / ".claude.json").read_text())
        known |= {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(project): {"hasTrustDialogAccepted": True}},
        }
        (home / ".claude.json").write_text(json.dumps(known))
        with a_screen(claude, home, project, model) as screen:
            screen.wait_for("memoryd 0 memories")
            screen.type("When do invoices leave the house?")
            screen.wait_for("Understood.")
            screen.wait_for("memoryd 1 memory")
        sent = [json.dumps(request.body) for request in model.requests]
        assert any("UserPromptSubmit hook" in body and "never before noon" in body for body in sent)
        print("the terminal shows the status line, and a typed prompt gets its memory")


def remember_rule(daemon: Daemon, project: Path) -> None:
    """Saved so that the index, which the client loads, does not say all of it."""
    about = ("--name", "Invoices", "--description", "when invoices leave the house")
    done = daemon.run("remember", RULE, *about, "--project", str(project))
    assert done.returncode == 0, done.stderr
    daemon.run("recall", "invoices", "--project", str(project))


class Screen:
    """A terminal that tmux keeps, on a server of its own."""

    def __init__(self, socket_path: Path) -> None:
        self.tmux = ["tmux", "-S", str(socket_path)]

    def type(self, text: str) -> None:
        subprocess.run([*self.tmux, "send-keys", "-l", text], check=True)
        subprocess.run([*self.tmux, "send-keys", "Enter"], check=True)

    def wait_for(self, words: str) -> None:
        until = time.monotonic() + WAIT_SECONDS
        while words not in (seen := self.shown()):
            assert time.monotonic() < until, f"no {words!r} on the screen:\n{seen}"

    def shown(self) -> str:
        show = [*self.tmux, "capture-pane", "-p"]
        return subprocess.run(show, check=True, capture_output=True, text=True).stdout


@contextmanager
def a_screen(claude: Path, home: Path, project: Path, model: ScriptedModel) -> Iterator[Screen]:
    screen = Screen(home / "tmux")
    start = [*screen.tmux, "-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "40"]
    env = client_environment(home, model) | {"TERM": "xterm-256color"}
    subprocess.run([*start, str(claude)], cwd=project, env=env, check=True)
    try:
        yield screen
    finally:
        subprocess.run([*screen.tmux, "kill-server"], check=False)


def nothing_that_is_missing_stops_a_prompt(claude: Path, model: ScriptedModel) -> None:
    for name in (*BREAKS, "empty PATH", "daemon frozen", "socket stolen"):
        with a_home() as (home, project), ExitStack() as stack:
            installed = Removable(home)
            assert installed.run("install", "--hooks", "claude-code", "--mcp").returncode == 0
            if name in BREAKS:
                BREAKS[name](installed)
            elif name == "empty PATH":
                (project / ".claude").mkdir()
                settings = {"env": {"PATH": ""}}
                (project / ".claude/settings.json").write_text(json.dumps(settings))
            elif name == "daemon frozen":
                daemon = stack.enter_context(a_daemon(home))
                assert daemon.process is not None
                daemon.process.send_signal(signal.SIGSTOP)
            else:
                stranger = stack.enter_context(socket.socket(socket.AF_UNIX))
                stranger.bind(str(home / "run/memoryd.sock"))
                stranger.listen()
            model.requests.clear()
            prompt = f"Does this reach you with: {name}?"
            ask(claude, home, project, model, prompt)
            assert any(prompt in json.dumps(request.body) for request in model.requests), name
            print(f"the prompt reached the model: {name}")


def play(claude: Path, home: Path, project: Path, daemon: Daemon, model: ScriptedModel) -> None:
    install = [*COMMAND, "install", "--hooks", "claude-code", "--mcp"]
    subprocess.run(install, env=daemon.env, check=True, stdout=subprocess.DEVNULL)
    with daemon.peer() as peer:
        peer.call("recall", query="warm up", cwd=str(project))
        peer.call("events/subscribe", kinds=["memory/saved"])
        ask(claude, home, project, model, FACT)
        event = peer.next_event()
        saved = Path(event["path"])
        print(f"a turn became a memory: {saved.name}")
        assert "Tuesday" in saved.read_text()
    model.requests.clear()
    ask(claude, home, project, model, QUESTION)
    sent = [json.dumps(request.body) for request in model.requests]
    told = [body for body in sent if QUESTION in body and "| " in body and "memoryd" in body]
    assert told, "the hook's text did not reach the request"
    assert any("Tuesdays" in body for body in told)
    print("the next session was told: the memory stands in the request that the client sent")
    servers = [body for body in sent if "memoryd" in body]
    assert servers, "the client does not know the MCP server"
    print("the client knows the MCP server")


def client_environment(home: Path, model: ScriptedModel) -> dict[str, str]:
    return environment(home) | {
        "ANTHROPIC_BASE_URL": model.base_url,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
    }


def ask(
    claude: Path,
    home: Path,
    project: Path,
    model: ScriptedModel,
    prompt: str,
    *options: str,
    **more: str,
) -> None:
    env = client_environment(home, model) | more
    done = subprocess.run(
        [str(claude), *options, "-p", prompt],
        cwd=project,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    print(f"claude -p: {done.stdout.strip()[:80]}")


def streamed(request: SeenRequest) -> Any:
    """What the client expects: the answer as a stream when it asks for one."""
    return as_asked(request, says("Understood."))


def tool_results(request: SeenRequest) -> Iterator[str]:
    for message in request.body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "tool_result":
                yield json.dumps(block["content"])


def recalls_once(tool: str) -> Any:
    """A model that uses a tool once it has it, and then says what it found."""

    def reply(request: SeenRequest) -> Any:
        has_tool = any(one.get("name") == tool for one in request.body.get("tools", ()))
        has_result = '"tool_result"' in json.dumps(request.body["messages"])
        is_due = has_tool and not has_result
        call = asks(Call(tool, {"query": "When do invoices leave the house?"}))
        return as_asked(request, call if is_due else says("Understood."))

    return reply


def as_asked(request: SeenRequest, message: Message) -> Any:
    if not request.body.get("stream"):
        return message
    model, usage = str(request.body.get("model", "scripted")), USAGE | dict(message.usage or {})
    start = message_json(message, model, usage) | {"content": [], "stop_reason": None}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}]
    for index, block in enumerate(message.content):
        if block["type"] == "text":
            empty = dict(block) | {"text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            empty = dict(block) | {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events += [
            {"type": "content_block_start", "index": index, "content_block": empty},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    stopped = {"stop_reason": message.stop_reason, "stop_sequence": None}
    events += [
        {"type": "message_delta", "delta": stopped, "usage": usage},
        {"type": "message_stop"},
    ]
    return Stream(events)


if __name__ == "__main__":
    sys.exit(main())
