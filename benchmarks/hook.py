"""How long a hook keeps a prompt waiting: process start to exit, beside the bare interpreter.

`as installed` is the command that Claude Code runs; its baseline is a shell that starts a bare
interpreter. `mcp` is from the start of `memoryd mcp` to its first list of tools.
"""

import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from unittest import mock

from figures import Numbers, cpu_of_children, milliseconds
from results import report

from memoryd_client import hook
from memoryd_client.connection import locations
from memoryd_client.install import launcher
from tests.support.scripted_daemon import Result, ScriptedDaemon

RUNS = 60
GOAL_HOOK_RATIO, GOAL_LIST_MS = 1.05, 30
TRIES = 20
BARE = "python -I -S -E -c pass"
PAYLOAD = b'{"hook_event_name":"UserPromptSubmit","session_id":"s","cwd":"/tmp","prompt":"hello"}'
TEXT = 'A memory with "quotes",\nnewlines and umlauts: äöü.\n' * 60


def commands(python: str) -> dict[str, Sequence[str]]:
    """What is timed, by the name it has in the table."""
    return {
        BARE: (python, "-I", "-S", "-E", "-c", "pass"),
        "python -I -S -E hook.py": (python, "-I", "-S", "-E", hook.__file__),
        "memoryd hook": (str(Path(python).with_name("memoryd")), "hook"),
        "python -c pass (with site)": (python, "-c", "pass"),
    }


def time_once(command: Sequence[str], environ: Mapping[str, str], expected: bytes) -> float:
    """Milliseconds from start to exit of one process that must say what is expected of it.

    A hook gives up at its deadline, which a busy machine reaches: then it is run again.
    """
    is_hook = "hook" in " ".join(command)
    for _ in range(TRIES):
        began = time.perf_counter()
        done = subprocess.run(command, input=PAYLOAD, env=environ, capture_output=True, check=True)
        elapsed = time.perf_counter() - began
        assert done.stdout in {expected, b""}
        if not is_hook or done.stdout == expected:
            return elapsed * 1000
    raise SystemExit(f"{' '.join(command)} gave up {TRIES} times")


def measure(answer: str) -> dict[str, list[float]]:
    """Samples by command, taken in turns so that a busy moment hits all of them alike."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memoryd.sock"
        environ = dict(os.environ) | {"MEMORYD_SOCKET": str(path)}
        timed = commands(sys.executable)
        samples: dict[str, list[float]] = {name: [] for name in timed}
        with ScriptedDaemon(path, {"hook": Result({"stdout": answer})}):
            for _ in range(RUNS):
                for name, command in timed.items():
                    samples[name].append(time_once(command, environ, answer.encode()))
    return samples


def print_table(title: str, samples: Mapping[str, Sequence[float]]) -> None:
    bare = statistics.median(samples[BARE])
    print(f"{title}, {RUNS} runs each\n{'':30}{'p50 ms':>8}{'p90 ms':>8}{'ratio':>7}")
    for name, values in samples.items():
        middle, late = statistics.median(values), statistics.quantiles(values, n=10)[-1]
        print(f"{name:30}{middle:8.1f}{late:8.1f}{middle / bare:7.2f}")


def figures() -> Numbers:
    """The best of many runs, in turns: CPU of the hook as installed, and the start of `mcp`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memoryd.sock"
        environ = {"PATH": os.environ["PATH"], "HOME": folder, "MEMORYD_SOCKET": str(path)}
        with mock.patch.dict(os.environ, environ):
            places = locations.locations()
            places.launcher.parent.mkdir(parents=True)
            launcher.ensure(places)
        python = shlex.quote(os.path.realpath(sys.executable))
        shell = {
            "bare interpreter": f"{python} -I -S -E -c pass 2>/dev/null; exit 0",
            "hook as installed": launcher.command(places, "hook"),
        }
        cpu: dict[str, list[float]] = {name: [] for name in shell}
        first_list: list[float] = []
        answers = {"hook": Result({"stdout": ""}), "status": Result({})}
        with ScriptedDaemon(path, answers):
            for _ in range(RUNS):
                for name, line in shell.items():
                    run = partial(shell_once, line, environ)
                    cpu[name].append(cpu_of_children(run))
                first_list.append(milliseconds(partial(list_once, str(places.launcher), environ)))
        bare = milliseconds_of_bare(environ)
    best = {name: min(values) for name, values in cpu.items()}
    middle = {name: statistics.median(values) for name, values in cpu.items()}
    shell_cpu, hook_cpu = best["bare interpreter"], best["hook as installed"]
    report(
        "hook as installed, CPU",
        0,
        hook_cpu,
        "ms",
        beside=("sh -c and a bare interpreter", shell_cpu),
        goal=shell_cpu * GOAL_HOOK_RATIO,
    )
    report(
        "mcp to first list",
        0,
        min(first_list),
        "ms",
        beside=("bare interpreter", bare),
        goal=GOAL_LIST_MS,
    )
    return {
        "hook as installed, CPU ms": best["hook as installed"],
        "  sh -c and a bare interpreter, CPU ms": best["bare interpreter"],
        "  ratio of the best": best["hook as installed"] / best["bare interpreter"],
        "  ratio of the medians": middle["hook as installed"] / middle["bare interpreter"],
        "mcp to first list, ms": min(first_list),
        "  a bare interpreter, ms": bare,
        "  ratio": min(first_list) / bare,
    }


def shell_once(line: str, environ: Mapping[str, str]) -> None:
    subprocess.run(
        ("/bin/sh", "-c", line), input=PAYLOAD, env=environ, capture_output=True, check=True
    )


def milliseconds_of_bare(environ: Mapping[str, str]) -> float:
    command = (sys.executable, "-I", "-S", "-E", "-c", "pass")
    run = partial(subprocess.run, command, env=environ, check=True)
    return min(milliseconds(run) for _ in range(RUNS))


def list_once(script: str, environ: Mapping[str, str]) -> None:
    """Starts the MCP server as installed and reads its first list of tools."""
    opening = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "b", "version": "1"},
    }
    calls = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}},
    )
    with subprocess.Popen(
        ("/bin/sh", script, "mcp"), env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write("".join(json.dumps(call) + "\n" for call in calls).encode())
        server.stdin.flush()
        server.stdout.readline()
        assert b'"tools"' in server.stdout.readline()
        server.kill()


def main() -> None:
    for name, value in figures().items():
        print(f"{name:<44}{value:>8.2f}")
    print_table("hook, nothing to say", measure(""))
    print_table(f"hook, {len(TEXT)} characters to print", measure(TEXT))


if __name__ == "__main__":
    main()
