"""What the daemon takes from outside: its variables, its settings, and who started it."""

import os
import sys
from collections.abc import Mapping, MutableMapping
from typing import Final

import msgspec

from memoryd.base import config_recovery, paths
from memoryd.base.config import Settings
from memoryd.base.paths import Places
from memoryd.daemon.supervisor import Supervisor
from memoryd.system.plain_file import read_plain

CONFIG_LIMIT_BYTES: Final = 1024 * 1024


class Environment(msgspec.Struct, frozen=True):
    """Everything the daemon takes from outside."""

    places: Places
    settings: Settings
    env: Mapping[str, str]
    version: str
    supervisor: Supervisor
    problems: list[str] = msgspec.field(default_factory=list)


def read_environment(env: MutableMapping[str, str], version: str) -> Environment:
    """Reads environment and settings; a mistake in the settings is kept for people to see."""
    supervisor = Supervisor(env, os.getpid())
    home = os.path.expanduser("~")  # noqa: PTH111 - the daemon starts without pathlib
    places = paths.places(env, sys.platform, os.getuid(), home)
    try:
        text = read_plain(places.config_file, CONFIG_LIMIT_BYTES).decode()
    except FileNotFoundError:
        text = ""
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        problem = f"cannot read {places.config_file}: {reason}; fix the file or move it away"
        careful = config_recovery.careful_settings(env)
        return Environment(places, careful, env, version, supervisor, [problem])
    found = config_recovery.recovered_settings(text, env)
    return Environment(places, found.settings, env, version, supervisor, found.problems)
