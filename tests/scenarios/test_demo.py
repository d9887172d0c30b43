"""The demo does what it prints, and leaves nothing behind."""

import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from memoryd.memories.rules import retirement, topics
from memoryd_client.cli.main import main
from memoryd_client.connection.call import call
from memoryd_client.demo import home as demo_home
from memoryd_client.demo import story as demo
from memoryd_client.demo.session import Session
from memoryd_client.demo.story import STEPS, Story
from tests.support.running import COMMAND, ROOT

MINUTE = 60


@pytest.fixture
def scratch(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go, and where nothing may be left."""
    folder = tmp_path_factory.mktemp("t")
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


def environment() -> dict[str, str]:
    # A key that would be used if the demo looked for one.
    return dict(os.environ) | {
        "PYTHONPATH": f"{ROOT}:{ROOT / 'client'}",
        "ANTHROPIC_API_KEY": "not-for-the-demo",
    }


class DemoRun:
    """The output of one run of the demo, and its home."""

    def __init__(self, text: str, home: Path) -> None:
        self.text = text
        self.home = home
        (self.memory,) = home.glob(".claude/projects/*/memory")

    def all(self, pattern: str) -> list[str]:
        return re.findall(pattern, self.text, re.MULTILINE)

    def one(self, pattern: str) -> str:
        (found,) = self.all(pattern)
        return str(found)

    def step(self, title: str) -> str:
        return self.text.partition(f". {title}\n")[2].partition("\n\n")[0]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> DemoRun:
    folder = tmp_path_factory.mktemp("kept")
    done = subprocess.run(
        [*COMMAND, "demo", "--keep"],
        env=environment() | {"TMPDIR": str(folder), "HOME": str(folder / "nobody")},
        capture_output=True,
        text=True,
        timeout=MINUTE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    (home,) = folder.iterdir()
    return DemoRun(done.stdout, home)


def test_every_step_works_in_under_a_minute_and_offline(run: DemoRun) -> None:
    (last,) = re.finditer(r"^All (\d+) steps worked, in ([\d.]+) s\.$", run.text, re.MULTILINE)
    count, seconds = last.groups()
    assert int(count) == len(run.all(r"^\d+\. ")) == len(STEPS)
    assert float(seconds) < MINUTE
    assert run.one(r"its provider: (.+)") == "embedded"
    assert run.one(r"its throwaway home: (.+)") == str(run.home)


def test_the_saved_files_are_shown_as_they_are(run: DemoRun) -> None:
    files = run.all(r"saved [\d.]+ s after the answer: (\S+)$")
    assert len(files) == 3
    for file in files:
        shown = run.text.partition(f"after the answer: {file}\n")[2]
        quoted = [line[4:] for line in shown.splitlines() if line.startswith("  |")]
        # One of them was retired since.
        place = next(path for path in run.memory.rglob(file))
        text = retirement.revived_text(place.read_text(encoding="utf-8"))
        lines = text.splitlines()
        assert [line.rstrip() for line in quoted[: len(lines)]] == lines


def test_the_secret_is_only_in_the_agents_transcript(run: DemoRun) -> None:
    secret = run.one(r"(ghp_\w{36})").encode()
    holders = [
        path for path in run.home.rglob("*") if path.is_file() and secret in path.read_bytes()
    ]
    assert [path.suffix for path in holders] == [".jsonl"]
    assert "[secret: github-token]" in run.step("First session, later: a secret is masked")


def test_the_correction_supersedes_the_retired_memory(run: DemoRun) -> None:
    old = run.one(r"retired, but kept in the history: (\S+)$")
    new = run.one(r"after the answer: (\S+verify\S+)$")
    topic = topics.parse((run.memory / new).read_text(encoding="utf-8"))
    assert topic.supersedes == (old,)
    assert (run.memory / old).is_file()
    index = (run.memory / "MEMORY.md").read_text(encoding="utf-8")
    assert new in index
    assert old not in index


def test_recall_answers_with_the_correction_and_its_time(run: DemoRun) -> None:
    new = run.one(r"after the answer: (\S+verify\S+)$")
    topic = topics.parse((run.memory / new).read_text(encoding="utf-8"))
    recalled = run.all(r"recalled: (.+) \(score [\d.]+\)$")
    assert recalled[0] == topic.name
    assert float(run.one(r"answered in ([\d.]+) ms, embedded$")) > 0


def test_the_session_gets_its_notes_again(run: DemoRun) -> None:
    (notes,) = run.home.glob(".claude/projects/*/*/session-memory/summary.md")
    # The compaction updates them once more.
    assert 0 < int(run.one(r"notes of the session: (\d+) bytes")) <= len(notes.read_bytes())
    shown = run.text.partition("the hook gives the session")[2]
    quoted = [line[4:] for line in shown.splitlines() if line.startswith("  |")]
    lines = notes.read_text(encoding="utf-8").splitlines()
    assert quoted[: demo.NOTES_SHOWN] == lines[: demo.NOTES_SHOWN]


def test_the_dream_merges_two_memories_as_its_diff_says_and_is_undone(run: DemoRun) -> None:
    first, second = run.all(r"saved by hand: (.+)$")
    step = run.step("A dream merges two memories that say the same")
    (kept,) = re.findall(r"^  changed: (\S+\.md)$", step, re.MULTILINE)
    (retired,) = re.findall(r"^  retired: (\S+\.md)$", step, re.MULTILINE)
    names = {
        topics.parse((run.memory / file).read_text(encoding="utf-8")).name
        for file in (kept, retired)
    }
    assert names == {first, second}
    assert f'  | +supersedes: ".retired/{retired}"' in step.splitlines()
    undone = run.step("The dream is undone")
    assert kept in undone.partition("restored: ")[2].splitlines()[0]
    assert "supersedes" not in (run.memory / kept).read_text(encoding="utf-8")
    count = len(list(run.memory.glob("*.md")))
    assert f"all {count} files are as before the dream" in undone


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_nothing_behind(scratch: Path, number: int, code: int) -> None:
    with subprocess.Popen(
        [*COMMAND, "demo"], env=environment(), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if found := re.search(r"running as process (\d+)", line):
                break
        assert found is not None
        process.send_signal(number)
        assert process.wait(MINUTE) == code
    assert list(scratch.iterdir()) == []
    assert not is_running(int(found[1]))


@pytest.fixture
def played(
    scratch: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """Plays these steps in this process: the exit code and what went to stderr."""

    def play(*steps: Callable[[Story], None]) -> tuple[int, str]:
        monkeypatch.setattr(
            "memoryd_client.demo.story.STEPS", tuple(("step", one) for one in steps)
        )
        monkeypatch.setattr("memoryd_client.demo.story.WAIT_SECONDS", 0.5)
        monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{ROOT / 'client'}")
        code = main(["demo"])
        assert list(scratch.iterdir()) == []
        return code, capsys.readouterr().err

    return play


def test_nothing_is_left_behind(
    played: Callable[..., tuple[int, str]],
) -> None:
    seen: list[int] = []

    def look(story: Story) -> None:
        seen.append(int(str(call("ping")["pid"])))
        assert story.home.socket.is_socket()

    assert played(look) == (0, "")
    assert not is_running(seen[0])


def test_a_step_that_does_not_happen_is_exit_code_1_and_named(
    played: Callable[..., tuple[int, str]],
) -> None:
    def small_talk(story: Story) -> None:
        story._said(Session(story.home.claude, story.home.project), "What time is it?")

    code, errors = played(small_talk)
    assert code == 1
    assert "for a new memory, which did not come" in errors


def test_a_daemon_that_cannot_start_is_exit_code_1_with_its_last_line(
    played: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_home, "SERVE", "raise SystemExit('no disk today')")
    code, errors = played()
    assert code == 1
    assert "no disk today" in errors


def test_a_long_path_for_temporary_files_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / ("long" * 20)))
    assert demo_home.short_folder() == "/tmp"
