"""One value changes in config.toml, and nothing else does."""

from pathlib import Path

import pytest

from memoryd_client.connection.failures import LocalFailure
from memoryd_client.install.config_toml import change, value_in

THEIRS = """\
# my settings
[extraction]
mode = "review"   # for now

[inbox]  # who decides
reviewer = "person" # me
"""


def reviewer(path: Path) -> bool:
    return change(path, {"inbox.reviewer": "agent"})


def test_only_the_line_of_the_key_changes(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(THEIRS)
    path.chmod(0o640)
    assert reviewer(path) is True
    assert path.read_text() == THEIRS.replace('"person" # me', '"agent" # me')
    assert path.stat().st_mode & 0o777 == 0o640
    assert value_in(path, "inbox.reviewer") == "agent"
    assert reviewer(path) is False


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[inbox]\nreviewer = "agent"\n'),
        ("# only this", '# only this\n\n[inbox]\nreviewer = "agent"\n'),
        ("[inbox]", '[inbox]\nreviewer = "agent"\n'),
        ("[inbox]\n[log]\n", '[inbox]\nreviewer = "agent"\n[log]\n'),
        (
            "[log]\r\nlevel='info'\r\n",
            "[log]\r\nlevel='info'\r\n\r\n[inbox]\r\nreviewer = \"agent\"\r\n",
        ),
        ("[inbox]\n  reviewer='person'\n", '[inbox]\n  reviewer = "agent"\n'),
        ("\ufeff[inbox]\n", '\ufeff[inbox]\nreviewer = "agent"\n'),
    ],
)
def test_a_missing_key_or_table_is_added(tmp_path: Path, before: str, after: str) -> None:
    path = tmp_path / "folder/config.toml"
    path.parent.mkdir()
    path.write_bytes(before.encode())
    assert reviewer(path) is True
    assert path.read_bytes() == after.encode()


def test_a_missing_file_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "memoryd/config.toml"
    assert value_in(path, "inbox.reviewer") is None
    assert reviewer(path) is True
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfile.toml").write_text(THEIRS)
    path = tmp_path / "config.toml"
    path.symlink_to("dotfile.toml")
    assert reviewer(path) is True
    assert path.is_symlink()
    assert '"agent"' in (tmp_path / "dotfile.toml").read_text()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("inbox = { reviewer = 'person' }\n", "cannot be changed without touching more"),
        ('inbox.reviewer = "person"\n', "cannot be changed without touching more"),
        ('[log]\nx = """\n[inbox]\n"""\n', "cannot be changed without touching more"),
        ("[inbox\n", "is not valid TOML"),
        ("a = 1\na = 2\n", "is not valid TOML"),
    ],
)
def test_what_cannot_be_changed_safely_is_left(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(LocalFailure, match=said) as failure:
        reviewer(path)
    assert failure.value.hint
    assert path.read_text() == text


def test_a_file_that_is_not_text_is_left(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(LocalFailure, match="is not UTF-8"):
        reviewer(path)


@pytest.mark.parametrize(
    "theirs", ["", THEIRS, "[log]\nlevel = 'info'\n", "[inbox]  # mine\n# nobody\n"]
)
def test_what_was_set_can_be_removed_without_a_trace(tmp_path: Path, theirs: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(theirs)
    assert change(path, {"inbox.other": 1, "fresh.key": "x"}) is True
    assert change(path, {"inbox.other": None, "fresh.key": None}) is True
    assert (path.read_text() if path.exists() else "") == theirs
    assert change(path, {"fresh.key": None}) is False
