"""The agent's settings: our entries come and go, everything else stays."""

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
from memoryd_client.install import claude_code, settings_json

INSTALL = ["install", "--hooks", "claude-code"]
UNINSTALL = ["uninstall", "--hooks", "claude-code"]
ODD = """{ "model":"opus",
      "emoji": "\\ud83d alone, \\u00e9", "big": 1e300, "zero": -0.0,
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
    "no indentation": b'{\n"model": "opus",\n"hooks": {}\n}\n',
    "only ASCII": b'{\n  "model": "\\u00e9"\n}',
    "no final newline": b'{\n  "model": "opus"\n}',
    "huge": b'{\n  "a": [' + (b'"' + b"x" * 100 + b'", ') * 5_000 + b'""]\n}',
}


def value_of(data: bytes) -> Any:
    text = data.decode("utf-8-sig")
    return json.loads(text) if text.strip() else {}


@pytest.mark.parametrize("form", FORMS)
def test_settings_of_any_form_come_back_byte_for_byte(settings: Path, form: str) -> None:
    before = FORMS[form]
    put_in(settings, before)
    assert main(INSTALL) == 0
    after = settings.read_bytes()
    hooks = value_of(after)["hooks"]
    assert set(hooks) == set(claude_code.EVENTS)
    theirs = {key: value for key, value in value_of(before).items() if key != "hooks"}
    found = {key: value for key, value in value_of(after).items() if key != "hooks"}
    assert json.dumps(found) == json.dumps(theirs)
    assert after.startswith(codecs.BOM_UTF8) == before.startswith(codecs.BOM_UTF8)
    assert (b"\r\n" in after) == (b"\r\n" in before)
    assert after.count(b"\n") == after.count(b"\r\n") or b"\r\n" not in before
    assert after.isascii() or not before.isascii()
    if before.strip():
        assert after.endswith(b"\n") == before.endswith(b"\n")
    assert main(INSTALL) == 0
    assert settings.read_bytes() == after
    assert settings.with_name("settings.json.before-memoryd").read_bytes() == before
    assert main(UNINSTALL) == 0
    assert settings.read_bytes() == before
    assert settings.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in settings.parent.glob("settings*")] == ["settings.json"]


@pytest.mark.parametrize(
    ("before", "line"),
    [
        (b'{\n\t"model": "opus"\n}', b'\n\t"hooks": {\n\t\t"SessionStart": ['),
        (b'{\n    "model": "opus"\n}', b'\n    "hooks": {\n        "SessionStart": ['),
        (b'{"model": "opus"}', b'{"model": "opus", "hooks": {"SessionStart": [{"hooks": '),
        (b"{}", b'\n  "hooks": {\n    "SessionStart": ['),
    ],
)
def test_our_entries_are_indented_like_the_file(settings: Path, before: bytes, line: bytes) -> None:
    put_in(settings, before)
    assert main(INSTALL) == 0
    assert line in settings.read_bytes()


def test_a_file_that_was_only_reformatted_comes_back_as_it_was(settings: Path) -> None:
    put_in(settings, ODD.encode())
    main(INSTALL)
    settings.write_text(json.dumps(json.loads(settings.read_bytes())))
    assert main(UNINSTALL) == 0
    assert settings.read_text() == ODD


def test_a_number_that_became_a_boolean_is_an_edit(settings: Path) -> None:
    put_in(settings, b'{"count": 1}')
    main(INSTALL)
    settings.write_bytes(settings.read_bytes().replace(b'"count": 1', b'"count": true'))
    assert main(UNINSTALL) == 0
    assert settings.read_bytes() == b'{"count": true}'


@pytest.mark.parametrize("backup", [None, b"{", b'{"hooks": 5}'])
def test_without_a_usable_backup_only_our_entries_go(settings: Path, backup: bytes | None) -> None:
    put_in(settings, b'{\n  "model": "opus"\n}\n')
    main(INSTALL)
    copy = settings.with_name("settings.json.before-memoryd")
    copy.unlink()
    if backup is not None:
        copy.write_bytes(backup)
    assert main(UNINSTALL) == 0
    assert settings.read_bytes() == b'{\n  "model": "opus"\n}\n'
    assert not copy.exists()


def test_without_entries_of_ours_nothing_is_written(settings: Path) -> None:
    put_in(settings, b'{"hooks": { }}')
    assert main(UNINSTALL) == 0
    assert settings.read_bytes() == b'{"hooks": { }}'


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
    assert settings.read_bytes() == b'{\n  "model": "haiku",\n  "mine": 1\n}\n'


def test_after_an_edit_only_our_entries_go(settings: Path) -> None:
    put_in(settings, ODD.encode())
    main(INSTALL)
    edited = settings.read_bytes().replace(b'"opus"', b'"haiku"')
    settings.write_bytes(edited)
    assert main(UNINSTALL) == 0
    wanted = json.loads(ODD) | {"model": "haiku"}
    assert json.dumps(json.loads(settings.read_bytes())) == json.dumps(wanted)


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
        '{"model": "a", "model": "b"}',
        '{"env": {"X": 1, "Y": 0, "X": 2}}',
        '{"big": 1e400}',
        '{"number": NaN}',
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
def test_settings_that_cannot_be_used_are_left_with_an_error(
    settings: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    data = content.encode("utf-8", "surrogatepass")
    put_in(settings, data)
    assert main(INSTALL) == 1
    assert settings.read_bytes() == data
    assert "left as it is" in capsys.readouterr().err
    assert [path.name for path in settings.parent.glob("settings*")] == ["settings.json"]


def test_a_server_entry_of_a_strange_kind_is_left_with_an_error(
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
def test_what_is_not_a_regular_file_is_refused_at_once(
    settings: Path, make: Callable[[Path], None]
) -> None:
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

    def add(value: dict[str, object]) -> None:
        for new in writes:  # the agent writes first, twice
            settings.write_bytes(new)
            break
        claude_code.add_hooks(value)

    assert settings_json.change(settings, add, claude_code.remove_hooks)
    assert json.loads(settings.read_bytes())["count"] == 2
    assert settings_json.undo(settings, add, claude_code.remove_hooks)
    assert settings.read_bytes() == b'{"count": 2}'


def test_a_file_that_is_written_all_the_time_is_left_with_an_error(settings: Path) -> None:
    put_in(settings, b'{"count": 0}')

    def add(value: dict[str, object]) -> None:
        settings.write_bytes(settings.read_bytes() + b" ")
        claude_code.add_hooks(value)

    with pytest.raises(LocalFailure, match="keeps changing"):
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


@pytest.mark.parametrize(
    "strange",
    ['{"hooks": "x"}', '{"hooks": {"Stop": "x"}}', '{"hooks": {"Stop": [1, {"hooks": 2}]}}'],
)
def test_a_hook_group_of_a_strange_shape_is_left(strange: str) -> None:
    settings = json.loads(strange)
    claude_code.remove_hooks(settings)
    assert json.dumps(settings) == strange


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


@given(st.dictionaries(st.text(), JSON, max_size=4), HOOKS)
def test_our_entries_come_after_theirs_and_go_without_a_trace(
    theirs: dict[str, Any], hooks: dict[str, Any]
) -> None:
    before = json.dumps(theirs | {"hooks": hooks, "last": 1})
    settings = json.loads(before)
    claude_code.add_hooks(settings)
    for event, groups in hooks.items():
        assert settings["hooks"][event][: len(groups)] == groups
    once = json.dumps(settings)
    claude_code.add_hooks(settings)
    assert json.dumps(settings) == once
    claude_code.remove_hooks(settings)
    assert json.dumps(settings) == before


FINITE = st.floats(allow_nan=False, allow_infinity=False)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | FINITE | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@given(
    st.dictionaries(st.text(), PLAIN, max_size=4),
    st.sampled_from([None, "", "\t", 2, 4]),
    st.booleans(),
    st.sampled_from(["", "\n", "\n\n"]),
)
def test_a_file_as_json_writes_it_survives_the_round_trip(
    value: dict[str, Any], indent: Any, is_ascii: bool, end: str
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=is_ascii) + end
    data = text.encode("utf-8", "backslashreplace")
    path = Path("settings.json")
    again = settings_json.rendered(path, settings_json.parsed(path, data), data)
    assert json.dumps(settings_json.parsed(path, again)) == json.dumps(value)
    if value and not isinstance(indent, str | None) and data.isascii() == is_ascii:
        assert again == data
