"""The command as people and scripts use it: arguments in, output and an exit code out."""

import io
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from memoryd_client import serve
from memoryd_client.cli import main, naming
from memoryd_client.version import __version__
from tests.support.scripted_daemon import Answer, Fault, Raw, Result, ScriptedDaemon

COMMAND = (
    sys.executable,
    "-c",
    "import sys; from memoryd_client.entry import main; sys.exit(main())",
)
PING = Result({"version": __version__, "pid": 4242, "uptime_seconds": 7300.5})
HEADER = {
    "path": "/m/feedback_tabs.md",
    "name": "Tabs",
    "description": "use tabs in Makefiles",
    "type": "feedback",
    "scope": "project",
    "modified": "2026-03-30T12:00:00Z",
    "age": "yesterday",
    "stale": True,
    "a field of a newer daemon": 1,
}


@pytest.fixture
def path(home: Path) -> Path:
    return home / "run" / "memoryd.sock"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def serving(path: Path, answers: Mapping[str, Answer]) -> ScriptedDaemon:
    return ScriptedDaemon(path, {"ping": PING, **answers})


def test_list_shows_a_heading_and_a_line_for_each_memory(
    path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = {"path": "/m/old.md", "retired": True}
    with serving(path, {"memory/list": Result({"memories": [HEADER, old]})}) as daemon:
        assert main.main(["list", "--scope", "user", "--type", "feedback", "--retired"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "FILE              TYPE      SCOPE    AGE        DESCRIPTION",
        "feedback_tabs.md  feedback  project  yesterday  use tabs in Makefiles",
        "old.md                               retired",
    ]
    params = {"cwd": str(project), "scope": "user", "type": "feedback", "retired": True}
    assert daemon.asked("memory/list") == [params]


def test_an_empty_list_says_how_to_begin(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(path, {"memory/list": Result({"memories": []})}):
        assert main.main(["list"]) == 0
    assert "memoryd remember" in capsys.readouterr().out


def test_a_list_can_be_of_a_date(
    path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(path, {"memory/list": Result({"memories": []})}) as daemon:
        assert main.main(["list", "--as-of", "2026-03-30"]) == 0
    assert "from that date" in capsys.readouterr().out
    assert daemon.asked("memory/list") == [{"cwd": str(project), "as_of": "2026-03-30"}]


def test_show_prints_header_and_text_as_they_are(
    path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = HEADER | {"content": "Use tabs.\n\n**Why:** make wants them.\n", "version": 3}
    with serving(path, {"memory/get": Result(answer)}) as daemon:
        assert main.main(["show", "feedback_tabs.md", "--project", "sub"]) == 0
    head, _, body = capsys.readouterr().out.partition("\n\n")
    assert "name: Tabs" in head
    assert "yesterday (check it before you rely on it)" in head
    assert body == "Use tabs.\n\n**Why:** make wants them.\n"
    assert daemon.asked("memory/get") == [{"cwd": f"{project}/sub", "path": "feedback_tabs.md"}]


def test_show_does_not_repeat_the_header_of_the_text(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = HEADER | {"content": "---\nname: Tabs\n---\n\nUse tabs.\n", "retired": True}
    with serving(path, {"memory/get": Result(answer)}):
        assert main.main(["show", "feedback_tabs.md"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("name: Tabs") == 1
    assert "retired: it no longer holds" in shown


def test_no_escape_sequence_of_a_memory_reaches_the_terminal(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "harmless\x1b]0;owned\x07\x9b2J\u202eafter\r\n"
    answer = HEADER | {"content": evil, "name": evil, "description": evil}
    answers = {"memory/get": Result(answer), "memory/list": Result({"memories": [answer]})}
    with serving(path, answers):
        assert main.main(["show", "x"]) == 0
        assert main.main(["list"]) == 0
        assert main.main(["show", "x", "--json"]) == 0
    shown = capsys.readouterr().out
    assert not {"\x1b", "\x07", "\x9b", "\u202e", "\r"} & set(shown)
    assert shown.count("harmless") == 7


def test_remember_saves_the_text_word_for_word(
    path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(path, {"memory/save": Result({"path": "/m/f.md", "version": 1})}) as daemon:
        assert main.main(["remember", "Use", "tabs in Makefiles, always and", "everywhere."]) == 0
    assert capsys.readouterr().out == "remembered in /m/f.md\n"
    text = "Use tabs in Makefiles, always and everywhere."
    assert daemon.asked("memory/save") == [
        {
            "cwd": str(project),
            "name": "Use tabs in Makefiles, always and everywhere",
            "description": text,
            "type": "feedback",
            "body": text,
            "scope": "auto",
        }
    ]


def test_remember_prefers_what_the_person_gives(path: Path, project: Path) -> None:
    words = ["--name", "N", "--description", "D", "--type", "user", "--scope", "team"]
    with serving(path, {"memory/save": Result({})}) as daemon:
        assert main.main(["remember", "text", *words, "--supersedes", "old.md"]) == 0
    assert daemon.asked("memory/save") == [
        {
            "cwd": str(project),
            "name": "N",
            "description": "D",
            "type": "user",
            "body": "text",
            "scope": "team",
            "supersedes": "old.md",
        }
    ]


def test_remember_reads_a_lone_dash_from_input(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = io.BytesIO(b"The first line.\n\nMore \xff.\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(typed))
    with serving(path, {"memory/save": Result({})}) as daemon:
        assert main.main(["remember", "-"]) == 0
    (params,) = daemon.asked("memory/save")
    assert isinstance(params, dict)
    assert params["body"] == "The first line.\n\nMore �."
    assert params["description"] == "The first line."


def test_an_empty_text_is_not_remembered(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(path, {}) as daemon:
        assert main.main(["remember", "  "]) == 1
    assert "nothing to remember" in capsys.readouterr().err
    assert daemon.asked("memory/save") == []


def test_a_long_line_is_described_by_its_whole_words() -> None:
    description = naming.description_for("word " * 100)
    assert len(description) <= naming.DESCRIPTION_CHARACTERS
    assert description.endswith("word…")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Use tabs.", "Use tabs"),
        ("Use tabs. Never spaces.", "Use tabs"),
        ("Version 1.2 is out, at last", "Version 1.2 is out, at last"),
        (
            "The staging shop is reset every night at 2.",
            "The staging shop is reset every night at 2",
        ),
        ("word, " * 100, "word, word, word, word, word, word, word, word, word…"),
        ("x" * 100, "x" * 59 + "…"),
        ("e.g. this is odd", "e.g. this is odd"),
        ("-- ...", "note"),
        ("", "note"),
    ],
)
def test_a_name_is_the_first_sentence_or_shows_that_it_is_cut(text: str, name: str) -> None:
    assert naming.name_for(text) == name


@pytest.mark.parametrize(
    ("name", "description", "title"),
    [
        ("Tabs", "use tabs in Makefiles", "Tabs"),
        ("Use tabs in", "Use tabs in Makefiles.", "Use tabs in Makefiles."),
        ("Use tabs…", "use tabs in Makefiles", "use tabs in Makefiles"),
        ("Tabs", "", "Tabs"),
        ("", "use tabs", "use tabs"),
    ],
)
def test_a_title_is_never_cut(name: str, description: str, title: str) -> None:
    assert naming.title_of(name, description) == title


def test_recall_shows_titles_types_and_scopes(
    path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = HEADER | {"name": "use tabs in", "type": "project", "content": "Use tabs.\n"}
    answer = {"memories": [cut], "elapsed_ms": 1.25, "selector": "embedded"}
    with serving(path, {"recall": Result(answer)}) as daemon:
        assert main.main(["recall", "tabs", "or blanks?", "--limit", "3"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "use tabs in Makefiles  project memory, project scope, yesterday",
        "/m/feedback_tabs.md",
        "  Use tabs.",
        "  (older than a day: check it before you rely on it)",
        "",
        "1 memory matches (1.2 ms, embedded)",
    ]
    assert daemon.asked("recall") == [{"query": "tabs or blanks?", "cwd": str(project), "limit": 3}]


@pytest.mark.parametrize(
    ("memories", "words"), [([], "no memories match"), ([HEADER, HEADER], "2 memories match")]
)
def test_recall_counts_its_matches(
    path: Path, capsys: pytest.CaptureFixture[str], memories: list[object], words: str
) -> None:
    with serving(path, {"recall": Result({"memories": memories})}):
        assert main.main(["recall", "x"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith(words)


def test_restore_prints_the_version(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(path, {"memory/restore": Result({"path": "/m/x.md", "version": 2})}):
        assert main.main(["restore", "x.md"]) == 0
    assert capsys.readouterr().out == "restored /m/x.md, now version 2\n"


def test_forget_says_how_to_undo_it(
    path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {"path": "/m/x.md", "description": "tabs"}
    answers = {"memory/get": Result(found), "memory/forget": Result({"version": 7})}
    with serving(path, answers) as daemon:
        assert main.main(["forget", "x.md"]) == 0
    assert capsys.readouterr().out == "forgot x.md. Undo: memoryd restore x.md\n"
    assert daemon.asked("memory/forget") == [{"cwd": str(project), "path": "/m/x.md"}]


@pytest.mark.parametrize(("word", "enabled"), [("on", True), ("off", False)])
def test_the_switch_is_for_this_project_unless_it_is_for_all(
    path: Path, project: Path, capsys: pytest.CaptureFixture[str], word: str, enabled: bool
) -> None:
    with serving(path, {"switch": Result({"enabled": enabled})}) as daemon:
        assert main.main([word]) == 0
        assert main.main([word, "--all"]) == 0
    here, everywhere = capsys.readouterr().out.splitlines()
    assert here == f"memory is {word} for {project}"
    assert everywhere == f"memory is {word} for all projects"
    assert daemon.asked("switch") == [
        {"enabled": enabled, "cwd": str(project)},
        {"enabled": enabled},
    ]


def test_stop_warns_that_a_service_comes_back(
    path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(path, {"shutdown": Result({})}):
        assert main.main(["stop"]) == 0
        assert capsys.readouterr().out == "memoryd is stopping\n"
        install_unit_file(home)
        assert main.main(["stop"]) == 0
        assert "systemctl --user stop memoryd.socket" in capsys.readouterr().out


def install_unit_file(home: Path) -> None:
    unit = home / ".config/systemd/user/memoryd.service"
    unit.parent.mkdir(parents=True)
    unit.touch()


JSON_CALLS: list[tuple[list[str], str]] = [
    (["status"], "status"),
    (["list"], "memory/list"),
    (["show", "x"], "memory/get"),
    (["remember", "x"], "memory/save"),
    (["on"], "switch"),
    (["off"], "switch"),
    (["stop"], "shutdown"),
]


@pytest.mark.parametrize(("words", "method"), JSON_CALLS)
def test_json_is_the_daemons_answer_and_nothing_else(
    path: Path, capsys: pytest.CaptureFixture[str], words: list[str], method: str
) -> None:
    answer = {"anything": ["ü", 1, None], "nested": {"a": True}}
    with serving(path, {method: Result(answer)}):
        assert main.main([*words, "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out) == answer
    assert captured.err == ""


@pytest.mark.parametrize("words", [words for words, _ in JSON_CALLS])
def test_without_a_daemon_the_code_is_69_with_the_next_step(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert main.main(words) == 69
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "memoryd serve" in captured.err


WORDS = {"action": "list", "memory": "x.md", "text": "x", "query": "x", "file": "absent/x"}
COMMANDS = main.command_line().by_name


def words_for(name: str) -> list[str]:
    """The shortest valid command line for a command."""
    required = (one for one in COMMANDS[name]._get_positional_actions() if one.required)
    return [name, *(WORDS[one.dest] for one in required if one.nargs != "*")]


ASKING = [
    words_for(name)
    for name, command in COMMANDS.items()
    if command.get_default("needs_daemon") or name == "status"
]


@pytest.mark.parametrize("words", ASKING, ids=" ".join)
def test_a_failure_is_json_too_with_json(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert main.main([*words, "--json"]) == 69
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert (answer["error"]["kind"], answer["exit_code"]) == ("not-running", 69)
    assert "memoryd serve" in answer["error"]["hint"]
    assert "memoryd serve" in captured.err


def test_a_refusal_is_json_with_the_daemons_kind_and_hint(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fault = Fault(-32001, "no memory is called x", "not-found", "memoryd list shows them")
    with serving(path, {"memory/get": fault}):
        assert main.main(["show", "x", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"] == {
        "kind": "not-found",
        "message": "no memory is called x",
        "hint": "memoryd list shows them",
    }


def test_a_refusal_is_code_1_with_the_daemons_hint(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fault = Fault(-32001, "no memory is called x\x1b[2J", "not-found", "memoryd list shows them")
    with serving(path, {"memory/get": fault}):
        assert main.main(["show", "x"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["memoryd: no memory is called x�[2J", "  memoryd list shows them"]


WRONG_USAGE = [
    ["no-such-command"],
    ["show"],
    ["list", "--type", "nonsense"],
    ["list", "--ty", "user"],
    ["logs", "-n", "many"],
    ["logs", "-n", "-1"],
    ["install"],
    ["uninstall"],
]


@pytest.mark.parametrize("words", WRONG_USAGE, ids=" ".join)
def test_wrong_usage_is_code_2_with_what_to_type(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "--" in captured.err.splitlines()[-1]
    assert main.main([*words, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "usage"


def test_a_mistyped_command_is_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["recal", "x"]) == 2
    assert "there is no command recal; did you mean recall?" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["help"], ["--help"], ["help", "recall"], ["recall", "-h"]])
def test_help_is_there_by_every_name(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main.main(words)
    assert "usage: memoryd" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("is_service", "again"), [(False, "memoryd stop"), (True, "systemctl --user restart memoryd")]
)
def test_another_version_is_one_warning_with_the_restart(
    path: Path, home: Path, capsys: pytest.CaptureFixture[str], is_service: bool, again: str
) -> None:
    if is_service:
        install_unit_file(home)
    answers = {"ping": Result({"version": "0.0.1"}), "memory/list": Result({"memories": []})}
    with ScriptedDaemon(path, answers):
        assert main.main(["list", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {"memories": []}
    (line,) = captured.err.splitlines()
    assert "0.0.1" in line
    assert __version__ in line
    assert again in line


def test_a_daemon_without_ping_is_not_an_obstacle(path: Path) -> None:
    answers: dict[str, Answer] = {
        "ping": Fault(-32601, "?"),
        "memory/list": Result({"memories": []}),
    }
    with ScriptedDaemon(path, answers):
        assert main.main(["list"]) == 0


def test_a_daemon_that_talks_nonsense_is_code_1(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ScriptedDaemon(path, {"ping": Raw(b"HTTP/1.1 200 OK\n")}):
        assert main.main(["status"]) == 1
    assert "memoryd doctor" in capsys.readouterr().err


def test_a_folder_that_is_gone_is_reported(
    project: Path, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project.rmdir()
    with serving(path, {"memory/list": Result({"memories": []})}):
        assert main.main(["list"]) == 1
    assert "--project" in capsys.readouterr().err


def test_serve_without_the_daemons_package_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "memoryd.daemon.main", None)
    assert main.main(["serve"]) == 1
    assert "memoryd.daemon.main is not installed" in capsys.readouterr().err


def write_log(home: Path, *events: str) -> Path:
    log = home / ".local/state/memoryd/memoryd.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8") as file:
        for event in events:
            file.write(json.dumps({"event": event, "level": "info", "timestamp": "x"}) + "\n")
    return log


def test_the_greeting_in_a_terminal_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "argv", [".venv/bin/memoryd", "serve"])
    assert serve.greeting(shows_log=False).endswith("In another terminal, type: .venv/bin/memoryd")


def test_logs_need_no_daemon(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["logs"]) == 1
    assert "no log yet" in capsys.readouterr().err
    write_log(home, "one", "two", "three")
    assert main.main(["logs", "-n", "2"]) == 0
    assert [row.split()[2] for row in capsys.readouterr().out.splitlines()] == ["two", "three"]
    assert main.main(["logs", "--json", "-n", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["event"] == "three"
    assert main.main(["logs", "--level", "error"]) == 0
    assert capsys.readouterr().out == ""


def test_a_log_that_cannot_be_read_is_reported(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_log(home, "one").unlink()
    (home / ".local/state/memoryd/memoryd.log").mkdir()
    assert main.main(["logs"]) == 1
    assert "memoryd.log: Is a directory" in capsys.readouterr().err


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_an_example_and_json(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as leaving:
        main.main([name, "--help"])
    assert leaving.value.code == 0
    shown = " ".join(capsys.readouterr().out.split())
    command = COMMANDS[name]
    assert re.search(r"example: .*memoryd ", shown)
    assert all(action.help for action in command._actions)
    without_json = {"serve", "hook", "mcp", "demo", "manual", "completions", "statusline"}
    without_json |= {"schema", "shell"}  # JSON itself, and a script
    assert (name in without_json) != ("--json" in command._option_string_actions)


def test_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main.main(["--version"])
    assert capsys.readouterr().out == f"memoryd {__version__}\n"
