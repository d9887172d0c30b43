"""The tools of an agent do what they are for, and nothing else whatever the model asks."""

import ctypes
import errno
import os
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryd import agent_search
from memoryd.agent import AgentJob, Toolbox, run
from memoryd.agent_files import View
from memoryd.agent_inputs import DEFINITIONS
from memoryd.agent_tools import AgentTools, Outcome, numbered
from memoryd.config import Credentials
from memoryd.dialogue import Text, schema_of
from memoryd.errors import ToolError
from memoryd.fence import landlock_abi
from memoryd.history import History
from memoryd.llm import AnthropicProvider, endpoint_at
from memoryd.meter import RunLimits
from memoryd.reach import file_to_write
from memoryd.store import MemoryDirectory, Store, Stored
from tests.sandbox import CANARY, HOSTILE_PATHS, Sandbox, memory_text, sandbox
from tests.scripted_model import Call, ScriptedModel, asks, says

TOKEN = "ghp_" + "x7Kq2mVb9RtY4wZp1LsN8dHf3GjC6aEu0oTi"
KEY_LINES = "\n".join(repeat("MIIEow" + "kJ3x9Qa" * 8, 20))
KEY_BLOCK = f"-----BEGIN RSA PRIVATE KEY-----\n{KEY_LINES}\n-----END RSA PRIVATE KEY-----"


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Sandbox]:
    with sandbox(tmp_path) as made:
        yield made


@pytest.fixture
def dream(tmp_path: Path) -> Iterator[Sandbox]:
    with sandbox(tmp_path, dreams=True) as made:
        yield made


def test_the_tools_have_the_inputs_that_models_know() -> None:
    inputs = {tool.name: schema_of(tool.arguments) for tool in DEFINITIONS}
    assert {name: list(schema["properties"]) for name, schema in inputs.items()} == {  # type: ignore[call-overload]  # a schema is plain JSON
        "Read": ["file_path", "offset", "limit"],
        "Grep": ["pattern", "path", "glob"],
        "Glob": ["pattern", "path"],
        "Bash": ["command"],
        "Write": ["file_path", "content"],
        "Edit": ["file_path", "old_string", "new_string", "replace_all"],
    }


# --- Read


async def test_a_file_is_read_with_line_numbers(box: Sandbox) -> None:
    box.put("src/a.py", "one\ntwo\nthree\n")
    assert await box.call("Read", file_path="src/a.py") == "     1\tone\n     2\ttwo\n     3\tthree"
    part = await box.call("Read", file_path=str(box.project / "src/a.py"), offset=2, limit=1)
    assert part == "     2\ttwo\n[cut: 3 lines in all; go on with offset 3]"


async def test_a_relative_path_means_the_memory_first_and_then_the_project(box: Sandbox) -> None:
    box.put("a.md", "of the project")
    assert "of the project" in await box.call("Read", file_path="a.md")
    box.remember("a.md", "of the memory")
    assert "of the memory" in await box.call("Read", file_path="a.md")


async def test_a_file_deep_in_the_project_is_read(box: Sandbox) -> None:
    box.put("/".join("abcdefghijklmnopqrst") + "/z.txt", "deep down")
    path = str(box.project / "/".join("abcdefghijklmnopqrst") / "z.txt")
    assert "deep down" in await box.call("Read", file_path=path)


def test_long_texts_and_long_lines_are_cut_with_a_note() -> None:
    page = numbered("x" * 5000 + "\n" + "line\n" * 100_000, 1, 1_000_000)
    assert len(page) < 51_000
    assert "…" in page.splitlines()[0]
    assert page.splitlines()[-1].startswith("[cut: 100001 lines in all; go on with offset ")
    assert numbered("a\nb\n", 3, 10) == "(nothing there: 2 lines in all)"


async def test_no_path_leads_a_reader_out(box: Sandbox) -> None:
    box.put("ok.txt", "x")
    for path in HOSTILE_PATHS:
        for said in (
            await box.said("Read", file_path=path),
            await box.said("Read", file_path=f"{box.memory}/{path}"),
            await box.said("Grep", pattern=".", path=path),
            await box.said("Glob", pattern="*", path=path),
        ):
            assert CANARY not in said, path
            assert "root:" not in said, path
    assert {one.verdict for one in box.tools.outcomes} == {"ok", "refused"}


