"""The plugin in a real Neovim, headless, against a real daemon: one run, looked at from all sides.

NVIM names another Neovim than the one on PATH.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from memoryd_client.cli.inbox import WHY
from memoryd_client.cli.naming import description_for, name_for
from tests.support.editors import CLIENTS, RUN_SECONDS, WAITS_IN_INBOX, World, play, program
from tests.support.socket_cases import TEXTS, socket_cases

HERE = Path(__file__).parent
DEPLOY = "We deploy on Thursdays, after the review, with make ship."


def nvim_command(script: Path) -> list[str]:
    """Neovim with nothing but the plugin, which plays a script."""
    return [
        program("nvim", "NVIM", "neovim"),
        "--headless",
        "--clean",
        "-n",
        "--cmd",
        f"set runtimepath^={CLIENTS / 'nvim'}",
        "-S",
        str(script),
    ]


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the scenario printed."""
    command = nvim_command(HERE / "nvim_scenario.lua")
    world = World(tmp_path_factory.mktemp("nvim"))
    world.daemon.env["MEMORYD_TEST_SCRIPTS"] = str(HERE)
    return play(world, command)


def test_nothing_is_loaded_before_it_is_used(day: dict[str, Any]) -> None:
    assert not day["loaded_at_start"]


def test_the_command_completes_what_it_can_do(day: dict[str, Any]) -> None:
    assert day["completed"] == ["dream", "forget", "inbox", "list", "recall", "remember"]


@pytest.mark.parametrize("when", ["absent", "absent_again"])
def test_an_absent_daemon_is_one_line_that_says_what_to_type(
    day: dict[str, Any], when: str
) -> None:
    (line,) = day[when]
    assert line.startswith("memoryd: the daemon is not running; type: memoryd serve")
    assert "\n" not in line
    assert day["absent_statusline"] == ""


def test_a_visual_selection_is_remembered_to_the_character(day: dict[str, Any]) -> None:
    (line,) = day["remembered"]
    assert line.startswith("memoryd: remembered in feedback_deploy_thursdays")
    assert DEPLOY in day["preview"]


def test_an_event_reaches_the_editor(day: dict[str, Any]) -> None:
    assert day["event"]["kind"] == "memory/saved"
    assert day["event"]["cause"] == "user"
    assert day["event_after_restart"]["kind"] == "memory/saved"


def test_what_is_refused_says_how_to_insist(day: dict[str, Any]) -> None:
    (line,) = day["refused"]
    assert line.endswith("or use :Memory! remember")
    assert day["insisted"][0].startswith("memoryd: remembered in ")


def test_recall_offers_lines_and_shows_one_in_a_floating_window(day: dict[str, Any]) -> None:
    assert day["recalled"]["prompt"] == "Recalled:"
    assert day["recalled"]["lines"][0] == f"{DEPLOY} (feedback, project, today)"
    assert day["preview_filetype"] == "markdown"
    assert day["window_closed"] is True


def test_enter_opens_the_file_itself(day: dict[str, Any]) -> None:
    assert Path(day["opened"]["name"]).name.startswith("feedback_deploy_thursdays")
    assert day["opened"]["kind"] == ""


def test_what_is_written_there_is_known_to_be_the_persons(day: dict[str, Any]) -> None:
    assert not day["still_of_unknown_origin"]


def test_the_list_takes_filters_and_explains_a_wrong_one(day: dict[str, Any]) -> None:
    assert len(day["listed"]["lines"]) == 3
    assert day["bad_filter"] == [
        "memoryd: `type=nonsense` is not a filter; try type=feedback or scope=user"
    ]


def test_files_are_completed_from_what_is_known_already(day: dict[str, Any]) -> None:
    assert all(name.startswith("feedback_") for name in day["completed_files"])
    assert len(day["completed_files"]) == 3


def test_a_dream_is_followed_in_the_statusline(day: dict[str, Any]) -> None:
    assert day["dream"][0] == "memoryd: dream 1 has started"
    assert day["dream"][-1].startswith("memoryd: dream 1 is done: ")
    assert "memory: dream 2/4 gather" in day["dream_lines"]
    assert day["dream_lines"][-1] == ""


def test_dreams_are_asked_about_and_undone(day: dict[str, Any]) -> None:
    assert "dream" in day["dream_status"][0]
    assert len(day["dream_undone"]) == 1
    assert day["no_such_dream"] == [
        "memoryd: there is no dream sideways; there are: start, status, stop, undo"
    ]


