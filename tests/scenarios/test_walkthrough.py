"""Every command on the pages for newcomers prints what the page shows."""

import difflib
from pathlib import Path

import pytest

from tests.support.running import ROOT
from tests.support.walkthrough import BLOCK, Player, as_shown, commands_in, normalised


@pytest.mark.parametrize(
    "name", ["docs/walkthrough.md", "docs/your-memory.md", "docs/scopes.md", "README.md"]
)
def test_the_page_shows_what_its_commands_print(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    with Player(tmp_path_factory.mktemp("page")) as player:
        really = player.play(page)
    told = difflib.unified_diff(
        normalised(page), normalised(really), "as the page says", "as it is", lineterm=""
    )
    assert "\n".join(told) == "", f"if it is right: python -m tests.support.walkthrough {name}"


def test_a_page_that_is_wrong_is_found(tmp_path: Path) -> None:
    page = "```console\n$ echo one; cd /\n1\n$ pwd\n/\n```\n"
    with Player(tmp_path / "page") as player:
        really = player.play(page)
    assert really == "```console\n$ echo one; cd /\none\n$ pwd\n/\n```\n"
    assert normalised(page) != normalised(really)


def test_only_blocks_for_a_terminal_are_played() -> None:
    page = "```sh\n$ rm -r /\n```\n\n```console\n$ a \\\n  b\nout\n$ c\n```\n"
    (block,) = BLOCK.findall(page)
    assert commands_in(block[1]) == ["a \\\n  b", "c"]


def test_paths_look_like_those_of_an_ordinary_home(tmp_path: Path) -> None:
    slug = str(tmp_path).replace("/", "-").replace("_", "-")
    text = (
        f"{tmp_path}/src and {tmp_path}/.claude/projects/{slug}-src and {tmp_path}/run/memoryd.sock"
    )
    assert as_shown(text, tmp_path) == (
        "~/src and ~/.claude/projects/-home-you-src and /run/user/1000/memoryd.sock"
    )
