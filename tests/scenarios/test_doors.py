"""Every way to save a memory refuses the same, and a person may insist: command, MCP, socket."""

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.test_extraction import Session, finished_run, with_model
from tests.scenarios.test_mcp import request, talk
from tests.support.running import Daemon, Peer, make_home
from tests.support.scripted_model import ScriptedModel, says

TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
CLAUDE_MD = "# Here\n\n- Use tabs in Makefiles.\n@more.md\n"
EXCLUDED = [
    ("The parser lives in lib/parse.rs", "what the code or its history shows"),
    ("Always use tabs in Makefiles", 'already say "Use tabs in Makefiles.'),
    ("Never deploy on Fridays", 'already say "Never deploy on Fridays'),
    ("Generated files are never edited", 'already say "Generated files are never edited'),
    (f"My key is {TOKEN}", "nothing in this but a secret"),
]

_numbers = count()


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One for all of these tests: each has a project of its own."""
    running = Daemon(make_home(tmp_path_factory.mktemp("doors"))).start()
    yield running
    running.end()


@pytest.fixture
def own_daemon(home: Path) -> Iterator[Daemon]:
    made = Daemon(home)
    yield made
    made.end()


@pytest.fixture
def project(daemon: Daemon) -> str:
    return project_in(daemon, f"app{next(_numbers)}")


def project_in(daemon: Daemon, name: str) -> str:
    """A project whose instructions are in its CLAUDE.md, in an import and in a rule."""
    folder = daemon.home / name
    (folder / ".claude/rules").mkdir(parents=True)
    (folder / "CLAUDE.md").write_text(CLAUDE_MD)
    (folder / "more.md").write_text("Never deploy on Fridays.\n")
    (folder / ".claude/rules/gen.md").write_text(
        "---\npaths: gen/**\n---\nGenerated files are never edited.\n"
    )
    return str(folder)


def session_in(daemon: Daemon, project: str) -> Session:
    name = Path(project).name
    return Session(daemon.home, name, name)


def failure(peer: Peer, method: str, **params: Any) -> dict[str, Any]:
    """What the daemon says about a request that it refuses."""
    found: dict[str, Any] = peer.ask(method, **params)["error"]["data"]
    return found


def memories(daemon: Daemon, project: str) -> list[dict[str, Any]]:
    with daemon.peer() as peer:
        found: list[dict[str, Any]] = peer.call("memory/list", cwd=project)["memories"]
        return found


def test_every_door_refuses_what_needs_no_memory(daemon: Daemon, project: str) -> None:
    env = daemon.env | {"CLAUDE_PROJECT_DIR": project}
    for text, reason in EXCLUDED:
        done = daemon.run("remember", text, "--project", project)
        assert done.returncode == 1
        assert reason in done.stderr
        assert "--anyway" in done.stderr
        arguments = {"text": text, "type": "project"}
        (answer,) = talk(env, request("tools/call", name="remember", arguments=arguments))
        assert answer["result"]["isError"] is True
        said = answer["result"]["content"][0]["text"]
        assert reason in said
        assert "anyway" not in said
        with daemon.peer() as peer:
            save = {"cwd": project, "name": "n", "description": "d", "type": "user", "body": text}
            assert failure(peer, "memory/save", **save)["kind"] == "refused"
            insists = failure(peer, "memory/save", **save, by="agent", anyway=True)
            assert insists["kind"] == "refused"
    assert memories(daemon, project) == []


def test_a_person_may_insist_and_a_secret_stays_masked(daemon: Daemon, project: str) -> None:
    for text, _ in EXCLUDED:
        done = daemon.run("remember", text, "--anyway", "--project", project)
        assert done.returncode == 0, done.stderr
    assert len(memories(daemon, project)) == len(EXCLUDED)
    saved = "".join(path.read_text() for path in Path(daemon.home).rglob("memory/*.md"))
    assert TOKEN not in saved


def test_text_beside_a_secret_is_saved_without_it(daemon: Daemon, project: str) -> None:
    text = f"The sandbox key is {TOKEN}, use it only for demos"
    assert daemon.run("remember", text, "--project", project).returncode == 0
    saved = "".join(path.read_text() for path in Path(daemon.home).rglob("memory/*.md"))
    assert "use it only for demos" in saved
    assert TOKEN not in saved


def test_what_holds_everywhere_may_be_saved_for_every_project(own_daemon: Daemon) -> None:
    """The project's CLAUDE.md says it for the project alone."""
    daemon = own_daemon.start()
    project = project_in(daemon, "app")
    text = "Use tabs in Makefiles"
    done = daemon.run("remember", text, "--scope", "user", "--project", project)
    assert done.returncode == 0, done.stderr
    Path(daemon.home, ".claude/CLAUDE.md").write_text("Answer in English.\n")
    done = daemon.run("remember", "Answer in English", "--scope", "user", "--project", project)
    assert done.returncode == 1


