"""Finds the password of a team's database; blocking.

In this order: the DSN in the settings, the file that `team.key_file` names, PGPASSWORD, `.pgpass`
(or PGPASSFILE). A file that others can read is refused, as Postgres' own tools do. No password is
no error: a socket or a certificate may be enough.
"""

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from memoryd.base.config import Secret
from memoryd.base.errors import ConfigError, Refused
from memoryd.system.plain_file import read_plain
from memoryd.team.rules.address import ServerAddress, address_in, password_line

FILE_BYTES: Final = 64 * 1024


def address_with_password(
    dsn: str, *, key_file: str | None, env: Mapping[str, str], home: str
) -> ServerAddress:
    address = address_in(dsn)
    if env.get("MEMORYD_FORBID_NETWORK") and not address.is_on_this_machine:
        raise Refused(
            "MEMORYD_FORBID_NETWORK refuses every server that is not on this machine",
            hint="unset it, and restart the daemon",
        )
    if address.password is not None:
        return address
    found = _password(address, key_file, env, home)
    return msgspec.structs.replace(address, password=Secret(found)) if found else address


def _password(
    address: ServerAddress, key_file: str | None, env: Mapping[str, str], home: str
) -> str:
    if key_file:
        path = f"{home}{key_file[1:]}" if key_file.startswith("~/") else key_file
        text = _private_text(path)
        if text is None:
            raise ConfigError(f"team.key_file: there is no {path}", hint="correct team.key_file")
        return text.strip()
    if env.get("PGPASSWORD"):
        return env["PGPASSWORD"]
    text = _private_text(env.get("PGPASSFILE") or f"{home}/.pgpass")
    return (password_line(text, address) or "") if text else ""


def _private_text(path: str) -> str | None:
    """None if there is no such file; Refused if others can read it."""
    try:
        mode = Path(path).stat().st_mode
        if stat.S_IMODE(mode) & (stat.S_IRWXG | stat.S_IRWXO):
            raise Refused(f"others can read {path}", hint=f"chmod 600 {path}")
        return read_plain(path, FILE_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else type(error).__name__
        hint = "make it a file that you can read, or name another one: team.key_file"
        raise ConfigError(f"cannot read {path}: {reason}", hint) from error
