"""Every setting with its value and its default, for `memoryd config`."""

import re
from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Final

import msgspec

from memoryd.base.config import Price, ProjectSettings, Settings, SettingsSection
from memoryd.base.config_file import KEYS, load_settings, parsed
from memoryd.base.config_recovery import recovered_settings
from memoryd.base.errors import ConfigError

# What stands for a password in an address: a value is shown without it.
_PASSWORD: Final = re.compile(r"(://[^/?#@:]*:)[^/?#]*@")


class SettingLine(msgspec.Struct, frozen=True):
    """`is_set` if the file has it; a value of None means that nothing is set."""

    key: str
    value: object
    default: object
    is_set: bool


def setting_lines(toml_text: str, env: Mapping[str, str]) -> list[SettingLine]:
    """The settings as a daemon with this file would use them, in the order of the documentation."""
    settings, defaults = recovered_settings(toml_text, env).settings, Settings()
    try:
        document = parsed(toml_text)
    except ConfigError:
        document = {}
    lines = [
        SettingLine(key, plain(at(settings, key)), plain(at(defaults, key)), is_set(document, key))
        for key in KEYS
    ]
    own = (("prices", Price, settings.prices), ("projects", ProjectSettings, settings.projects))
    for name, kind, sections in own:
        table = document.get(name)
        for row, values in table.items() if isinstance(table, dict) else ():
            lines.extend(
                named_lines(f'{name}."{row}"', kind, sections.get(row.rstrip("/")), values)
            )
    table = document.get("groups")
    for name in table if isinstance(table, dict) else ():
        if name in settings.groups:
            value = plain(settings.groups[name])
            lines.append(SettingLine(f"groups.{name}", value, None, is_set=True))
    return lines


def named_lines(
    name: str, kind: type[SettingsSection], section: object, table: object
) -> Iterator[SettingLine]:
    """The keys of one section that the person named: only those that the file has."""
    for field in msgspec.structs.fields(kind):
        if section is not None and isinstance(table, dict) and field.name in table:
            default = None if field.required else field.default
            value = getattr(section, field.name)
            yield SettingLine(f"{name}.{field.name}", plain(value), plain(default), is_set=True)


def at(settings: Settings, key: str) -> object:
    return reduce(getattr, key.split("."), settings)


def is_set(document: object, key: str) -> bool:
    for part in key.split("."):
        if not isinstance(document, dict) or part not in document:
            return False
        document = document[part]
    return True


def plain(value: object) -> object:
    found = msgspec.to_builtins(value)
    return _PASSWORD.sub(r"\1[secret]@", found) if isinstance(found, str) else found


def problem_in(toml_text: str, env: Mapping[str, str]) -> tuple[str, str]:
    """The first mistake in a file, with its hint; empty if a daemon would take it."""
    try:
        load_settings(toml_text, env)
    except ConfigError as error:
        return error.message, error.hint
    return "", ""
