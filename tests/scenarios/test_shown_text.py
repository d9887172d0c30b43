"""No answer shows a secret or an invisible character, wherever the text came from."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.base import paths
from memoryd.dreams.rules.review import diffs
from memoryd.text.masking.mask import mask, mask_each, presentable
from tests.support.running import Daemon
from tests.support.secret_samples import ALNUM, Draw
from tests.support.session_script import SessionScript

SECRET = "ghp_" + Draw(random.Random(7)).of(ALNUM, 36)
UNSEEN = "\u202e\u200b\U000e0041"
HAND_MADE = (
    f"---\nname: Door code {SECRET}\ndescription: opened{UNSEEN} by {SECRET}\n"
    "type: reference\n---\n"
    f"\nThe warehouse door{UNSEEN} is opened by {SECRET}.\n"
)
TOOLS = [
    ("recall", {"query": "what opens the warehouse door?"}),
    ("list_memories", {}),
    ("history", {"memory": "door.md"}),
    ("history", {"memory": "door.md", "version": 1}),
]


def mcp_requests() -> str:
    asked: list[tuple[str, dict[str, object]]] = [
        ("resources/list", {}),
        ("resources/read", {"uri": "memory://index"}),
        ("resources/read", {"uri": "memory://topic/door.md"}),
        *(("tools/call", {"name": name, "arguments": given}) for name, given in TOOLS),
    ]
    return "".join(
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"
        for number, (method, params) in enumerate(asked)
    )


def answers(daemon: Daemon, cwd: str) -> dict[str, Any]:
    """The answers of every method and command that shows memories or notes."""
    here: dict[str, Any] = {"cwd": cwd}
    hook = {"cwd": cwd, "session_id": "s", "hook_event_name": "SessionStart"}
    with daemon.peer() as peer:
        (version,) = peer.call("memory/history", **here, path="door.md")["versions"]
        peer.call("checkpoint/save", **here, name="kept", session_id="s")
        for kept in (daemon.home / ".local/state/memoryd/checkpoints").glob("*/kept.md"):
            kept.write_text(f"The door{UNSEEN} needs {SECRET}.")
        # Confirmed by the person: what is of unknown origin is not in an index that we inject.
        peer.call("memory/trust", **here, all=True)
        found = {
            "list": peer.call("memory/list", **here),
            "list of then": peer.call("memory/list", **here, as_of="2100-01-01"),
            "get": peer.call("memory/get", **here, path="door.md"),
            "history": peer.call(
                "memory/history", **here, path="door.md", version=version["version"]
            ),
            "recall": peer.call("recall", **here, query="what opens the warehouse door?"),
            "recall of then": peer.call(
                "recall", **here, query="warehouse door", as_of="2100-01-01"
            ),
            "prompt": peer.call(
                "hook", **(hook | {"hook_event_name": "UserPromptSubmit"}), prompt="warehouse door"
            ),
            "resume": peer.call("hook", **hook, source="compact"),
            "start": peer.call("hook", **(hook | {"session_id": "t"}), source="startup"),
            "context": peer.call("context", **here),
            "notes": peer.call("session/notes", session_id="s", cwd=cwd),
            "checkpoint": peer.call("checkpoint/get", **here, name="kept"),
            "status": peer.call("status", **here),
        }
    found["mcp"] = [
        json.loads(line) for line in daemon.run("mcp", stdin=mcp_requests()).stdout.splitlines()
    ]
    for words in (("list",), ("show", "door.md"), ("history", "door.md")):
        found[words[0]] = [found.get(words[0]), daemon.run(*words, "--project", cwd).stdout]
    return found


def test_no_answer_shows_a_secret_from_a_hand_written_file(home: Path) -> None:
    cwd = home / "app"
    cwd.mkdir()
    places = paths.places({"HOME": str(home)}, "linux", 0, str(home))
    folder = Path(paths.project_folder(places, str(cwd)))
    memory = folder / "memory"
    memory.mkdir(parents=True)
    (memory / "door.md").write_text(HAND_MADE)
    (memory / "MEMORY.md").write_text(f"- [Door](door.md) — opened{UNSEEN} by {SECRET}\n")
    script = SessionScript("s", str(cwd))
    script.turn("go", "gone")
    (folder / "s.jsonl").write_bytes(script.data)
    notes = Path(paths.session_notes(str(folder / "s.jsonl")))
    notes.parent.mkdir(parents=True)
    notes.write_text(f"# Current State\nThe door{UNSEEN} needs {SECRET} for the warehouse.\n")
    daemon = Daemon(home, CLAUDE_PROJECT_DIR=str(cwd)).start()
    try:
        found = answers(daemon, str(cwd))
    finally:
        daemon.end()
    for door, answer in found.items():
        text = json.dumps(answer, ensure_ascii=False)
        assert SECRET not in text, door
        assert not set(UNSEEN) & set(text), door
    for door in found.keys() - {"status", "start"}:
        assert "[secret: github-token]" in json.dumps(found[door]), door
    assert (memory / "door.md").read_text() == HAND_MADE


def test_the_diff_of_a_dream_hides_secrets_and_says_if_only_those_changed() -> None:
    block = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA7\n" * 9
    key = f"{block}-----END RSA PRIVATE KEY-----\n"
    before = {"a.md": f"a\n{key}", "b.md": f"b {SECRET}\n"}
    after = {"a.md": f"a\n{key}more\n", "b.md": mask(before["b.md"])}
    shown = {one.file: one.diff for one in diffs(before, after, "2026-03-02")}
    assert "+more" in shown["a.md"]
    assert "MIIE" not in shown["a.md"]
    assert shown["b.md"] == "(only masked or invisible text changed)\n"


WORDS = st.sampled_from(["", "plain", SECRET, "password: hunter2zz!9", "the password is", "a\nb"])


@given(st.lists(WORDS, max_size=8))
def test_many_texts_are_masked_as_each_of_them_is(texts: list[str]) -> None:
    assert mask_each(texts) == [mask(text) for text in texts]


@pytest.mark.parametrize("text", [SECRET, f"gh{UNSEEN}p_{SECRET[4:]}"])
def test_a_secret_with_something_invisible_in_it_is_still_one(text: str) -> None:
    assert presentable(f"token {text}") == "token [secret: github-token]"
