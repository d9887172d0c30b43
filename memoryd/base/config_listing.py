"""Every setting with its value and its default, for `memoryd config`."""

from collections.abc import Mapping

import msgspec

from memoryd.base.config import Settings
from memoryd.base.config_file import SECTIONS, load_settings, parsed
from memoryd.base.config_recovery import recovered_settings
from memoryd.base.errors import ConfigError


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
    lines = []
    for name, section in SECTIONS.items():
        table = document.get(name)
        for field in msgspec.structs.fields(section):
            is_set = isinstance(table, dict) and field.name in table
            value = getattr(getattr(settings, name), field.name)
            default = getattr(getattr(defaults, name), field.name)
            lines.append(SettingLine(f"{name}.{field.name}", plain(value), plain(default), is_set))
    return lines


def plain(value: object) -> object:
    return msgspec.to_builtins(value)


def problem_in(toml_text: str, env: Mapping[str, str]) -> tuple[str, str]:
    """The first mistake in a file, with its hint; empty if a daemon would take it."""
    try:
        load_settings(toml_text, env)
    except ConfigError as error:
        return error.message, error.hint
    return "", ""
