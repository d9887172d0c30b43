"""How long a hook keeps a prompt waiting: process start to exit, beside the bare interpreter."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from memoryd_client import hook
from tests.support.scripted_daemon import Result, ScriptedDaemon

RUNS = 60
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
    """Milliseconds from start to exit of one process that must say what is expected of it."""
    began = time.perf_counter()
    done = subprocess.run(command, input=PAYLOAD, env=environ, capture_output=True, check=True)
    elapsed = time.perf_counter() - began
    assert done.stdout in {expected, b""}
    assert ("hook" in " ".join(command)) <= (done.stdout == expected)
    return elapsed * 1000


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


def main() -> None:
    print_table("hook, nothing to say", measure(""))
    print_table(f"hook, {len(TEXT)} characters to print", measure(TEXT))


if __name__ == "__main__":
    main()
