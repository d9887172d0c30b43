"""A settings file of somebody else's: what is ours comes and goes, every other byte stays."""

import codecs
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd_client.cli.main import main
from memoryd_client.connection.failures import LocalFailure
from memoryd_client.install import claude_code, json_text, settings_json

INSTALL = ["install", "--hooks", "claude-code"]
UNINSTALL = ["uninstall", "--hooks", "claude-code"]
ODD = """{ "model":"opus",
      "emoji": "\\ud83d alone, \\u00e9", "big": 1e400, "zero": -0.0,
   "long": 12345678901234567890123,
\t"list": [1,2,
3], "empty": { },
   "hooks": { "Stop": [ {"matcher":"*","hooks":[{"type":"command","command":"say done"}]} ] },
 "Ü": null}"""


@pytest.fixture
def settings(home: Path) -> Path:
    return home / ".claude/settings.json"


def put_in(settings: Path, data: bytes) -> None:
    settings.write_bytes(data)
    settings.chmod(0o640)


FORMS: dict[str, bytes] = {
    "odd indentation": ODD.encode(),
    "tabs": b'{\n\t"model": "opus",\n\t"hooks": {\n\t\t"Stop": []\n\t}\n}\n',
    "CRLF": b'{\r\n  "model": "opus",\r\n  "list": [\r\n    1\r\n  ]\r\n}\r\n',
    "BOM": codecs.BOM_UTF8 + b'{\n    "model": "opus"\n}',
    "one line": b'{"model": "opus", "hooks": {}}',
    "one short line": b'{"a":1}',
    "nothing in it": b"{}",
    "empty": b"",
    "blank": b" \n",
    "keys twice elsewhere": b'{"model": "a", "model": "b",\n "env": {"X": 1, "X": 2}}',
    "huge": b'{\n  "a": [' + (b'"' + b"x" * 100 + b'", ') * 5_000 + b'""]\n}',
}


@pytest.mark.parametrize("form", FORMS)
def test_every_byte_that_is_not_ours_stays(settings: Path, form: str) -> None:
    before = FORMS[form]
    put_in(settings, before)
    assert main(INSTALL) == 0
    after = settings.read_bytes()
    left = json.loads(after.decode("utf-8-sig"))
    assert set(left["hooks"]) == set(claude_code.EVENTS)
    assert is_spread_over(before, after)
    assert (b"\r\n" in after) == (b"\r\n" in before)
    assert after.count(b"\n") == after.count(b"\r\n") or b"\r\n" not in before
    assert main(INSTALL) == 0
    assert settings.read_bytes() == after
    assert settings.with_name("settings.json.before-memoryd").read_bytes() == before
    assert main(UNINSTALL) == 0
    assert settings.read_bytes() == before
    assert settings.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in settings.parent.glob("settings*")] == ["settings.json"]


def is_spread_over(before: bytes, after: bytes) -> bool:
    """Whether all that is no space in `before` stands in `after`, in the same order."""
    rest = iter(after)
    return all(byte in rest for byte in before if byte not in b" \r\n")


