"""A small program of ours in place of `claude`: it prints what the real client was seen to print.

Variables do not reach it, which is a thing to test, so it finds its script in its home:

    client = StandInClient(home)
    client.plays(Answered({"text": "yes"}), RateLimited())
    ... client.calls[0].stdin ...

Like the real one, it reads the files that an at sign in the prompt leads to (`attached`).
"""

import json
import os
import select
import stat
import sys
from pathlib import Path
from typing import Any

import msgspec

VERSION = "2.1.325"
WAIT_SECONDS = 20

PROGRAM = r"""#!PYTHON -IS
import json, os, re, signal, subprocess, sys, time
folder = FOLDER
plan = json.load(open(folder + "/plan.json", encoding="utf-8"))
words = sys.argv[1:]
if words == ["--version"]:
    sys.exit(print(plan["version"]))
if words == ["--help"]:
    sys.exit(print("  --safe-mode  --chrome  --tools <tools...>"))

def say(event):
    print(event if isinstance(event, str) else json.dumps(event), flush=True)

try:
    os.mkdir(folder + "/busy")
    alone = True
except FileExistsError:
    alone = False
prompt = sys.stdin.buffer.read().decode()
paths = re.findall(r"@(/[^\s]+)", prompt)
attached = [open(path).read() for path in paths if os.path.exists(path)]
number = len(os.listdir(folder + "/calls"))
call = dict(words=words, env=dict(os.environ), stdin=prompt, attached=attached, alone=alone,
            cwd=os.getcwd(), entries=os.listdir("."), nice=os.nice(0), pid=os.getpid())
if plan["hook"]:
    call["hook"] = subprocess.run(plan["hook"], input=b"{}", capture_output=True).stdout.decode()
step = plan["steps"][min(number, len(plan["steps"]) - 1)]
with open(folder + "/call.tmp", "w", encoding="utf-8") as file:
    json.dump(call, file)
os.rename(folder + "/call.tmp", folder + "/calls/%03d.json" % number)
if "init" in step:
    key = "ANTHROPIC_API_KEY" if "ANTHROPIC_API_KEY" in os.environ else "none"
    say({"type": "system", "subtype": "init", "apiKeySource": key, "tools": ["StructuredOutput"],
         "mcp_servers": [], **step["init"]})
for event in step["events"]:
    say(event)
sys.stderr.write(step["stderr"])
if step["then"] == "hang":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-IS", "-c", "import time; time.sleep(600)"])
    open(folder + "/child", "w").write(str(child.pid))
    time.sleep(600)
if step["then"] == "sleep":
    time.sleep(600)
while step["then"] == "ping":
    say({"type": "keep_alive"})
    time.sleep(0.01)
if alone:
    os.rmdir(folder + "/busy")
sys.exit(step["status"])
"""


class Step(msgspec.Struct, frozen=True):
    """What one call prints, and how it ends."""

    events: list[Any]
    init: dict[str, Any] | None = {}
    stderr: str = ""
    status: int = 0
    then: str = ""


class StandInCall(msgspec.Struct, frozen=True):
    words: list[str]
    env: dict[str, str]
    stdin: str
    attached: list[str]
    alone: bool
    cwd: str
    entries: list[str]
    nice: int
    pid: int
    hook: str = ""

    def after(self, option: str) -> str:
        return self.words[self.words.index(option) + 1]


def result(**fields: Any) -> dict[str, Any]:
    usage = {"input_tokens": 900, "output_tokens": 40, "cache_read_input_tokens": 60}
    plain = {"type": "result", "subtype": "success", "is_error": False, "usage": usage}
    return {**plain, "result": "a sentence", **fields}


def answers(document: Any, *events: Any) -> Step:
    return Step([*events, result(structured_output=document)])


def writes(file: str, content: str) -> Step:
    call = {"tool": "Write", "input": {"file_path": file, "content": content}}
    return answers({"text": "", "calls": [call]})


def fails(words: str, status: int | None = None, error: str = "") -> Step:
    """An error, which the client calls a success."""
    events = [{"type": "assistant", "error": error, "message": {}}] if error else []
    no_usage = {"usage": {"input_tokens": 0, "output_tokens": 0}}
    broken = result(is_error=True, result=words, api_error_status=status, **no_usage)
    return Step([*events, broken], status=1)


def rate(status: str = "allowed", **fields: Any) -> dict[str, Any]:
    return {"type": "rate_limit_event", "rate_limit_info": {"status": status, **fields}}


SIGNED_OUT = fails("Not logged in: run /login first", error="authentication_failed")


class StandInClient:
    def __init__(self, folder: Path, version: str = f"{VERSION} (Claude Code)") -> None:
        self.folder = folder / "stand-in"
        (self.folder / "calls").mkdir(parents=True)
        self.path = self.folder / "claude"
        text = PROGRAM.replace("PYTHON", sys.executable).replace("FOLDER", repr(str(self.folder)))
        self.path.write_text(text, "utf-8")
        self.path.chmod(self.path.stat().st_mode | stat.S_IXUSR)
        self.version = version
        self.hook: list[str] = []
        self.plays(answers({"text": "yes"}))

    def plays(self, *steps: Step) -> None:
        """The steps of the next calls; the last one is repeated."""
        plan = {
            "version": self.version,
            "hook": self.hook,
            "steps": [_fields(step) for step in steps],
        }
        place = self.folder / "plan.tmp"
        place.write_text(json.dumps(plan), "utf-8")
        place.rename(self.folder / "plan.json")

    @property
    def calls(self) -> list[StandInCall]:
        files = sorted((self.folder / "calls").iterdir())
        return [msgspec.json.decode(file.read_bytes(), type=StandInCall) for file in files]

    def grandchild_ends(self) -> bool:
        """Whether the child that a hanging client started is gone, or goes now."""
        try:
            process = os.pidfd_open(int((self.folder / "child").read_text()))
        except ProcessLookupError:
            return True
        try:
            return ends(process)
        finally:
            os.close(process)


def ends(process: int) -> bool:
    """Whether the process behind a handle ends in time."""
    return bool(select.select([process], [], [], WAIT_SECONDS)[0])


def _fields(step: Step) -> dict[str, Any]:
    fields = msgspec.structs.asdict(step)
    if step.init is None:
        del fields["init"]
    return fields