async def test_links_are_followed_inside_and_never_out(box: Sandbox) -> None:
    box.put("AGENTS.md", "the instructions")
    (box.project / "CLAUDE.md").symlink_to("AGENTS.md")
    (box.project / "out.md").symlink_to(box.outside / "canary.md")
    (box.project / "folder").symlink_to(box.outside)
    assert "the instructions" in await box.call("Read", file_path="CLAUDE.md")
    for path in ("out.md", "folder/canary.md"):
        assert "outside what you may read" in await box.said("Read", file_path=path)
        assert "outside what you may read" in await box.said("Bash", command=f"cat {path}")
        assert CANARY not in await box.said("Grep", pattern=".", path=path)
    assert CANARY not in await box.call("Grep", pattern=".", path=str(box.project))
    assert "canary" not in await box.call("Glob", pattern="**/*", path=str(box.project))
    assert "outside" in await box.said("Bash", command="ls folder")


def make_kinds(box: Sandbox, folder: Path) -> list[str]:
    """One of each kind of file that is no plain text file with a single name."""
    target = box.outside / "canary.md"
    (folder / "link.md").symlink_to(target)
    (folder / "dangling.md").symlink_to(box.outside / "none.md")
    (folder / "loop.md").symlink_to("loop.md")
    (folder / "linked").symlink_to(box.outside)
    os.link(target, folder / "hard.md")
    os.mkfifo(folder / "fifo.md")
    (folder / "folder.md").mkdir()
    (folder / "device.md").symlink_to("/dev/zero")
    (folder / "stdin.md").symlink_to("/proc/self/fd/0")
    (folder / "environ.md").symlink_to("/proc/self/environ")
    here = Path.cwd()
    os.chdir(folder)  # the path of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("socket.md")
    finally:
        os.chdir(here)
    return [
        "link.md", "dangling.md", "loop.md", "linked/canary.md", "linked/new.md", "hard.md",
        "fifo.md", "folder.md", "device.md", "stdin.md", "environ.md", "socket.md",
    ]  # fmt: skip


async def test_other_kinds_of_files_are_neither_read_nor_written(box: Sandbox) -> None:
    names = make_kinds(box, box.memory)
    before = box.everything_outside()
    with anyio.fail_after(20):
        for name in names:
            for said in (
                await box.said("Read", file_path=name),
                await box.said("Write", file_path=name, content=memory_text("x")),
                await box.said("Edit", file_path=name, old_string="the", new_string="x"),
                await box.said("Bash", command=f"cat {box.memory}/{name}"),
            ):
                assert said.startswith("not done: "), name
    assert box.everything_outside() == before
    assert not box.tools.written
    assert sorted(path.name for path in box.outside.iterdir()) == ["canary.md"]


@pytest.mark.parametrize("data", [b"\x7fELF\0\0", b"text\0text", "utf-16".encode("utf-16")])
async def test_what_is_no_text_is_not_shown(box: Sandbox, data: bytes) -> None:
    box.put("a.bin", data)
    assert "it is no text" in await box.said("Read", file_path="a.bin")
    assert "nothing fits" in await box.said("Grep", pattern=".", path=str(box.project))


async def test_a_file_beyond_the_limit_is_searched_and_not_read(box: Sandbox) -> None:
    box.put("big.log", b"line\n" * 300_000 + b"the needle\n")
    assert "use Grep" in await box.said("Read", file_path="big.log")
    assert "300001: the needle" in await box.call("Grep", pattern="needle", path="big.log")


async def test_the_processes_are_closed_even_to_a_project_at_the_root(box: Sandbox) -> None:
    tools = AgentTools(
        View("/", box.directory, closed=(str(box.outside),)),
        box.store,
        cause="extraction",
        session_id="",
        state_folder=str(Path(box.state.path).parent),
    )
    box.tools = tools
    readable = box.put("a.txt", "plain")
    assert "plain" in await box.call("Read", file_path=str(readable))
    for path in ("/proc/self/environ", "/proc/1/cmdline", "/sys/kernel/version", "/dev/null"):
        assert "outside what you may read" in await box.said("Read", file_path=path)
    assert "outside" in await box.said("Read", file_path=str(box.outside / "canary.md"))
    assert "closed" in await box.said("Bash", command=f"find {box.outside.parent}")
    assert CANARY not in await box.said("Grep", pattern=CANARY, path=str(box.outside.parent))


# --- credentials and secrets

CREDENTIALS = [
    ".env", ".env.local", ".ENV", "prod.env", "id_rsa", "id_ed25519.bak", "server.pem", "tls.key",
    "a.p12", "a.pfx", "release.keystore", ".netrc", ".npmrc", ".pypirc", ".git-credentials",
    "credentials", "credentials.json", ".aws/config", ".ssh/config", ".gnupg/x", ".kube/config",
    ".docker/config.json", ".git/config", ".git/HEAD", "sub/.git/config", "secrets.yaml",
    "service-account-prod.json", "my-service-account.json", ".config/gh/hosts.yml", ".pgpass",
    "terraform.tfstate", "auth.json", ".bash_history", "secrets/db.txt", "ｉｄ_rsa",
]  # fmt: skip