def test_a_changed_instruction_file_is_read_again(daemon: Daemon, project: str) -> None:
    assert daemon.run("remember", "Use tabs in Makefiles", "--project", project).returncode == 1
    Path(project, "CLAUDE.md").write_text("Nothing much.\n")
    assert daemon.run("remember", "Use tabs in Makefiles", "--project", project).returncode == 0


def test_a_secret_in_an_instruction_is_not_told_on(daemon: Daemon, project: str) -> None:
    Path(project, "CLAUDE.md").write_text(f"The demo key {TOKEN} is for the trade fair.\n")
    done = daemon.run(
        "remember", f"The demo key {TOKEN} is for the trade fair", "--project", project
    )
    assert done.returncode == 1
    assert TOKEN not in done.stderr


def test_extraction_does_not_repeat_an_instruction(daemon: Daemon, project: str) -> None:
    session = session_in(daemon, project)
    assert session.cwd == project
    message = "Remember to always use tabs in Makefiles. From now on, write changelogs in Danish."
    finished_run(daemon, lambda: session.turn(message, "Understood."))
    (text,) = session.files().values()
    assert "Danish" in text
    with daemon.peer() as peer:
        assert peer.call("inbox/list", cwd=project)["items"] == []


def test_a_model_is_told_what_is_written_down(own_daemon: Daemon, home: Path) -> None:
    daemon = own_daemon
    folder = home / "app"
    folder.mkdir()
    (folder / "CLAUDE.md").write_text(f"Use tabs in Makefiles.\nThe key is {TOKEN}\n")
    with ScriptedModel([says("Nothing to keep.")]) as model:
        with_model(daemon, model).start()
        session = Session(home)
        finished_run(daemon, lambda: session.turn("From now on, use tabs.", "Understood."))
        opening = json.dumps(model.requests[0].body["messages"][0])
    assert "Already written down" in opening
    assert "| Use tabs in Makefiles." in opening
    assert TOKEN not in opening


def test_a_waiting_statement_meets_the_same_door(daemon: Daemon, project: str) -> None:
    session = session_in(daemon, project)
    for words in ("We use pnpm for the web client.", "I prefer short answers without lists."):
        finished_run(daemon, lambda words=words: session.turn(words, "Understood."))
    Path(project, "CLAUDE.md").write_text("We use pnpm for the web client.\n")
    with daemon.peer() as peer:
        first, second = (one["id"] for one in peer.call("inbox/list", cwd=project)["items"])
        error = failure(peer, "inbox/accept", ids=[first])
        assert error["kind"] == "refused"
    done = daemon.run("inbox", "accept", "--all", "--project", project)
    assert done.returncode == 1
    assert done.stdout.startswith("remembered in ")
    assert f"{first}: not saved: your instruction files already say" in done.stderr
    with daemon.peer() as peer:
        changed = {"ids": [first], "text": "The parser lives in lib/parse.rs"}
        assert failure(peer, "inbox/edit", **changed)["kind"] == "refused"
        assert peer.call("inbox/edit", **changed, anyway=True)["kept"][0]["is_new"] is True
        assert peer.call("inbox/list", cwd=project)["items"] == []
    assert second


# --- memoryd edit ----------------------------------------------------------------------------


def editor(daemon: Daemon, tmp_path: Path, script: str) -> None:
    program = tmp_path / "editor"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o700)
    daemon.env["EDITOR"] = str(program)
    daemon.env["TMPDIR"] = str(tmp_path)


def remembered(daemon: Daemon, project: str, text: str) -> Path:
    done = daemon.run("remember", text, "--scope", "project", "--json", "--project", project)
    return Path(json.loads(done.stdout)["path"])


