"""Read, Grep and Glob show what is open, masked, and nothing else however it is asked for."""

import os
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path

import anyio
import pytest

from memoryd.agent import search as agent_search
from memoryd.agent.toolbox import numbered
from memoryd.agent.view import View
from tests.support.sandbox import CANARY, HOSTILE_PATHS, Sandbox, memory_text, sandbox, swapping

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


async def test_no_path_lets_a_read_escape(box: Sandbox) -> None:
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


@pytest.mark.parametrize("data", [b"\x7fELF\0\0", b"text\0text", "utf-16".encode("utf-16")])
async def test_what_is_not_text_is_not_shown(box: Sandbox, data: bytes) -> None:
    box.put("a.bin", data)
    assert "it is not a text file" in await box.said("Read", file_path="a.bin")
    assert "no matches" in await box.said("Grep", pattern=".", path=str(box.project))


async def test_a_file_beyond_the_limit_is_searched_and_not_read(box: Sandbox) -> None:
    box.put("big.log", b"line\n" * 300_000 + b"the needle\n")
    assert "use Grep" in await box.said("Read", file_path="big.log")
    assert "300001: the needle" in await box.call("Grep", pattern="needle", path="big.log")


async def test_a_project_that_is_a_home_or_the_root_is_closed_but_its_memory_is_not(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(box.project))
    readable = box.put("a.txt", "plain")
    box.remember("tabs.md", "kept")
    for root in (box.project, box.project.parent, Path("/")):
        box.tools = box.tools_for(View(str(root), box.directory))
        assert "outside what you may read" in await box.said("Read", file_path=str(readable))
        assert "plain" not in await box.said("Grep", pattern="plain", path=str(box.project))
        assert "plain" not in await box.said("Bash", command=f"cat {readable}")
        assert "kept" in await box.call("Read", file_path=str(box.memory / "tabs.md"))


async def test_the_processes_and_closed_folders_are_closed_in_a_project_around_them(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/nobody-here")
    around = str(box.outside.parent)
    box.tools = box.tools_for(View(around, box.directory, closed=(str(box.outside),)))
    readable = box.put("a.txt", "plain")
    assert "plain" in await box.call("Read", file_path=str(readable))
    for path in ("/proc/self/environ", "/proc/1/cmdline", "/sys/kernel/version", "/dev/null"):
        assert "outside what you may read" in await box.said("Read", file_path=path)
    assert "outside" in await box.said("Read", file_path=str(box.outside / "canary.md"))
    assert "closed" in await box.said("Bash", command=f"find {box.outside.parent}")
    assert CANARY not in await box.said("Grep", pattern=CANARY, path=str(box.outside.parent))


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
        assert await box.call("Grep", pattern="canary", path=path) == "no matches"


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


async def test_what_matches_only_inside_a_secret_is_not_found(box: Sandbox) -> None:
    box.put("notes.txt", f"token = {TOKEN}\n")
    for pattern in (TOKEN[6:14], "(?<=ghp_).*", f"ghp_{TOKEN[4]}"):
        assert await box.call("Grep", pattern=pattern, path="notes.txt") == "no matches"
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


async def test_matches_are_listed_under_their_file_with_line_numbers(box: Sandbox) -> None:
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
    assert await box.call("Grep", pattern="x") == "no matches"
    assert await box.call("Glob", pattern="*.md") == "no matches"
    assert "no such file" in await box.said("Read", file_path="a.md")
    assert "saved" in await box.call("Write", file_path="a.md", content=memory_text("x"))


@pytest.mark.parametrize("pattern", [r"(x+x+)+y", r"^(\w+\s?)*$!", r"(.*)*(.*)*\1=q", "(a|a)+b"])
async def test_a_pattern_that_never_ends_is_ended(
    box: Sandbox, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_search, "SEARCH_SECONDS", 0.7)
    box.put("a.txt", "x" * 200 + " " + "word " * 40 + "!\n" + "a" * 200 + "\n")
    with anyio.fail_after(60):
        said = await box.said("Grep", pattern=pattern, path="a.txt")
    assert "took too long" in said or said == "no matches"


async def test_an_invalid_pattern_is_refused_in_words(box: Sandbox) -> None:
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
    assert await box.call("Grep", pattern="canary", path=str(box.project)) == "no matches"
    assert await box.call("Glob", pattern="**/x*", path=str(box.project)) == "no matches"


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
    assert await box.call("Glob", pattern="*", path=str(box.project)) == "no matches"


async def test_a_race_does_not_let_a_read_escape_the_project(box: Sandbox) -> None:
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


async def test_a_search_of_transcripts_meets_no_private_words(dream: Sandbox) -> None:
    session = dream.transcripts / "s-2.jsonl"
    session.write_text(
        '{"text":"deploy on Mondays <private>for heron</private> please"}\n'
        '{"text":"deploy on Fridays \\u003cprivate\\u003efor heron, never closed"}\n'
    )
    found = await dream.call("Grep", pattern="deploy", path=str(dream.transcripts))
    assert "deploy on Mondays [private] please" in found
    assert "heron" not in found
    assert await dream.call("Grep", pattern="heron", path=str(dream.transcripts)) == "no matches"


async def test_a_file_that_the_person_excluded_is_not_there(box: Sandbox) -> None:
    box.put("data/salaries.csv", "heron 100")
    box.put("data/prices.csv", "tea 3")
    view = View(
        str(box.project), box.directory, is_private=lambda path: path.endswith("/salaries.csv")
    )
    box.tools = box.tools_for(view)
    assert "keeps that file private" in await box.said("Read", file_path="data/salaries.csv")
    assert "keeps that file private" in await box.said("Bash", command="cat data/salaries.csv")
    found = await box.call("Grep", pattern="heron|tea", path=str(box.project))
    assert "tea 3" in found
    assert "heron" not in found
    assert "salaries" not in await box.call("Glob", pattern="**/*.csv", path=str(box.project))
