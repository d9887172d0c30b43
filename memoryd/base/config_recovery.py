"""Settings for a daemon that comes up although config.toml has a mistake.

Rules:
- Every key that can be read counts; each of the others is named, as strictly as ever.
- Nothing is guessed at the person's expense meanwhile: no model is called, no dream starts by
  itself, and no version is pruned. The daemon also leaves turns in the queue (`daemon/build.py`).
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeVar

import msgspec

from memoryd.base.config import (
    Credentials,
    DreamSettings,
    HistorySettings,
    ModelSettings,
    Settings,
)
from memoryd.base.config_file import (
    check_url,
    credentials_in,
    items_of,
    load_settings,
    parsed,
    section_named,
)
from memoryd.base.errors import ConfigError, Refused

CAREFUL: Final[dict[str, object]] = {
    "model": ModelSettings(provider="embedded"),
    "dream": DreamSettings(min_hours=8760, min_sessions=1000),
    "history": HistorySettings(keep_days=36_500, keep_versions=10_000),
}
Found = TypeVar("Found")


class RecoveredSettings(msgspec.Struct, frozen=True):
    """`problems` is empty if the settings are just as the person wrote them."""

    settings: Settings
    problems: list[str]


def recovered_settings(toml_text: str, env: Mapping[str, str]) -> RecoveredSettings:
    """The settings; with what is wrong in them, if anything is, and careful values then."""
    try:
        return RecoveredSettings(load_settings(toml_text, env), [])
    except ConfigError as error:
        first = error
    problems: list[str] = []
    credentials = _or(Credentials(), lambda: credentials_in(env), problems)
    nothing: dict[str, object] = {}
    document = _or(nothing, lambda: parsed(toml_text), problems)
    sections = {name: _readable(name, table, problems) for name, table in document.items()}
    _or(None, lambda: check_url(credentials.base_url, "ANTHROPIC_BASE_URL"), problems)
    known = {name: section for name, section in sections.items() if section is not None}
    settings = msgspec.structs.replace(Settings(credentials=credentials), **(known | CAREFUL))
    return RecoveredSettings(settings, problems or [in_words(first)])


def careful_settings(env: Mapping[str, str]) -> Settings:
    """For settings that cannot be read at all."""
    credentials = _or(Credentials(), lambda: credentials_in(env), [])
    return msgspec.structs.replace(Settings(credentials=credentials), **CAREFUL)


def _readable(name: str, table: object, problems: list[str]) -> object:
    """A section with every key in it that can be read; None if there is no such section."""
    nothing: list[tuple[str, object]] = []
    rows = _or(nothing, lambda: items_of(table, name), problems)
    kept = {
        key: value
        for key, value in rows
        if _or(None, partial(section_named, name, {key: value}), problems) is not None
    }
    try:
        return section_named(name, kept)
    except ConfigError:  # a section that does not exist; each of its keys was named
        return None


def _or(default: Found, work: Callable[[], Found], problems: list[str]) -> Found:
    try:
        return work()
    except ConfigError as error:
        if (words := in_words(error)) not in problems:
            problems.append(words)
        return default


def in_words(error: ConfigError | Refused) -> str:
    return f"{error.message}; {error.hint}" if error.hint else error.message