def test_a_memory_is_changed_in_the_editor(daemon: Daemon, project: str, tmp_path: Path) -> None:
    path = remembered(daemon, project, "Answer in Danish")
    editor(daemon, tmp_path, "sed -i 's/Danish/Norwegian/' \"$1\"")
    done = daemon.run("edit", path.name, "--project", project)
    assert done.stdout == f"changed {path}. Undo: memoryd restore {path.name}\n"
    assert "Answer in Norwegian" in path.read_text()
    assert "type: feedback" in path.read_text()
    assert "Norwegian" in (path.parent / "MEMORY.md").read_text()
    assert list(tmp_path.glob("memoryd-*")) == []
    editor(daemon, tmp_path, "true")
    assert "is unchanged" in daemon.run("edit", path.name, "--project", project).stdout


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("sed -i 's/^type:.*/type: opinion/' \"$1\"", "the header has no valid type"),
        ("sed -i '/^name:/d' \"$1\"", "the header has no name"),
        ("echo 'Just this line.' > \"$1\"", "the header cannot be read"),
        ("sed -i '/Danish/!b;/^[nd]/!d' \"$1\"", "there is no text left"),
        ("sed -i '$s/.*/The parser lives in lib\\/parse.rs/' \"$1\"", "what the code"),
        ("sed -i '$s/.*/Use tabs in Makefiles/' \"$1\"", "already say"),
        ("sed -i 's/Danish/Finnish/' \"$1\"; exit 3", "ended with 3"),
    ],
)
def test_a_text_that_cannot_be_saved_is_kept_for_the_person(
    daemon: Daemon, project: str, tmp_path: Path, script: str, reason: str
) -> None:
    path = remembered(daemon, project, "Answer in Danish")
    before = path.read_bytes()
    editor(daemon, tmp_path, script)
    done = daemon.run("edit", path.name, "--project", project)
    assert done.returncode == 1
    assert reason in done.stderr
    assert path.read_bytes() == before
    (kept,) = tmp_path.glob("memoryd-*.md")
    assert f"your text is in {kept}" in done.stderr
    assert kept.read_text() != before.decode()


def test_an_edit_never_overwrites_a_newer_version(
    daemon: Daemon, project: str, tmp_path: Path
) -> None:
    path = remembered(daemon, project, "Answer in Danish")
    editor(
        daemon, tmp_path, f"sed -i 's/Danish/Norwegian/' \"$1\"; sed -i 's/Danish/Dutch/' {path}"
    )
    done = daemon.run("edit", path.name, "--project", project)
    assert done.returncode == 1
    assert "was changed meanwhile; it stays as it is" in done.stderr
    assert "Dutch" in path.read_text()
    (kept,) = tmp_path.glob("memoryd-*.md")
    assert "Norwegian" in kept.read_text()
    history = daemon.run("history", path.name, "--json", "--project", project).stdout
    assert "refused" in {one["cause"] for one in json.loads(history)["versions"]}


def test_a_secret_typed_in_the_editor_is_masked(
    daemon: Daemon, project: str, tmp_path: Path
) -> None:
    path = remembered(daemon, project, "Answer in Danish")
    editor(daemon, tmp_path, f'echo "The demo key is {TOKEN}." >> "$1"')
    assert daemon.run("edit", path.name, "--project", project).returncode == 0
    assert "The demo key is" in path.read_text()
    assert TOKEN not in path.read_text()


def test_the_socket_refuses_a_version_that_never_was(daemon: Daemon, project: str) -> None:
    path = remembered(daemon, project, "Answer in Danish")
    with daemon.peer() as peer:
        edit = {"cwd": project, "path": path.name, "content": path.read_text() + "More.\n"}
        assert failure(peer, "memory/edit", **edit, version=9)["kind"] == "not-found"
        assert failure(peer, "memory/edit", **edit)["kind"] == "invalid-params"
        assert peer.call("memory/edit", **edit, version=1)["version"] == 2


def test_what_the_agent_concluded_is_the_persons_once_they_edited_it(
    daemon: Daemon, project: str, tmp_path: Path
) -> None:
    env = daemon.env | {"CLAUDE_PROJECT_DIR": project}
    arguments = {"text": "Deploys go out on Thursdays", "type": "project"}
    (answer,) = talk(env, request("tools/call", name="remember", arguments=arguments))
    path = Path(answer["result"]["content"][0]["text"].removeprefix("Saved as ").rstrip("."))
    assert "trust: agent-concluded" in path.read_text()
    editor(daemon, tmp_path, "sed -i 's/Thursdays/Mondays/' \"$1\"")
    assert daemon.run("edit", path.name, "--project", project).returncode == 0
    assert "trust: user-said" in path.read_text()