async def test_credentials_are_read_by_no_tool(box: Sandbox) -> None:
    for name in CREDENTIALS:
        box.put(name, f"{CANARY}\n")
        (box.project / "innocent.txt").unlink(missing_ok=True)
        (box.project / "innocent.txt").symlink_to(name)
        await try_to_read(box, name)
    for path in (str(box.project), str(box.project / "sub")):
        assert await box.call("Grep", pattern="canary", path=path) == "nothing fits"


async def try_to_read(box: Sandbox, name: str) -> None:
    attempts = [
        await box.said("Read", file_path=name),
        await box.said("Read", file_path=str(box.project / name)),
        await box.said("Read", file_path="innocent.txt"),
        await box.said("Read", file_path=f"x/../{name}"),
        await box.said("Grep", pattern="canary", path=name),
        await box.said("Grep", pattern="canary", path="innocent.txt"),
        await box.said("Bash", command=f"cat '{name}'"),
        await box.said("Bash", command=f"grep canary -- '{name}'"),
        await box.said("Bash", command=f"head -c 100 './{name}' innocent.txt"),
    ]
    assert all(said.startswith("not done: ") for said in attempts), name
    assert "keys, credentials or git's own" in attempts[0]


async def test_a_memory_may_be_about_credentials(box: Sandbox) -> None:
    box.remember("credentials_rotation.md", "They are rotated in March.")
    assert "March" in await box.call("Read", file_path="credentials_rotation.md")
    assert "March" in await box.call("Grep", pattern="rotated")


async def test_secrets_are_masked_in_all_that_is_shown(box: Sandbox) -> None:
    box.put("notes.txt", f"first\ntoken = {TOKEN}\n{KEY_BLOCK}\nlast\n")
    shown = [
        await box.call("Read", file_path="notes.txt"),
        await box.call("Grep", pattern=".", path="notes.txt"),
        await box.call("Grep", pattern="token", path=str(box.project)),
        await box.call("Bash", command="cat notes.txt"),
        await box.call("Bash", command="grep -n -A 3 token notes.txt"),
        await box.call("Bash", command="tail -n 4 notes.txt"),
        await box.call("Bash", command="head -c 40 notes.txt"),
    ]
    for said in shown:
        assert TOKEN[4:20] not in said
        assert "kJ3x9Qa" not in said
    assert "token = [secret: github-token]" in shown[0]
    assert "last" in shown[5]


async def test_what_stands_only_inside_a_secret_is_not_found(box: Sandbox) -> None:
    box.put("notes.txt", f"token = {TOKEN}\n")
    for pattern in (TOKEN[6:14], "(?<=ghp_).*", f"ghp_{TOKEN[4]}"):
        assert await box.call("Grep", pattern=pattern, path="notes.txt") == "nothing fits"
    assert await box.call("Bash", command=f"grep -c {TOKEN[6:14]} notes.txt") == "0\n"


async def test_a_secret_is_not_shown_by_the_cut_of_a_long_line(box: Sandbox) -> None:
    filler = "lorem ipsum " * 400
    box.put("long.json", f'{{"a": "{filler}{TOKEN} needle {TOKEN}{filler}"}}')
    said = await box.call("Grep", pattern="needle", path="long.json")
    assert "needle" in said
    assert TOKEN[10:20] not in said
    assert len(said) < 1000


async def test_invisible_characters_are_not_shown(box: Sandbox) -> None:
    box.put("a.txt", "plain\u200b\U000e0041\x1b[31m text\n")
    for said in (
        await box.call("Read", file_path="a.txt"),
        await box.call("Grep", pattern="plain", path="a.txt"),
        await box.call("Bash", command="cat a.txt"),
    ):
        assert "plain[31m text" in said


# --- Grep


async def test_matches_stand_under_their_file_with_line_numbers(box: Sandbox) -> None:
    a = box.put("src/a.py", "import os\n\ndef main() -> None: ...\n")
    b = box.put("src/b.py", "def other(): ...\n")
    box.put("src/c.js", "def not_python\n")
    said = await box.call("Grep", pattern=r"def \w+\(", path="src", glob="*.py")
    assert said == f"{a}\n3: def main() -> None: ...\n{b}\n1: def other(): ..."


async def test_the_memory_is_searched_unless_a_path_is_given(box: Sandbox) -> None:
    box.put("a.txt", "needle in the project")
    place = box.remember("feedback_a.md", "needle in the memory")
    assert await box.call("Grep", pattern="(?i)NEEDLE") == f"{place}\n7: needle in the memory"


