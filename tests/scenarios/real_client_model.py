"""The real Claude Code as the model of memoryd: `make test-client`, not part of `make test`.

As in `real_client`, everything happens in a namespace without a network. The client is given a
login and a server by a small script around it: no variable of the daemon's could bring them to it.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from memoryd.base.config import ClaudeCodeSettings
from memoryd.llm.claude_code import ClaudeCodeProvider
from memoryd.llm.rules.messages import ModelRequest, ProviderDown, Text, UserTurn
from memoryd.llm.rules.plan import PlanPause
from memoryd_client import hook
from tests.scenarios.real_client import INSIDE, ask
from tests.scenarios.test_claude_code_provider import NowSession, end_session
from tests.scenarios.test_extraction import states
from tests.support.extraction_fixtures import memory_text
from tests.support.running import Daemon, make_home
from tests.support.scripted_model import Hang, Reply, ScriptedModel, SeenRequest, Status, Stream

TOKEN = "sk-ant-oat01-made-up"
KEY = "sk-ant-made-up-key"
SAID = "From now on always use tabs in Makefiles, because make insists on them."
ANSWER_TOOL = "StructuredOutput"
NOTHING = {"text": "", "calls": []}
UNIFIED = "anthropic-ratelimit-unified"
FAR_AWAY = 1_999_999_999
POLICY = Path("/etc/claude-code/managed-settings.json")


def main() -> int:
    claude = os.environ.get("CLAUDE") or shutil.which("claude")
    if claude is None:
        print("no claude command: npm install @anthropic-ai/claude-code, or set CLAUDE to its path")
        return 1
    if os.environ.get(INSIDE) != "1":
        return in_a_namespace_of_its_own()
    scenes: tuple[Callable[[Path], None], ...] = (
        a_turn_becomes_a_memory,
        a_path_after_an_at_sign_is_not_read,
        a_key_around_the_client_is_refused,
        without_a_login_the_built_in_rules_do_the_work,
        a_plan_that_is_used_up_lets_turns_wait,
        a_plan_that_warns_is_left_alone,
        a_failure_is_not_an_answer,
        a_server_that_hangs_ends_at_the_deadline,
        hooks_of_a_policy_do_not_come_back,
    )
    for scene in scenes:
        scene(Path(claude))
        print(scene.__name__.replace("_", " "))
    return 0


def in_a_namespace_of_its_own() -> int:
    """Runs this file again without a network, and with an /etc that it may write to."""
    with tempfile.TemporaryDirectory() as made:
        for name in ("upper", "work"):
            (Path(made) / name).mkdir()
        layers = f"lowerdir=/etc,upperdir={made}/upper,workdir={made}/work"
        inner = (
            f"ip link set lo up && {{ mount -t overlay overlay -o {layers} /etc || true; }}"
            f" && exec {sys.executable} -m {__spec__.name if __spec__ else __name__}"
        )
        command = ["unshare", "--map-root-user", "--net", "--mount", "sh", "-c", inner]
        try:
            return subprocess.run(command, env=os.environ | {INSIDE: "1"}, check=False).returncode
        except FileNotFoundError:
            print("this needs unshare and ip (Linux): the client must not reach the network")
            return 1


# --- scenes -------------------------------------------------------------------------------------


def a_turn_becomes_a_memory(claude: Path) -> None:
    """Said in the real client, extracted by the real client."""
    note = {"file_path": "feedback_tabs.md", "content": memory_text("Tabs")}
    written: dict[str, Any] = {"text": "", "calls": [{"tool": "Write", "input": note}]}
    with played(claude, answering(written, NOTHING)) as (daemon, model, home):
        project = home / "src/app"
        project.mkdir(parents=True)
        with daemon.peer() as peer:
            peer.call("events/subscribe", kinds=["extraction/finished"])
            ask(claude, home, project, model, SAID)
            run = peer.next_event()
            status = peer.call("status")
        assert (run["verdict"], run["files"]) == ("done", ["feedback_tabs.md"]), run
        ours = own_requests(model)
        assert SAID in json.dumps(ours[0].body)
        for request in ours:
            assert request.headers["authorization"] == f"Bearer {TOKEN}"
            assert "x-api-key" not in request.headers
            assert [tool["name"] for tool in request.body["tools"]] == [ANSWER_TOOL]
        assert status["plan"]["calls"] == len(ours)
        transcripts = list((home / ".claude/projects").glob("*/*.jsonl"))
        assert len(transcripts) == 1, "a request of ours left a transcript"
        assert list(home.glob(".claude/projects/*memoryd-*")) == []


def a_path_after_an_at_sign_is_not_read(claude: Path) -> None:
    with played(claude, answering(NOTHING)) as (daemon, model, home):
        (home / "plan.txt").write_text("the launch code")
        extracted(daemon, home, f"Read @{home}/plan.txt and @plan.txt. {SAID}")
        sent = json.dumps([request.body for request in own_requests(model)])
        assert "plan.txt" in sent
        assert "the launch code" not in sent


def a_key_around_the_client_is_refused(claude: Path) -> None:
    """Not from the daemon's environment, which has one too, but from the client's own."""
    with played(claude, answering(NOTHING), f"export ANTHROPIC_API_KEY={KEY}") as (daemon, _, home):
        run = extracted(daemon, home)
        assert run["verdict"] == "done"
        with daemon.peer() as peer:
            plan = peer.call("status")["plan"]
        assert "would bill an API key" in plan["problem"], plan


def without_a_login_the_built_in_rules_do_the_work(claude: Path) -> None:
    out = "unset CLAUDE_CODE_OAUTH_TOKEN"
    with played(claude, answering(NOTHING), out) as (daemon, model, home):
        run = extracted(daemon, home)
        assert (run["verdict"], len(run["files"])) == ("done", 1)
        done = daemon.run("doctor", "--provider")
        assert done.returncode == 1
        assert "Claude Code is not logged in; it says: Not logged in" in " ".join(
            done.stdout.split()
        )
        assert model.requests == []


def a_plan_that_is_used_up_lets_turns_wait(claude: Path) -> None:
    headers = {
        f"{UNIFIED}-status": "rejected",
        f"{UNIFIED}-reset": str(FAR_AWAY),
        f"{UNIFIED}-representative-claim": "five_hour",
    }
    body = b'{"type":"error","error":{"type":"rate_limit_error","message":"no more"}}'
    with played(claude, lambda _: Status(429, headers, body)) as (daemon, _, home):
        run = extracted(daemon, home)
        assert (run["verdict"], run["files"]) == ("paused", [])
        assert {state for state, _ in states(home).values()} == {"pending"}
        with daemon.peer() as peer:
            assert "limit" in peer.call("status")["plan"]["waits"]


def a_plan_that_warns_is_left_alone(claude: Path) -> None:
    headers = {
        f"{UNIFIED}-status": "allowed_warning",
        f"{UNIFIED}-5h-utilization": "0.93",
        f"{UNIFIED}-5h-reset": str(FAR_AWAY),
        f"{UNIFIED}-5h-surpassed-threshold": "0.9",
        f"{UNIFIED}-reset": str(FAR_AWAY),
        f"{UNIFIED}-representative-claim": "five_hour",
    }
    with played(claude, answering(NOTHING, headers=headers)) as (daemon, _, home):
        assert extracted(daemon, home)["verdict"] == "done"
        with daemon.peer() as peer:
            waits = peer.call("status")["plan"]["waits"]
        assert waits == "93% of the plan for five hours is used", waits


def a_failure_is_not_an_answer(claude: Path) -> None:
    """The client calls it a success, with a sentence that a careless reader would keep."""
    body = b'{"type":"error","error":{"type":"invalid_request_error","message":"bad day"}}'
    with played(claude, lambda _: Status(400, {}, body)) as (daemon, _, home):
        run = extracted(daemon, home)
        assert (run["verdict"], run["files"]) == ("failed", [])


def a_server_that_hangs_ends_at_the_deadline(claude: Path) -> None:
    with ScriptedModel(lambda _: Hang()) as model, tempfile.TemporaryDirectory() as made:
        wanted = ClaudeCodeSettings(command=str(wrapper(claude, Path(made), model.base_url)))
        env = {"HOME": made, "PATH": os.environ["PATH"]}
        provider = ClaudeCodeProvider(wanted, env, made, keep_pause=no_pause)
        request = ModelRequest("notes", "/p", "m", 100, (), (UserTurn((Text("Hi."),)),))
        with pytest.raises(ProviderDown, match="in time"):
            anyio.run(provider.complete, request, 8.0)
        assert model.requests, "it was never asked"


def hooks_of_a_policy_do_not_come_back(claude: Path) -> None:
    """A policy of the machine runs hooks that no option switches off."""
    with tempfile.TemporaryDirectory() as made:
        seen = Path(made) / "seen"
        relay = f"{sys.executable} -I -S -E {hook.__file__}"
        noted = f"{{ echo $MEMORYD_CHILD; {relay}; }} >> {seen}"
        command = {"type": "command", "command": noted}
        policy = {"hooks": {"UserPromptSubmit": [{"hooks": [command]}]}}
        POLICY.parent.mkdir(exist_ok=True)
        POLICY.write_text(json.dumps(policy))
        try:
            with played(claude, answering(NOTHING)) as (daemon, model, home):
                assert extracted(daemon, home)["verdict"] == "done"
                assert len(own_requests(model)) == 1
                hooks = [line for line in daemon.lines() if "hook" in line["event"]]
                assert hooks == [], hooks
        finally:
            POLICY.unlink()
        if seen.exists():
            assert {*seen.read_text().split()} == {"1"}
        print(f"  (the policy's hook ran: {seen.exists()})")


async def no_pause(pause: PlanPause) -> None:
    raise AssertionError(f"nobody spoke of a limit: {pause}")


# --- what they are played on --------------------------------------------------------------------


@contextmanager
def played(
    claude: Path, script: Callable[[SeenRequest], Reply], *lines: str
) -> Iterator[tuple[Daemon, ScriptedModel, Path]]:
    """A daemon whose model is the client; `lines` are added to the script around the client."""
    with tempfile.TemporaryDirectory() as made, ScriptedModel(script) as model:
        home = make_home(Path(made))
        path = wrapper(claude, home, model.base_url, *lines)
        folder = home / ".config/memoryd"
        folder.mkdir()
        (folder / "config.toml").write_text(
            '[extraction]\nscripted = true\n[model]\nprovider = "claude-code"\n'
            f'[model.claude_code]\ncommand = "{path}"\nminutes_apart = 0\nidle_minutes = 0\n'
        )
        daemon = Daemon(home, MEMORYD_FORBID_NETWORK="0", ANTHROPIC_API_KEY=KEY).start()
        try:
            yield daemon, model, home
        finally:
            daemon.end()


def wrapper(claude: Path, folder: Path, base_url: str, *lines: str) -> Path:
    path = folder / "with-a-login"
    given = [f"export CLAUDE_CODE_OAUTH_TOKEN={TOKEN}", f"export ANTHROPIC_BASE_URL={base_url}"]
    path.write_text("\n".join(["#!/bin/sh", *given, *lines, f'exec {claude} "$@"', ""]))
    path.chmod(0o700)
    return path


def extracted(daemon: Daemon, home: Path, said: str = SAID) -> dict[str, Any]:
    session = NowSession(home)
    with daemon.peer() as peer, daemon.peer() as other:
        peer.call("events/subscribe", kinds=["extraction/finished"])
        session.turn(said, "Understood.")
        end_session(other, session)
        return peer.next_event()


def own_requests(model: ScriptedModel) -> list[SeenRequest]:
    return [request for request in model.requests if "<memoryd-run>" in json.dumps(request.body)]


def answering(
    *documents: dict[str, Any], headers: dict[str, str] | None = None
) -> Callable[[SeenRequest], Reply]:
    """A model that gives our requests these documents, the last one for ever, and talks else."""
    left = list(documents)

    def reply(request: SeenRequest) -> Reply:
        if ANSWER_TOOL not in json.dumps(request.body.get("tools", [])):
            return streamed({"type": "text", "text": "Understood."}, "end_turn", headers)
        document = left.pop(0) if len(left) > 1 else left[0]
        call = {"type": "tool_use", "id": "toolu_1", "name": ANSWER_TOOL, "input": document}
        return streamed(call, "tool_use", headers)

    return reply


def streamed(block: dict[str, Any], stop_reason: str, headers: dict[str, str] | None) -> Stream:
    usage = {"input_tokens": 100, "output_tokens": 5}
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
    }
    message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    if block["type"] == "text":
        begun, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        begun = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    ending = {"stop_reason": stop_reason, "stop_sequence": None}
    return Stream(
        [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": begun},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": ending, "usage": usage},
            {"type": "message_stop"},
        ],
        headers=headers or {},
    )


if __name__ == "__main__":
    sys.exit(main())
