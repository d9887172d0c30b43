"""Where the password of a team's database comes from, and from where it does not."""

from pathlib import Path

import pytest

from memoryd.base.config import TeamSettings
from memoryd.base.errors import ConfigError, InvalidInput, Refused
from memoryd.team.addresses import Addresses
from memoryd.team.credentials import address_with_password

DSN = "postgresql://alice@localhost/memories"


def password(home: Path, dsn: str = DSN, key_file: str | None = None, **env: str) -> str | None:
    found = address_with_password(dsn, key_file=key_file, env=env, home=str(home))
    return found.password.reveal() if found.password else None


def private(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o600)
    return path


def test_the_first_place_that_has_one_counts(home: Path, tmp_path: Path) -> None:
    assert password(home) is None
    private(home / ".pgpass", "localhost:5432:memories:alice:of-pgpass\n")
    assert password(home) == "of-pgpass"
    other = private(tmp_path / "other", "*:*:*:*:of-another-file\n")
    assert password(home, PGPASSFILE=str(other)) == "of-another-file"
    assert password(home, PGPASSWORD="of-the-variable") == "of-the-variable"
    private(home / "key", "of-the-key-file\n")
    assert password(home, key_file="~/key", PGPASSWORD="x") == "of-the-key-file"
    in_dsn = DSN.replace("alice@", "alice:of-the-dsn@")
    assert password(home, in_dsn, key_file="~/key") == "of-the-dsn"


def test_a_file_that_others_can_read_is_refused(home: Path) -> None:
    private(home / ".pgpass", "*:*:*:*:x\n").chmod(0o640)
    with pytest.raises(Refused) as caught:
        password(home)
    assert caught.value.hint == f"chmod 600 {home}/.pgpass"


def test_a_key_file_that_is_missing_or_a_folder_is_named(home: Path) -> None:
    with pytest.raises(ConfigError, match="there is no"):
        password(home, key_file="~/nothing")
    (home / "folder").mkdir(mode=0o700)
    with pytest.raises(ConfigError, match="cannot read"):
        password(home, key_file="~/folder")


def test_no_server_elsewhere_is_asked_where_that_is_forbidden(home: Path) -> None:
    with pytest.raises(Refused):
        password(home, "postgresql://alice@db.example.com/m", MEMORYD_FORBID_NETWORK="1")
    assert password(home, MEMORYD_FORBID_NETWORK="1") is None


def test_an_address_of_a_request_has_no_password_and_that_of_the_settings_is_hidden(
    home: Path,
) -> None:
    whole = DSN.replace("alice@", "alice:geheim@")
    addresses = Addresses(TeamSettings(dsn=whole), {}, str(home))
    assert "geheim" not in addresses.shown
    found = addresses.current()
    assert found is not None
    assert found.password is not None
    with pytest.raises(InvalidInput) as caught:
        addresses.asked_for(whole)
    assert "geheim" not in caught.value.message + caught.value.hint


@pytest.mark.parametrize("before", [DSN, ""])
def test_an_address_that_was_tried_in_vain_leaves_the_one_before_or_none(
    home: Path, before: str
) -> None:
    addresses = Addresses(TeamSettings(dsn=before), {}, str(home))
    shown = addresses.shown
    for failure in (ValueError, KeyboardInterrupt):
        with pytest.raises(failure), addresses.trying("postgresql://bob@localhost/m"):
            raise failure
        assert addresses.shown == shown
    with addresses.trying("") as is_another:
        assert not is_another
    assert addresses.shown == shown
    with addresses.trying("postgresql://bob@localhost/m") as is_another:
        assert is_another
    assert addresses.shown == "postgresql://bob@localhost:5432/m"