async def test_a_memory_directory_that_is_not_there_yet_is_empty(box: Sandbox) -> None:
    box.memory.rmdir()
    assert await box.call("Grep", pattern="x") == "nothing fits"
    assert await box.call("Glob", pattern="*.md") == "nothing fits"
    assert "no such file" in await box.said("Read", file_path="a.md")
    assert "saved" in await box.call("Write", file_path="a.md", content=memory_text("x"))


@pytest.mark.parametrize("pattern", [r"(x+x+)+y", r"^(\w+\s?)*$!", r"(.*)*(.*)*\1=q", "(a|a)+b"])
async def test_a_pattern_that_never_ends_is_ended(
    box: Sandbox, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_search, "SEARCH_SECONDS", 0.7)
    box.put("a.txt", "x" * 200 + " " + "word " * 40 + "!\n" + "a" * 200 + "\n")
    with anyio.fail_after(20):
        said = await box.said("Grep", pattern=pattern, path="a.txt")
    assert "took too long" in said or said == "nothing fits"


async def test_a_pattern_that_is_none_is_refused_in_words(box: Sandbox) -> None:
    for pattern in ("(", "*", "[a", "(?P<x", "x" * 1001, ""):
        assert "pattern" in await box.said("Grep", pattern=pattern) or box.last_reason
        assert box.last_reason == "bad-pattern"


async def test_a_flood_of_matches_is_cut(box: Sandbox) -> None:
    for number in range(5):
        box.put(f"{number}.txt", "hit\n" * 1000)
    said = await box.call("Grep", pattern="hit", path=str(box.project))
    assert said.count("hit") == 100
    assert said.endswith("path]")


async def test_dependencies_and_git_are_left_out_of_a_search(box: Sandbox) -> None:
    for place in (".git/x", "node_modules/a/x.js", ".venv/lib/x.py", "src/__pycache__/x"):
        box.put(place, CANARY)
    assert await box.call("Grep", pattern="canary", path=str(box.project)) == "nothing fits"
    assert await box.call("Glob", pattern="**/x*", path=str(box.project)) == "nothing fits"


# --- transcripts


async def test_transcripts_are_for_dreams_and_only_searched(dream: Sandbox) -> None:
    line = '{"type":"user","message":{"content":"' + "blah " * 5000 + "deploy on friday"
    session = dream.transcripts / "s-1.jsonl"
    session.write_text(f'{line}{" more" * 5000}"}}}}\n' * 3)
    for said in (
        await dream.said("Read", file_path=str(session)),
        await dream.said("Bash", command=f"cat {session}"),
        await dream.said("Bash", command=f"tail -n 1 {session}"),
        await dream.said("Bash", command=f"grep deploy {session}"),
    ):
        assert "search it with a narrow Grep" in said
    found = await dream.call("Grep", pattern="deploy on \\w+", path=str(dream.transcripts))
    lines = found.splitlines()
    assert len(lines) == 4
    assert all("deploy on friday" in one and len(one) < 320 for one in lines[1:])
    assert "s-1.jsonl" in await dream.call("Glob", pattern="*.jsonl", path=str(dream.transcripts))

    dream.dreams = False
    dream.new_run()
    for path in (str(session), str(dream.transcripts)):
        assert "outside what you may read" in await dream.said("Grep", pattern="d", path=path)


async def test_session_notes_beside_the_transcripts_can_be_read(dream: Sandbox) -> None:
    notes = dream.transcripts / "s-1/session-memory/summary.md"
    notes.parent.mkdir(parents=True)
    notes.write_text("# Current State")
    assert "Current State" in await dream.call("Read", file_path=str(notes))


async def test_a_line_longer_than_a_piece_is_found_once(dream: Sandbox) -> None:
    session = dream.transcripts / "s-1.jsonl"
    size = 1024 * 1024
    text = "first\n" + "x" * (size - 10) + "needle" + "y" * size + "needle" + "z" * size
    session.write_text(text + "\nneedle\n")
    found = await dream.call("Grep", pattern="needle", path=str(session))
    assert [line.partition(":")[0] for line in found.splitlines()[1:]] == ["2", "3"]


# --- Glob


async def test_names_are_listed_below_their_folder(box: Sandbox) -> None:
    box.put("src/a.ts", "")
    box.put("src/deep/b.tsx", "")
    box.put("src/c.py", "")
    box.put(".env", "x")
    assert await box.call("Glob", pattern="src/**/*.{ts,tsx}") == (
        f"in {box.project}/src:\na.ts\ndeep/b.tsx"
    )
    absolute = await box.call("Glob", pattern=f"{box.project}/src/*.py")
    assert absolute == f"in {box.project}/src:\nc.py"
    assert ".env" in await box.call("Glob", pattern="*", path=str(box.project))
    assert await box.said("Glob", pattern="{a,b}" * 10) != ""
    assert box.last_reason == "bad-pattern"


