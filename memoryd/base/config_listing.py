"""Every setting with its value and its default, for `memoryd config`."""

from collections.abc import Iterator, Mapping

import msgspec

from memoryd.base.config import Settings, SettingsSection
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
    lines: list[SettingLine] = []
    for name in SECTIONS:
        table = document.get(name)
        lines += _section(name, getattr(settings, name), getattr(defaults, name), table)
    return lines


def _section(
    name: str, section: msgspec.Struct, default: msgspec.Struct, table: object
) -> Iterator[SettingLine]:
    """A section's settings; a section inside it follows with its own."""
    for field in msgspec.structs.fields(section):
        key, value = f"{name}.{field.name}", getattr(section, field.name)
        usual = getattr(default, field.name)
        given = table.get(field.name) if isinstance(table, dict) else None
        if isinstance(value, SettingsSection):
            yield from _section(key, value, usual, given)
        else:
            is_set = isinstance(table, dict) and field.name in table
            plain = msgspec.to_builtins
            yield SettingLine(key, plain(value), plain(usual), is_set)


def problem_in(toml_text: str, env: Mapping[str, str]) -> tuple[str, str]:
    """The first mistake in a file, with its hint; empty if a daemon would take it."""
    try:
        load_settings(toml_text, env)
    except ConfigError as error:
        return error.message, error.hint
    return "", ""
