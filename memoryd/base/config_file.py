"""Reads config.toml and the environment into settings, and says what is wrong with them.

- Nothing is guessed: an unknown key, a wrong type or a value out of range is an error that names
  the key and, for a typo, the nearest valid one. `config_recovery` says how the daemon lives with
  one.
- An error repeats a value only if it cannot be a secret: numbers, and words from a closed set.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeGuard, TypeVar

import msgspec
from msgspec import inspect
from msgspec.structs import FieldInfo

from memoryd.base.config import (
    DEFAULT_PRICES,
    Credentials,
    GroupPatterns,
    Price,
    ProjectSettings,
    Secret,
    Settings,
    SettingsSection,
)
from memoryd.base.errors import ConfigError
from memoryd.base.paths import name_is_plain

FILE = "config.toml"
SECTIONS: Mapping[str, type[SettingsSection]] = {
    field.name: field.type
    for field in msgspec.structs.fields(Settings)
    if isinstance(field.type, type) and issubclass(field.type, SettingsSection)
}
AnySection = TypeVar("AnySection", bound=SettingsSection)


def is_section(kind: object) -> TypeGuard[type[SettingsSection]]:
    return isinstance(kind, type) and issubclass(kind, SettingsSection)


def keys_in(section: type[SettingsSection], name: str) -> Iterator[tuple[str, FieldInfo]]:
    """The full names of a section's keys, those of the sections in it included."""
    for field in msgspec.structs.fields(section):
        if is_section(field.type):
            yield from keys_in(field.type, f"{name}.{field.name}")
        else:
            yield f"{name}.{field.name}", field


KEYS = [key for name, section in SECTIONS.items() for key, _ in keys_in(section, name)]


def load_settings(toml_text: str, env: Mapping[str, str]) -> Settings:
    """The settings from a config.toml (empty text if there is none) and the environment.

    Raises ConfigError for the first problem in either.
    """
    document = parsed(toml_text)
    sections = {name: section_named(name, table) for name, table in document.items()}
    settings = msgspec.structs.replace(Settings(credentials=credentials_in(env)), **sections)
    check_url(settings.model.base_url, f"model.base_url in {FILE}")
    check_url(settings.credentials.base_url, "ANTHROPIC_BASE_URL")
    return settings


def parsed(text: str) -> dict[str, object]:
    if not text:
        return {}
    import tomllib  # noqa: PLC0415 - most people have no such file, and the daemon starts sooner

    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as problem:
        words = str(problem).replace("at end of document", f"at line {len(text.splitlines())}")
        raise ConfigError(
            f"{FILE} is not valid TOML: {words}", hint=f"fix that line of {FILE}"
        ) from None


def section_named(name: str, table: object) -> object:
    if name in SECTIONS:
        return section_from(SECTIONS[name], table, name)
    if name == "prices":
        return MappingProxyType({**DEFAULT_PRICES, **prices_from(table)})
    if name == "projects":
        return MappingProxyType(projects_from(table))
    if name == "groups":
        return MappingProxyType(groups_from(table))
    raise unknown(name, [*SECTIONS, "prices", "projects", "groups", *KEYS])


def section_from(kind: type[AnySection], table: object, name: str) -> AnySection:
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    values = {}
    for key, value in items_of(table, name):
        if key not in fields:
            own = [f"{name}.{field}" for field in fields]
            raise unknown(f"{name}.{key}", [*own, *KEYS])
        part, of_part = fields[key].type, f"{name}.{key}"
        values[key] = (
            section_from(part, value, of_part)
            if is_section(part)
            else value_from(part, value, of_part)
        )
    for key, field in fields.items():
        if field.required and key not in values:
            raise ConfigError(f"{name} in {FILE} has no {key}", hint=f"add {key} = ... there")
    return kind(**values)


def items_of(table: object, name: str) -> list[tuple[str, object]]:
    if not isinstance(table, dict):
        raise ConfigError(
            f"{name} in {FILE} must be a section, got {shown(table)}",
            hint=f"write [{name}] on its own line, and its keys below",
        )
    return list(table.items())


def prices_from(table: object) -> dict[str, Price]:
    prices = {}
    for model, row in items_of(table, "prices"):
        name = f'prices."{model}"'
        price = prices[model] = section_from(Price, row, name)
        long = (price.long_above_tokens, price.long_input_usd, price.long_output_usd)
        if None in long and any(part is not None for part in long):
            raise ConfigError(
                f"{name} in {FILE} has only some of its prices for long prompts",
                hint="set long_above_tokens, long_input_usd and long_output_usd together",
            )
    return prices