async def test_a_name_that_would_forge_a_line_is_not_listed(box: Sandbox) -> None:
    (box.project / "a\nsaved b.md").write_text("x")
    (box.project / os.fsdecode(b"\xff.md")).write_text("x")
    assert await box.call("Glob", pattern="*", path=str(box.project)) == "nothing fits"


# --- Bash


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
        "grep nothing src/a.py": "nothing fits",
        "stat -c %s b.txt": "5\n",
    }.items():
        assert await box.call("Bash", command=command) == answer, command


ATTACKS = [
    "ls; touch pwned", "ls && touch pwned", "ls & touch pwned", "ls | tee pwned", "ls > pwned",
    "ls >> pwned", "cat < /etc/passwd", "cat << x", "ls $(touch pwned)", "ls `touch pwned`",
    'ls "$(touch pwned)"', 'ls "`touch pwned`"', "ls ${HOME}", "ls $HOME", 'ls "$HOME"', "(ls)",
    "{ ls; }", "ls\ntouch pwned", "ls\r\ntouch pwned", "ls \\\ntouch pwned", "ls #x", "ls ~",
    "ls ~root", "ls *", "ls ?", "ls [a-z]*", "cat /etc/passwd", "cat ../outside/canary.md",
    "cat ../../../../../../etc/passwd", "cat -- /etc/passwd", "cat src/../../outside/canary.md",
    "head -c 100 /etc/passwd", "tail -f a.txt", "tail -F a.txt", "tail --follow a.txt",
    "tail --pid=1 a.txt", "tail -n 1 -f a.txt", "tail -qf a.txt", "wc --files0-from=/etc/passwd",
    "wc /etc/passwd", "stat /etc/passwd", "stat -L a.txt", "stat -f /", "ls /", "ls -L /etc",
    "ls ..", "ls -la /root", "find / -name passwd", "find .. -name '*.md'", "find -L . -name x",
    "find . -exec touch pwned ;", "find . -exec touch pwned \\;", "find . -execdir touch pwned +",
    "find . -ok touch pwned", "find . -delete", "find . -name a.txt -delete",
    "find . -fprint pwned", "find . -fprintf pwned %p", "find . -fls pwned",
    "find . -fprint0 pwned", "find . -printf %p",
    "find . -newer /etc/passwd", "find . -files0-from /etc/passwd", "find . -type f,d -exec x",
    "grep -r canary /", "grep -r canary ..", "grep -R canary .", "grep --include=* -r x .",
    "grep -f /etc/passwd a.txt", "grep --file=/etc/passwd a.txt", "grep root /etc/passwd",
    "grep -P x a.txt", "grep -d recurse x .", "grep --devices=read x /dev/zero", "grep x /dev/zero",
    "rm a.txt", "touch pwned", "tee pwned", "sh -c 'touch pwned'", "bash", "env ls", "xargs ls",
    "command ls", "exec ls", "eval ls", "sudo ls", "/bin/ls", "./ls", "../../bin/ls", "LS", "ｌｓ",
    "PATH=. ls", "LD_PRELOAD=./x.so ls", "cat", "grep x", "cat -", "", " ", "'", '"ls', "ls '",
    "cat .env", "cat ./.env", "cat src/../.env", "head .env", "grep x .env", "wc -c .env",
    "cat a.txt\0", "cat \u202ea.txt", "ls；touch pwned", "ls ｜ tee pwned", "ls\u2028touch pwned",
    "ls -la --color=always", "ls --hyperlink", "cat " + "a.txt " * 21, "cat " + "x" * 3000,
    "python3 -c 'open(1)'", "git log", "curl http://127.0.0.1", "find . -name", "find . -size x;y",
]  # fmt: skip


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


# --- Write and Edit


async def test_a_memory_is_written_with_its_index_line_and_history(box: Sandbox) -> None:
    said = await box.call("Write", file_path="feedback_tabs.md", content=memory_text("Use tabs."))
    place = box.memory / "feedback_tabs.md"
    assert said == f"saved {place}"
    assert place.read_text() == memory_text("Use tabs.")
    assert "(feedback_tabs.md)" in (box.memory / "MEMORY.md").read_text()
    (version,) = History(box.state).versions(str(box.memory), "feedback_tabs.md")
    assert (version.cause, version.session_id) == ("extraction", "s-1")
    assert [stored.file for stored in box.tools.written] == ["feedback_tabs.md"]
    assert box.tools.outcomes == [Outcome("Write", "ok", "", "feedback_tabs.md")]


