"""Scripts and pasted blocks are not the person's words; what is typed around them is."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.extraction.pastes import PasteHistory
from memoryd.extraction.rules.whose_words import (
    PASTE_MARK,
    as_said,
    pasted_block,
    without_pasted,
)
from memoryd.transcripts.rules.turns import Turn, TurnPart

REVIEW = "Please never merge without a test.\nAlways squash before you merge.\nThe rest is fine."


def turn(*parts: TurnPart) -> Turn:
    return Turn(
        id="t",
        ending="answered",
        session_id="s",
        cwd="/home/dev/app",
        git_branch="main",
        started="",
        ended="",
        first_offset=0,
        last_offset=0,
        parts=parts,
    )


def line(display: str, pasted: object, session: str | None = "s", project: str = "/p") -> str:
    keys = {"display": display, "pastedContents": pasted, "timestamp": 1, "project": project}
    return json.dumps(keys | ({"sessionId": session} if session else {}), separators=(",", ":"))


def test_a_script_is_not_the_person_unless_the_settings_say_so() -> None:
    said = turn(TurnPart("prompt", "always use tabs", source="sdk"), TurnPart("assistant", "ok"))
    heard = as_said(said, (), counts_scripts=False)
    assert [part.kind for part in heard.parts] == ["notice", "assistant"]
    assert heard.prompts == ()
    assert as_said(said, (), counts_scripts=True) == said


def test_a_pasted_block_becomes_printed_text_and_the_rest_stays_the_persons() -> None:
    text = f"Handle this review:\n{REVIEW}\nFrom now on reply to reviews within a day."
    heard = as_said(turn(TurnPart("prompt", text, source="typed")), [REVIEW], counts_scripts=False)
    assert [(part.kind, part.text) for part in heard.parts] == [
        (
            "prompt",
            f"Handle this review:\n{PASTE_MARK}\nFrom now on reply to reviews within a day.",
        ),
        ("printed", REVIEW),
    ]


def test_a_block_that_was_changed_on_the_way_is_found_by_its_lines() -> None:
    text = (
        "Look:\n  Please never merge without a test.\n\nAlways squash before you merge.  \nand go"
    )
    rest, cut = without_pasted(text, [REVIEW])
    assert rest == f"Look:\n{PASTE_MARK}\n\nand go"
    assert "Always squash" in cut[0]


def test_line_ends_of_other_systems_make_no_difference() -> None:
    rest, cut = without_pasted(f"see {REVIEW}", [pasted_block(REVIEW.replace("\n", "\r\n"))])
    assert (rest, cut) == (f"see {PASTE_MARK}", [REVIEW])


def test_a_short_or_unrelated_paste_changes_nothing() -> None:
    assert pasted_block("tabs") == ""
    text = "use tabs here"
    assert without_pasted(text, ["something else entirely"]) == (text, [])


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_typed_word_is_lost_around_a_paste(before: str, after: str) -> None:
    rest, cut = without_pasted(f"{before}\n{REVIEW}\n{after}", [REVIEW])
    assert (rest, cut) == (f"{before}\n{PASTE_MARK}\n{after}", [REVIEW])


def test_the_history_gives_what_was_pasted_in_a_session(home: Path) -> None:
    folder = home / ".claude"
    (folder / "paste-cache").mkdir(parents=True)
    (folder / "paste-cache/0123abcd.txt").write_text("kept in a file")
    pasted = {
        "1": {"id": 1, "type": "text", "content": "kept in the line"},
        "2": {"id": 2, "type": "text", "contentHash": "0123abcd"},
        "3": {"id": 3, "type": "text", "contentHash": "../../secret"},
        "4": {"id": 4, "type": "text", "contentHash": "gone0000"},
        "5": {"id": 5, "type": "image"},
    }
    lines = [
        line("typed only", {}),
        line("[Pasted text #1 +2 lines] and [Pasted text #2]", pasted),
        line("another", {"1": {"content": "another session's"}}, session="other"),
        line(
            "older client", {"1": {"content": "pasted by project"}}, session=None, project="/home/a"
        ),
        "not json",
        '{"pastedContents": 7}',
        '{"display": "x", "pastedContents": {"1": "text"}}',
    ]
    (folder / "history.jsonl").write_text("\n".join(lines))
    history = PasteHistory(str(folder))
    assert history.of("s", "/p") == ("kept in the line", "kept in a file")
    assert history.of("new", "/home/a") == ("pasted by project",)
    with (folder / "history.jsonl").open("a") as file:
        file.write("\n" + line("later", {"1": {"content": "pasted later"}}) + "\n")
    assert history.of("s", "/p")[-1] == "pasted later"


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe", "garbage"])
def test_without_a_readable_history_nothing_was_pasted(home: Path, kind: str) -> None:
    folder = home / ".claude"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "history.jsonl"
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "garbage":
            path.write_bytes(b"\xff\xfe{" + b"[" * 100_000)
    assert PasteHistory(str(folder)).of("s", "/p") == ()