def test_what_cannot_be_done_is_explained(day: dict[str, Any]) -> None:
    assert day["no_such_command"] == [
        "memoryd: there is no :Memory lose; try :Memory dream|forget|inbox|list|recall|remember"
    ]
    assert day["nothing_recalled"] == [
        "memoryd: nothing is remembered about that; save it with :Memory remember"
    ]


def test_lines_and_blocks_are_remembered_too(day: dict[str, Any]) -> None:
    assert "nine, in the kitchen.\nBring coffee to it, black." in day["lines"]
    assert day["block"].endswith("Friday is pizza day\nin the large room\n")


def test_what_an_agent_runs_is_not_taken_for_a_persons(day: dict[str, Any]) -> None:
    assert day["agents_event"]["cause"] == "agent"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file of another user")
def test_a_socket_of_another_user_is_not_used(day: dict[str, Any]) -> None:
    (line,) = day["stranger"]
    assert "stranger.sock belongs to another user; type: memoryd doctor" in line


def test_the_inbox_is_counted_shown_and_decided_on(day: dict[str, Any]) -> None:
    assert day["inbox_line"] == "memory: inbox 1"
    assert day["inbox"]["lines"][0].startswith(WAITS_IN_INBOX)
    assert day["inbox_window"][0] == WAITS_IN_INBOX
    assert day["accepted"][0].startswith("memoryd: remembered in ")


def test_why_a_statement_waits_is_said_in_the_words_of_the_command(day: dict[str, Any]) -> None:
    source = (CLIENTS / "nvim/lua/memoryd/inbox.lua").read_text()
    assert [words for words in WHY.values() if words not in source] == []
    assert WHY["may-last"] in "\n".join(day["inbox_window"])


def test_a_daemon_that_hangs_does_not_block_the_editor(day: dict[str, Any]) -> None:
    assert day["answered_while_frozen"] == 0


def test_a_restart_of_the_daemon_needs_nothing_from_the_person(day: dict[str, Any]) -> None:
    assert day["recalled_after_restart"]["lines"][0].startswith(DEPLOY)


def test_forgetting_says_how_to_bring_it_back(day: dict[str, Any]) -> None:
    (line,) = day["forgotten"]
    assert "is forgotten; bring it back with: memoryd restore feedback_deploy_thursdays" in line


def test_checkhealth_finds_the_daemon(day: dict[str, Any]) -> None:
    text = "\n".join(day["health"])
    assert "answers (process" in text
    assert "ERROR" not in text


def test_another_program_on_the_socket_is_named_as_such(day: dict[str, Any]) -> None:
    assert day["impostor"] == [
        "memoryd: what answers on the socket is not memoryd; type: memoryd doctor"
    ]


def test_an_unknown_option_is_explained(day: dict[str, Any]) -> None:
    is_accepted, words = day["bad_option"]
    assert is_accepted is False
    assert words == (
        "memoryd: setup(): unknown option `borders`; there are: socket, open, border, type"
    )


def test_the_plugin_finds_the_socket_and_names_texts_as_the_command_does(tmp_path: Path) -> None:
    world = World(tmp_path / "world")
    world.daemon.env["MEMORYD_TEST_SCRIPTS"] = str(HERE)
    cases = socket_cases()
    (world.scratch / "cases.json").write_text(json.dumps({"sockets": cases, "texts": TEXTS}))
    results = play(world, nvim_command(HERE / "nvim_rules.lua"))
    assert results["sockets"] == [case["expected"] for case in cases]
    assert results["texts"] == [[name_for(text), description_for(text)] for text in TEXTS]


def test_the_help_has_a_tag_for_each_command(tmp_path: Path) -> None:
    help_folder = tmp_path / "doc"
    shutil.copytree(CLIENTS / "nvim/doc", help_folder)
    nvim = program("nvim", "NVIM", "neovim")
    made = [nvim, "--headless", "--clean", "-c", f"helptags {help_folder}", "-c", "qall!"]
    subprocess.run(made, check=True, timeout=RUN_SECONDS, capture_output=True)
    tags = {line.split("\t")[0] for line in (help_folder / "tags").read_text().splitlines()}
    wanted = {"recall", "list", "remember", "forget", "dream", "inbox"}
    assert {f":Memory-{name}" for name in wanted} <= tags
    assert {"memoryd.txt", "memoryd-setup", "memoryd-statusline"} <= tags


def test_the_plugin_makes_no_globals(day: dict[str, Any]) -> None:
    assert not day["globals"]