async def test_a_path_in_full_is_the_same_file_also_through_a_linked_home(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "claude").symlink_to("dotfiles")
    with sandbox(tmp_path) as box:
        for base in (box.memory, box.memory.resolve()):
            name = f"a{len(box.tools.written)}.md"
            await box.call("Write", file_path=str(base / name), content=memory_text("x"))
            assert (box.memory / name).exists()
            said = await box.call("Read", file_path=str(base / name))
            assert "Use tabs" in said


async def test_no_path_leads_a_writer_out(box: Sandbox) -> None:
    before = box.everything_outside()
    for path in HOSTILE_PATHS:
        for place in (path, f"{box.memory}/{path}"):
            await box.said("Write", file_path=place, content=memory_text("x"))
            await box.said("Edit", file_path=place, old_string="x", new_string="y")
    assert {one.verdict for one in box.tools.outcomes} == {"ok", "refused"}
    assert box.everything_outside() == before
    assert [path.name for path in box.project.iterdir()] == []
    made = {str(found.relative_to(box.memory)) for found in box.memory.rglob("*.*")}
    assert made - {"MEMORY.md"} == {stored.file for stored in box.tools.written}
    assert all(re.fullmatch(r"[a-z0-9_/-]+\.md", name) for name in made - {"MEMORY.md"})
    assert not any(name.startswith(("team", "logs")) for name in made)


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("./\\~ab\0\n-_M.mdé\u200b{}*$ "), max_size=24))
def test_no_name_at_all_leads_out(name: str) -> None:
    """What a path is taken to mean lies beneath the folder, whoever resolves it afterwards."""
    try:
        file = file_to_write(name, ("/m/memory",))
    except ToolError:
        return
    assert os.path.normpath(f"/m/memory/{file}") == f"/m/memory/{file}"
    assert not file.startswith("/")
    assert file.endswith(".md")


async def test_what_was_not_read_is_not_overwritten(box: Sandbox) -> None:
    place = box.remember("feedback_a.md", "Old.")
    new = memory_text("New.")
    assert "Read it first" in await box.said("Write", file_path="feedback_a.md", content=new)
    edit = {"file_path": "feedback_a.md", "old_string": "Old.", "new_string": "New."}
    assert "Read it first" in await box.said("Edit", **edit)
    await box.call("Bash", command=f"cat {place}")
    assert "Read it first" in await box.said("Edit", **edit)
    assert place.read_text() == memory_text("Old.")
    await box.call("Read", file_path="feedback_a.md")
    await box.call("Edit", **edit)
    assert place.read_text() == new


async def test_a_version_that_has_gone_stale_is_not_changed(box: Sandbox) -> None:
    place = box.remember("feedback_a.md", "Old.")
    await box.call("Read", file_path="feedback_a.md")
    theirs = memory_text("Theirs. Old.")
    place.write_text(theirs)
    for tool, given_ in (
        ("Edit", {"old_string": "Old.", "new_string": "New."}),
        ("Write", {"content": memory_text("New.")}),
    ):
        said = await box.said(tool, file_path="feedback_a.md", **given_)
        assert said == "not done: it has changed since you read it; Read it again"
        assert box.last_reason == "changed"
    assert place.read_text() == theirs


async def test_ones_own_write_counts_as_read(box: Sandbox) -> None:
    await box.call("Write", file_path="a.md", content=memory_text("One."))
    await box.call("Edit", file_path="a.md", old_string="One.", new_string="Two.")
    await box.call("Write", file_path="a.md", content=memory_text("Three."))
    assert (box.memory / "a.md").read_text() == memory_text("Three.")


async def test_two_edits_of_one_answer_both_count(box: Sandbox) -> None:
    box.remember("a.md", "One. Two.")
    await box.call("Read", file_path="a.md")
    async with anyio.create_task_group() as side_by_side:
        for old, new in (("One", "1"), ("Two", "2")):
            side_by_side.start_soon(edit, box, old, new)
    assert (box.memory / "a.md").read_text() == memory_text("1. 2.")


async def edit(box: Sandbox, old: str, new: str) -> None:
    await box.call("Edit", file_path="a.md", old_string=old, new_string=new)


async def test_an_edit_that_is_not_clear_is_refused_in_words(box: Sandbox) -> None:
    box.remember("a.md", "Tabs. Tabs.")
    await box.call("Read", file_path="a.md")
    for old, new, words in (
        ("Tabs.", "Spaces.", "2 times"),
        ("spaces", "tabs", "not in the file"),
        ("", "x", "not in the file"),
        ("Tabs. Tabs.", "Tabs. Tabs.", "the same"),
        ("Tabs. Tabs.", " ", "text below its header"),
        ("type: feedback", "type: rant", "starts with a header"),
        ("Tabs. Tabs.", "x" * 300_000, "at most"),
    ):
        said = await box.said("Edit", file_path="a.md", old_string=old, new_string=new)
        assert words in said
    await box.call("Edit", file_path="a.md", old_string="bs.", new_string="s.", replace_all=True)
    assert "Tas. Tas." in (box.memory / "a.md").read_text()
    gone = await box.said("Edit", file_path="none.md", old_string="a", new_string="b")
    assert "there is no such memory" in gone


