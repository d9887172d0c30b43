"""Turns the provider `claude-code` on and off in config.toml, for people who ask for it.

Rules:
- Nothing but our own keys changes: `model.provider` and `model.claude_code.command`. Comments,
  order and spacing stay. The new text is read back before it is written: a file in which it would
  not be just the wanted change (keys in an unusual form) is left as it is, with what to do.
- The client's full path is written down: a service has another PATH than a shell.
- Only a setting of ours is taken back: another provider stays.
"""

import copy
import json
import os
import re
import shutil
import tomllib
from pathlib import Path

from memoryd_client.connection.answers import Json, object_at, text_at
from memoryd_client.connection.failures import LocalFailure
from memoryd_client.connection.locations import Locations
from memoryd_client.doctor import fixes
from memoryd_client.install import settings_json
from memoryd_client.install.service import Report

PROVIDER = "claude-code"
SECTIONS = ("model", "model.claude_code")
USUAL_FOLDERS = ("~/.local/bin", "~/.claude/local", "/usr/local/bin", "/opt/homebrew/bin")
TRIES = 5


def install(places: Locations) -> Report:
    client = found_client()
    if client is None:
        hint = "install Claude Code and log in once, then try again"
        raise LocalFailure("Claude Code was not found", hint)
    if not change(places.config, {"model": PROVIDER, "model.claude_code": client}):
        return Report(notes=[f"{PROVIDER} is already the provider in {places.config}"])
    return Report(written=[places.config], notes=[f"{client} is asked", *next_steps(places)])


def uninstall(places: Locations) -> Report:
    if not is_chosen(places) or not change(places.config, {}):
        return Report()
    words = f"{PROVIDER} is no longer the provider in {places.config}"
    return Report(notes=[words, next_steps(places)[0]])


def next_steps(places: Locations) -> list[str]:
    restart = f"the daemon reads it at its next start: {fixes.restart(places)}"
    return [restart, "then memoryd doctor --provider tries it"]


def found_client() -> str | None:
    """The full path of the client, through a link that an update may change."""
    folders = [os.environ.get("PATH", ""), *map(os.path.expanduser, USUAL_FOLDERS)]
    found = shutil.which("claude", path=os.pathsep.join(filter(None, folders)))
    return str(Path(found).absolute()) if found else None


def is_chosen(places: Locations) -> bool:
    try:
        settings = tomllib.loads((settings_json.read(places.config) or b"").decode())
    except (OSError, ValueError, RecursionError, LocalFailure):
        return False
    return text_at(object_at(settings, "model"), "provider") == PROVIDER


def change(path: Path, values: dict[str, str]) -> bool:
    """Gives each section its value, or takes ours away if there is none; False if that is so."""
    real = Path(os.path.realpath(path))
    for _ in range(TRIES):
        before = settings_json.read(real)
        try:
            text = (before or b"").decode("utf-8-sig")
            settings = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise LocalFailure(
                f"{path} cannot be read: {error}", "fix it, then try again"
            ) from error
        new = text
        for section in SECTIONS:
            new = with_key(new, section, key_of(section), values.get(section))
        check(path, new, wanted(settings, values))
        if new == text:
            return False
        if settings_json.replaced(real, before, new.encode() if new.strip() else None):
            return True
    raise LocalFailure(f"{path} keeps changing; it was left as it is", "try again")


def key_of(section: str) -> str:
    return "provider" if section == "model" else "command"


def wanted(settings: Json, values: dict[str, str]) -> Json:
    """What the changed file must say."""
    new = dict(copy.deepcopy(settings))
    model = new.setdefault("model", {})
    if not isinstance(model, dict):
        return {}
    own = model.setdefault("claude_code", {})
    if not isinstance(own, dict):
        return {}
    model.pop("provider", None)
    own.pop("command", None)
    if values:
        model["provider"], own["command"] = values["model"], values["model.claude_code"]
    return without_empty(new)


def check(path: Path, text: str, expected: Json) -> None:
    try:
        is_right = without_empty(tomllib.loads(text)) == expected
    except (ValueError, RecursionError):
        is_right = False
    if not is_right:
        raise LocalFailure(
            f"{path} is written in a way that memoryd does not change by itself",
            f'below [model], write provider = "{PROVIDER}" or remove it',
        )


def without_empty(settings: Json) -> Json:
    """The settings without tables that say nothing."""
    new = {}
    for key, value in settings.items():
        kept = without_empty(value) if isinstance(value, dict) else value
        if kept != {}:
            new[key] = kept
    return new


def with_key(text: str, section: str, key: str, value: str | None) -> str:
    """The text with this key in this section, or without it; an empty section goes too."""
    lines = text.splitlines(keepends=True)
    header = re.compile(rf"\s*\[\s*{re.escape(section)}\s*\]\s*(#.*)?")
    starts = [number for number, line in enumerate(lines) if header.fullmatch(line.rstrip())]
    if not starts:
        return text if value is None else appended(text, section, key, value)
    start = starts[0] + 1
    after = range(start, len(lines))
    end = next((number for number in after if lines[number].lstrip().startswith("[")), len(lines))
    inside = lines[start:end]
    found = [line for line in inside if re.match(rf"\s*{key}\s*=", line)]
    if value is not None:
        new = f"{key} = {json.dumps(value, ensure_ascii=False)}\n"
        inside = [new if line in found else line for line in inside] if found else [new, *inside]
        return "".join([*lines[:start], *inside, *lines[end:]])
    inside = [line for line in inside if line not in found]
    is_empty = not "".join(inside).strip()
    head = lines[: start - 1] if is_empty else lines[:start]
    return "".join([*head, *([] if is_empty else inside), *lines[end:]])


def appended(text: str, section: str, key: str, value: str) -> str:
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return f"{text}{gap}[{section}]\n{key} = {json.dumps(value, ensure_ascii=False)}\n"
