"""Bash runs the reading commands, and nothing else however it is written."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from tests.support.sandbox import ATTACKS, CANARY, Sandbox, sandbox


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Sandbox]:
    with sandbox(tmp_path) as made:
        yield made


async def test_reading_commands_work(box: Sandbox) -> None:
    box.put("src/a.py", "one\ntwo\nthree\n")
    box.put("b.txt", "four\n")
    for command, answer in {
        "ls": "b.txt\nsrc\n",
        "ls -1 src": "a.py\n",
        "find . -name '*.py' -type f": "./src/a.py\n",
        "find src -maxdepth 1 -not -name \"b*\" -path './src/*'": "./src/a.py\n",
        "cat src/a.py b.txt": "one\ntwo\nthree\nfour\n",
        "head -1 src/a.py": "one\n",
        "tail -n +3 src/a.py": "three\n",
        "head -n 1 src/a.py b.txt": "==> src/a.py <==\none\n==> b.txt <==\nfour\n",
        "wc -l src/a.py": "3\n",
        "grep -n 't[wh]' src/a.py": "2:two\n3:three\n",
        "grep -E 'one|two$' src/a.py": "one\ntwo\n",
        "grep -e three -- src/a.py": "three\n",
        "grep nothing src/a.py": "no matches",
        "stat -c %s b.txt": "5\n",
    }.items():
        assert await box.call("Bash", command=command) == answer, command


async def test_nothing_else_runs(box: Sandbox) -> None:
    box.put("a.txt", "text\n")
    box.put("src/b.txt", "text\n")
    box.put(".env", f"A={CANARY}\n")
    before = box.everything_outside()
    with anyio.fail_after(60):
        for command in ATTACKS:
            assert (await box.said("Bash", command=command)).startswith("not done: "), command
            assert box.tools.outcomes[-1].verdict == "refused", command
    assert box.everything_outside() == before


async def test_a_program_is_never_taken_from_the_users_path(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = box.put("ls", "#!/bin/sh\necho pwned\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(box.project))
    assert await box.call("Bash", command="ls") == "ls\n"


async def test_a_flood_of_output_is_cut(box: Sandbox) -> None:
    box.put("a.txt", "line\n" * 100_000)
    said = await box.call("Bash", command="cat a.txt")
    assert len(said) < 41_000
    assert said.rstrip().endswith("[cut: ask for less]")