async def test_a_file_keeps_its_own_line_ends(box: Sandbox) -> None:
    place = box.remember("a.md", "")
    place.write_bytes(memory_text("One.\nTwo.\nThree.").replace("\n", "\r\n").encode())
    assert "\r" not in await box.call("Read", file_path="a.md")
    await box.call("Edit", file_path="a.md", old_string="One.\nTwo.", new_string="1.\n2.")
    assert place.read_bytes().endswith(b"---\r\n\r\n1.\r\n2.\r\nThree.\r\n")


async def test_what_the_budget_kept_from_the_model_was_not_read(tmp_path: Path) -> None:
    with sandbox(tmp_path, RunLimits(read_bytes=10)) as box:
        box.remember("a.md", "Old.")
        assert "may not read" in await box.said("Read", file_path="a.md")
        said = await box.said("Edit", file_path="a.md", old_string="Old.", new_string="New.")
        assert "Read it first" in said


async def test_an_edit_that_would_grow_without_end_is_refused_before_it_does(box: Sandbox) -> None:
    box.remember("a.md", "a" * 200_000)
    await box.call("Read", file_path="a.md")
    bomb = {"old_string": "a", "new_string": "b" * 200_000, "replace_all": True}
    assert "at most" in await box.said("Edit", file_path="a.md", **bomb)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "no-header"),
        ("just text", "no-header"),
        (memory_text("x", type=""), "no-header"),
        (memory_text("x", type="opinion"), "no-header"),
        (memory_text("x", description=""), "no-header"),
        (memory_text(""), "empty"),
        (memory_text("x" * 300_000), "too-large"),
    ],
)
async def test_what_is_no_memory_is_not_written(tmp_path: Path, content: str, reason: str) -> None:
    with sandbox(tmp_path, RunLimits(written_bytes=10_000_000)) as box:
        with pytest.raises(ToolError):
            await box.call("Write", file_path="a.md", content=content)
        assert box.last_reason == reason
        assert not (box.memory / "a.md").exists()


async def test_the_index_is_not_written_by_hand(box: Sandbox) -> None:
    (box.memory / "MEMORY.md").write_text("- [A](a.md) — x\n")
    await box.call("Read", file_path="MEMORY.md")
    for tool, given_ in (
        ("Write", {"content": memory_text("x")}),
        ("Edit", {"old_string": "A", "new_string": "B"}),
    ):
        assert "kept by itself" in await box.said(tool, file_path="MEMORY.md", **given_)


async def test_a_secret_in_a_memory_is_masked_and_the_model_told(box: Sandbox) -> None:
    said = await box.call("Write", file_path="a.md", content=memory_text(f"Use {TOKEN}."))
    assert said.endswith("a.md; what looked like a secret in it was masked")
    assert TOKEN not in (box.memory / "a.md").read_text()
    await box.call("Edit", file_path="a.md", old_string="[secret: github-token]", new_string="it")
    assert "Use it." in (box.memory / "a.md").read_text()


async def test_a_writer_is_not_raced_out_of_the_memory(box: Sandbox) -> None:
    (box.memory / "sub").mkdir()
    (box.outside / "trap").symlink_to(box.outside)
    written = 0
    with swapping(box.memory / "sub", box.outside / "trap"):
        for number in range(150):
            said = await box.said(
                "Write", file_path=f"sub/n{number}.md", content=memory_text("x", name=str(number))
            )
            written += said.startswith("saved")
    assert written > 0
    assert [path.name for path in box.outside.iterdir() if path.suffix == ".md"] == ["canary.md"]


async def test_a_reader_is_not_raced_out_of_the_project(box: Sandbox) -> None:
    box.put("sub/canary.md", "harmless")
    (box.outside / "trap").symlink_to(box.outside)
    read = 0
    with swapping(box.project / "sub", box.outside / "trap"):
        for _ in range(300):
            said = await box.said("Read", file_path=f"{box.project}/sub/canary.md")
            read += "harmless" in said
            assert CANARY not in said
        for _ in range(10):
            assert CANARY not in await box.said("Bash", command="cat sub/canary.md")
            assert CANARY not in await box.said("Grep", pattern="a", path=str(box.project))
    assert read > 0