def test_what_was_changed_between_two_installations_is_not_lost(
    settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_in(settings, b'{\n  "model": "opus"\n}\n')
    main(INSTALL)
    edited = settings.read_bytes().replace(b'"opus"', b'"haiku",  "mine" : 1')
    settings.write_bytes(edited)
    monkeypatch.setattr(claude_code, "hook_command", lambda: "/new/memoryd_client/hook.py")
    assert main(INSTALL) == 0
    assert settings.read_bytes().count(b"/new/memoryd_client/hook.py") == len(claude_code.EVENTS)
    assert settings.read_bytes().count(b"memoryd_client/hook.py") == len(claude_code.EVENTS)
    assert main(UNINSTALL) == 0
    assert settings.read_bytes() == b'{\n  "model": "haiku",  "mine" : 1\n}\n'


def test_after_an_edit_only_what_is_ours_goes(settings: Path) -> None:
    put_in(settings, ODD.encode())
    main(INSTALL)
    edited = settings.read_bytes().replace(b'"opus"', b'"haiku"')
    settings.write_bytes(edited)
    assert main(UNINSTALL) == 0
    assert settings.read_bytes() == ODD.replace('"opus"', '"haiku"').encode()


def test_a_hook_that_came_after_ours_moves_nothing(settings: Path) -> None:
    main(INSTALL)
    now = json.loads(settings.read_bytes())
    now["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "later"}]})
    settings.write_text(json.dumps(now))
    before = settings.read_bytes()
    assert main(INSTALL) == 0
    assert settings.read_bytes() == before


def test_our_command_leaves_a_group_that_it_shares(settings: Path) -> None:
    theirs = {"type": "command", "command": "say done"}
    ours = {"type": "command", "command": "/old/memoryd hook"}
    group = {"matcher": "x", "hooks": [ours, theirs]}
    put_in(settings, json.dumps({"hooks": {"Stop": [group, {"hooks": [ours]}]}}).encode())
    assert main(UNINSTALL) == 0
    left = {"hooks": {"Stop": [{"matcher": "x", "hooks": [theirs]}]}}
    assert json.loads(settings.read_bytes()) == left


@pytest.mark.parametrize(
    "content",
    [
        '{"hooks": {}, "hooks": {}}',
        '{"hooks": {"Stop": [], "a": 1, "Stop": []}}',
        '{"hooks": []}',
        '{"hooks": null}',
        '{"hooks": {"Stop": {}}}',
        "{",
        "[]",
        '{"a": 1} // note',
        "\x00",
        "5",
        '{"a": "\ud800"}',
        "[" * 100_000,
    ],
)
def test_settings_that_are_not_plain_are_left_with_a_word(
    settings: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    data = content.encode("utf-8", "surrogatepass")
    put_in(settings, data)
    assert main(INSTALL) == 1
    assert settings.read_bytes() == data
    assert "left as it is" in capsys.readouterr().err
    assert [path.name for path in settings.parent.glob("settings*")] == ["settings.json"]


def test_a_server_entry_of_a_strange_kind_is_left_with_a_word(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = home / ".claude.json"
    path.write_text('{"mcpServers": []}')
    assert main(["install", "--mcp"]) == 1
    assert path.read_text() == '{"mcpServers": []}'
    assert "mcpServers" in capsys.readouterr().err


def test_a_file_that_is_read_only_is_left_with_the_command_that_allows_it(
    settings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put_in(settings, b"{}")
    settings.chmod(0o444)
    assert main(INSTALL) == 1
    assert settings.read_bytes() == b"{}"
    assert f"chmod u+w {settings}" in capsys.readouterr().err
    settings.chmod(0o644)
    assert main(INSTALL) == 0


def make_loop(path: Path) -> None:
    path.symlink_to(path)


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize("make", [Path.mkdir, make_loop, make_pipe])
def test_what_is_no_file_is_refused_at_once(settings: Path, make: Callable[[Path], None]) -> None:
    make(settings)
    assert main(INSTALL) == 1


def test_a_link_to_nothing_gets_its_file_and_loses_it_again(settings: Path, home: Path) -> None:
    settings.symlink_to(home / "dotfiles.json")
    assert main(INSTALL) == 0
    assert (home / "dotfiles.json").is_file()
    assert main(UNINSTALL) == 0
    assert settings.is_symlink()
    assert not (home / "dotfiles.json").exists()


def test_a_file_that_its_owner_writes_meanwhile_loses_nothing(settings: Path) -> None:
    put_in(settings, b'{"count": 0}')
    writes = iter([b'{"count": 1}', b'{"count": 2}'])

    def add(text: str) -> str:
        for new in writes:  # the agent is quicker, twice
            settings.write_bytes(new)
            break
        return claude_code.add_hooks(text)

    assert settings_json.change(settings, add, claude_code.remove_hooks)
    assert json.loads(settings.read_bytes())["count"] == 2
    assert settings_json.undo(settings, claude_code.remove_hooks)
    assert settings.read_bytes() == b'{"count": 2}'


def test_a_file_that_is_written_all_the_time_is_left_with_a_word(settings: Path) -> None:
    put_in(settings, b'{"count": 0}')

    def add(text: str) -> str:
        settings.write_bytes(settings.read_bytes() + b" ")
        return claude_code.add_hooks(text)

    with pytest.raises(LocalFailure, match="changes all the time"):
        settings_json.change(settings, add, claude_code.remove_hooks)
    assert json.loads(settings.read_bytes()) == {"count": 0}


def test_a_writer_without_space_leaves_the_old_settings(
    settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    put_in(settings, ODD.encode())
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        settings_json.change(settings, claude_code.add_hooks, claude_code.remove_hooks)
    assert settings.read_text() == ODD
    assert sorted(path.name for path in settings.parent.iterdir()) == ["projects", "settings.json"]


def test_a_hook_group_of_a_strange_shape_is_left() -> None:
    for strange in (
        '{"hooks": "x"}',
        '{"hooks": {"Stop": "x"}}',
        '{"hooks": {"Stop": [1, {"hooks": 2}]}}',
    ):
        assert claude_code.remove_hooks(strange) == strange
    with pytest.raises(LocalFailure):
        settings_json.parsed(Path("x"), b"[1]")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)
HOOKS = st.dictionaries(
    st.sampled_from([*claude_code.EVENTS, "PreToolUse"]),
    st.lists(
        st.fixed_dictionaries(
            {"hooks": st.lists(st.fixed_dictionaries({"command": st.text()}), max_size=2)}
        ),
        min_size=1,
        max_size=2,
    ),
    min_size=1,
)
INDENTS = st.sampled_from([None, "\t", 2, 4])


@given(st.dictionaries(st.text(), JSON, max_size=4), HOOKS, INDENTS)
def test_any_settings_survive_installing_and_uninstalling(
    theirs: dict[str, Any], hooks: dict[str, Any], indent: Any
) -> None:
    before = json.dumps(theirs | {"hooks": hooks, "last": 1}, indent=indent)
    after = claude_code.add_hooks(before)
    changed = json.loads(after)
    assert {key: changed[key] for key in theirs if key != "hooks"} == {
        key: value for key, value in theirs.items() if key != "hooks"
    }
    for event, groups in hooks.items():
        assert changed["hooks"][event][: len(groups)] == groups
    assert claude_code.add_hooks(after) == after
    assert claude_code.remove_hooks(after) == before


@given(st.dictionaries(st.text(), JSON, max_size=4), st.text(), JSON, INDENTS)
def test_what_is_put_in_is_there_and_taken_out_leaves_the_text(
    theirs: dict[str, Any], key: str, value: Any, indent: Any
) -> None:
    theirs.pop(key, None)
    before = json.dumps(theirs, indent=indent)
    after = json_text.put(before, (key,), value)
    assert json.loads(after) == theirs | {key: value}
    assert json_text.cut(after, (key,)) == before
    assert all(json.loads(json_text.cut(after, (name,))) is not None for name in [*theirs, key])