def projects_from(table: object) -> dict[str, ProjectSettings]:
    projects = {}
    for path, row in items_of(table, "projects"):
        if not path.startswith("/"):
            raise ConfigError(
                f"projects.{path} in {FILE} must be an absolute path",
                hint='write [projects."/path/to/project"]',
            )
        projects[path.rstrip("/") or "/"] = section_from(ProjectSettings, row, f'projects."{path}"')
    return projects


def groups_from(table: object) -> dict[str, GroupPatterns]:
    groups: dict[str, GroupPatterns] = {}
    for name, patterns in items_of(table, "groups"):
        if not name_is_plain(name):
            raise ConfigError(
                f"groups.{name} in {FILE}: this name cannot be a folder",
                hint="use letters, digits, - and _",
            )
        value_from(GroupPatterns, patterns, f"groups.{name}")
        groups[name] = msgspec.convert(patterns, GroupPatterns)
    return groups


def value_from(kind: object, value: object, name: str) -> object:
    try:
        return msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError:
        info = inspect.type_info(kind)
        is_word = isinstance(info, inspect.LiteralType) and isinstance(value, str)
        got = f'"{str(value)[:40]}"' if is_word else shown(value)
        raise ConfigError(
            f"{name} in {FILE} must be {expected(info)}, got {got}",
            hint=f"change {name}, or leave it out for the default",
        ) from None


def expected(kind: inspect.Type) -> str:
    """What a type accepts, in words."""
    match kind:
        case inspect.Metadata(extra_json_schema={"description": str(words)}):
            return words
        case inspect.Metadata(type=inner):
            return expected(inner)
        case inspect.UnionType(types=types):
            return expected(types[0])
        case inspect.IntType(ge=low, le=high):
            return f"a whole number from {low} to {high}"
        case inspect.FloatType(ge=low, le=high):
            return f"a number from {low:g} to {high:g}"
        case inspect.LiteralType(values=values):
            return "one of " + ", ".join(map(str, values))
        case _:
            return "true or false"


def shown(value: object) -> str:
    """A value as an error may show it: text could be a key in the wrong place."""
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case str():
            return "other text" if value else "empty text"
        case list():
            return "a list"
        case dict():
            return "a section"
        case _:
            return "a date or time"


def unknown(name: str, valid: Sequence[str]) -> ConfigError:
    kind = "key" if "." in name else "section or key"
    near = nearest(name, valid)
    return ConfigError(
        f"unknown {kind} {name} in {FILE}" + (f"; did you mean {near}?" if near else ""),
        hint=f"correct or remove {name}",
    )


def nearest(name: str, valid: Sequence[str]) -> str | None:
    """The most similar valid name, by the whole name or by its last part."""
    from difflib import get_close_matches  # noqa: PLC0415 - rarely needed, and the daemon starts sooner

    if close := get_close_matches(name, valid, n=1):
        return close[0]
    by_last_part = {full.rpartition(".")[2]: full for full in valid}
    close = get_close_matches(name.rpartition(".")[2], by_last_part, n=1)
    return by_last_part[close[0]] if close else None


def credentials_in(env: Mapping[str, str]) -> Credentials:
    return Credentials(
        api_key=secret_in(env, "ANTHROPIC_API_KEY"),
        auth_token=secret_in(env, "ANTHROPIC_AUTH_TOKEN"),
        base_url=env.get("ANTHROPIC_BASE_URL", "").strip() or None,
    )


def secret_in(env: Mapping[str, str], name: str) -> Secret | None:
    value = env.get(name, "").strip()
    # It is sent as an HTTP header: a line break in it would start another one.
    if not (value.isascii() and value.isprintable()) or " " in value:
        raise ConfigError(f"{name} is not a key: it contains spaces or non-ASCII characters")
    return Secret(value) if value else None


def check_url(url: str | None, name: str) -> None:
    if url is None:
        return
    from urllib.parse import urlsplit  # noqa: PLC0415 - rarely needed, and the daemon starts sooner

    hint = "for example http://localhost:11434 or https://gateway.example.com/anthropic"
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme in {"http", "https"} and bool(parts.hostname)
        has_extras = bool(parts.username or parts.password or parts.query or parts.fragment)
    except ValueError:
        raise ConfigError(f"{name} is not a URL", hint=hint) from None
    if not is_whole or not url.isprintable() or " " in url:
        raise ConfigError(f"{name} must be a URL with http or https and a host", hint=hint)
    if has_extras:
        raise ConfigError(f"{name} must not have a user, password, query or fragment", hint=hint)
    if parts.path.rstrip("/").endswith("/v1"):
        raise ConfigError(f"{name} must end before /v1, which memoryd adds", hint=hint)