@contextmanager
def swapping(one: Path, other: Path) -> Iterator[None]:
    """Exchanges the two names all the while."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "renameat2"):
        pytest.skip("no call that exchanges two names at once")
    done = threading.Event()

    def swap() -> None:
        while not done.wait(0.0002):
            libc.renameat2(-100, bytes(one), -100, bytes(other), 2)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        yield
    finally:
        done.set()
        swapper.join()


async def test_only_a_disk_that_fails_is_called_one(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    long, new = "a" * 300 + ".md", memory_text("x")
    await box.said("Read", file_path=long)
    await box.said("Write", file_path=long, content=new)
    await box.said("Write", file_path="a/" * 60 + "b.md", content=new)
    box.put("plain/a.md", "x")
    await box.said("Read", file_path=str(box.project / "plain/a.md/b.md"))
    assert "storage" not in {one.reason for one in box.tools.outcomes}

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "write", full)
    await box.said("Write", file_path="a.md", content=new)
    assert box.last_reason == "storage"


@pytest.mark.skipif(not landlock_abi(), reason="this kernel has no Landlock")
async def test_the_kernel_holds_a_writer_whose_checks_are_gone(box: Sandbox) -> None:
    class Astray(Store):
        def write(self, directory: MemoryDirectory, *args: object, **more: object) -> Stored:
            (box.outside / "canary.md").write_text("overwritten")
            raise AssertionError("the kernel let it pass")

    box.store = Astray(History(box.state), now=lambda: 0.0)
    box.new_run()
    with pytest.raises(ToolError):
        await box.call("Write", file_path="a.md", content=memory_text("x"))
    assert (box.outside / "canary.md").read_text() == CANARY


# --- the run


async def test_what_is_read_and_written_is_charged(tmp_path: Path) -> None:
    with sandbox(tmp_path, RunLimits(read_bytes=3000, written_bytes=200)) as box:
        box.put("a.txt", "x" * 1900)
        await box.call("Read", file_path="a.txt")
        for tool, given_ in (
            ("Read", {"file_path": "a.txt"}),
            ("Bash", {"command": "cat a.txt"}),
            ("Grep", {"pattern": "x" * 1000, "path": "a.txt"}),
        ):
            said = await box.said(tool, **given_)
            assert "may not read that much more" in said or tool == "Grep"
        assert box.tools.outcomes[1].reason == "limit"
        await box.call("Write", file_path="a.md", content=memory_text("One."))
        said = await box.said("Write", file_path="b.md", content=memory_text("x" * 200))
        assert "may not write that much more" in said
        assert not (box.memory / "b.md").exists()


async def test_every_attempt_leaves_an_outcome_without_contents(box: Sandbox) -> None:
    box.put("a.txt", CANARY)
    await box.said("Read", file_path="a.txt")
    await box.said("Read", file_path="/etc/passwd")
    await box.said("Write", file_path="x.py", content=memory_text(CANARY))
    await box.said("Bash", command=f"cat {TOKEN}")
    assert [(one.tool, one.verdict, one.reason) for one in box.tools.outcomes] == [
        ("Read", "ok", ""),
        ("Read", "refused", "outside"),
        ("Write", "refused", "not-markdown"),
        ("Bash", "refused", "no-file"),
    ]
    assert CANARY not in str(box.tools.outcomes)
    assert TOKEN not in str(box.tools.outcomes)


async def test_an_evil_model_gets_nothing_through_the_whole_loop(box: Sandbox) -> None:
    toolbox: Toolbox = box.tools
    evil = [
        *(Call("Write", {"file_path": path, "content": "x"}) for path in HOSTILE_PATHS[:40]),
        *(Call("Bash", {"command": command}) for command in ATTACKS[:30]),
        *(Call("Read", {"file_path": path}) for path in HOSTILE_PATHS[:40]),
        Call("Delete", {"file_path": "a.md"}),
        Call("Write", {"file_path": ["a.md"], "content": "x"}),
    ]
    honest = Call("Write", {"file_path": "feedback_a.md", "content": memory_text("Use tabs.")})
    job = AgentJob("extraction", "/p", "claude-haiku-5-5", (Text("s"),), (Text("o"),))
    before = box.everything_outside()
    with (
        anyio.fail_after(30),
        ScriptedModel([asks(*evil), asks(honest), says("done")]) as server,
    ):
        provider = AnthropicProvider(endpoint_at(server.base_url, Credentials()))
        report = await run(job, provider, toolbox, RunLimits(tool_calls=200))
        await provider.aclose()
    assert report.ended == "done"
    assert [attempt.tool for attempt in report.attempts if attempt.ok] == ["Write"]
    assert box.everything_outside() == before
    assert CANARY not in str([request.body for request in server.requests])
    assert (box.memory / "feedback_a.md").exists()
