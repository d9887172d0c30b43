"""The command `config`: show and change the settings in config.toml.

A change is checked by the daemon's own rules before it is written; a file that a daemon would not
take is never made. Comments and order stay. The running daemon reads its settings when it starts.
"""

import sys
from pathlib import Path

from memoryd_client import serve, toml_edit
from memoryd_client.cli.commands import Arguments, Commands, add_json, answer_to
from memoryd_client.cli.editor import edited
from memoryd_client.cli.render import one_line, paint, print_json, table
from memoryd_client.connection.answers import Json, text_at
from memoryd_client.connection.failures import LocalFailure, UsageError
from memoryd_client.connection.locations import locations
from memoryd_client.install import footprint, settings_json

NEW_FILE = "# Settings of memoryd. See memoryd config get for all keys and their defaults.\n"


def config(arguments: Arguments) -> int:
    """Does what was asked for; without that, prints all settings."""
    return ACTIONS[arguments.action or "get"](arguments)


def get(arguments: Arguments) -> int:
    rows = [row for row in serve.setting_rows(text_now()) if is_meant(row, arguments.key)]
    if arguments.key and not rows:
        raise UsageError(f"there is no setting {arguments.key}", "see them all: memoryd config get")
    if arguments.json:
        print_json(rows)
        return 0
    heading = ("KEY", "VALUE", "DEFAULT")
    for line in table([row_of(row) for row in rows], heading):
        print(line)
    if any(row.get("is_set") for row in rows):
        print(paint(f"\n* set in {one_line(str(path()))}", "dim"))
    message, _ = serve.settings_problem(text_now())
    if message:
        print(f"memoryd: {one_line(message)}", file=sys.stderr)
    return 0


def is_meant(row: Json, key: str | None) -> bool:
    """Whether a row has this key, or is in the section of that name."""
    name = text_at(row, "key")
    return not key or name == key or name.startswith(f"{key}.")


def row_of(row: Json) -> tuple[str, str, str]:
    mark = " *" if row.get("is_set") else ""
    return text_at(row, "key") + mark, shown(row.get("value")), shown(row.get("default"))


def shown(value: object) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else toml_edit.literal(value)


def set_key(arguments: Arguments) -> int:
    """Sets one key, if the daemon takes it."""
    if not arguments.key or arguments.value is None:
        raise UsageError("memoryd config set needs a key and a value", "see memoryd config --help")
    old, new = changed(arguments)
    return written(old, new, arguments)


def changed(arguments: Arguments) -> tuple[str, str]:
    """The file's text as it is, and with one key set; LocalFailure if the daemon would not."""
    value = toml_edit.value_of(arguments.value)
    old = text_now()
    try:
        new = toml_edit.with_value(old or NEW_FILE, arguments.key, value)
    except toml_edit.CannotEdit as error:
        raise LocalFailure(
            f"{arguments.key} cannot be set without touching other lines", "memoryd config edit"
        ) from error
    except ValueError as error:
        raise LocalFailure(
            f"{arguments.key} cannot be set: {error}", "memoryd config get lists the keys"
        ) from error
    refuse_mistakes(new)
    return old, new


def edit(arguments: Arguments) -> int:
    """Opens the settings in the person's editor, until they are right or left as they were."""
    old = text_now()
    new = old or NEW_FILE
    while True:
        with edited(new) as text:
            message, hint = serve.settings_problem(text)
            if not message:
                return written(old, text, arguments)
            print(f"memoryd: {one_line(message)}\n  {one_line(hint)}", file=sys.stderr)
            if not sys.stdin.isatty() or answer_to("Edit again? [Y/n] ", "y") not in {"y", "yes"}:
                raise LocalFailure("the settings were left as they are", "memoryd config edit")
        new = text


def print_path(arguments: Arguments) -> int:
    if arguments.json:
        print_json({"path": str(path()), "exists": path().exists()})
    else:
        print(path())
    return 0


def refuse_mistakes(text: str) -> None:
    message, hint = serve.settings_problem(text)
    if message:
        raise LocalFailure(message, hint)


def write(old: str, new: str) -> None:
    """Writes the file, unless somebody else did so meanwhile."""
    before = settings_json.read(path())
    if (before or b"").decode("utf-8", "replace") != old or not settings_json.replaced(
        path().resolve(), before, new.encode()
    ):
        raise LocalFailure(f"{path()} was changed meanwhile", "try again")


def written(old: str, new: str, arguments: Arguments) -> int:
    """Writes the file, and says how it takes effect."""
    is_changed = new not in {old, NEW_FILE}
    if is_changed:
        write(old, new)
    if arguments.json:
        print_json({"path": str(path()), "changed": is_changed})
    elif is_changed:
        print(f"wrote {one_line(str(path()))}\n{footprint.how_it_is_learned(locations())}")
    else:
        print("nothing was changed")
    return 0


def text_now() -> str:
    """The file's text; empty if there is none."""
    try:
        return (settings_json.read(path()) or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise LocalFailure(f"{path()} is not UTF-8", "fix the file, or move it away") from error


def path() -> Path:
    return locations().config


ACTIONS = {"get": get, "set": set_key, "edit": edit, "path": print_path}


def add_commands(commands: Commands) -> None:
    command = commands.add(
        "config",
        config,
        "show and change the settings",
        example="memoryd config set budget.usd_per_day 2.50",
        needs_daemon=False,
    )
    command.add_argument(
        "action",
        metavar="ACTION",
        nargs="?",
        choices=tuple(ACTIONS),
        help="one of %(choices)s (default: get)",
    )
    command.add_argument("key", metavar="KEY", nargs="?", help="a setting, such as log.level")
    command.add_argument("value", metavar="VALUE", nargs="?", help="for set: its new value")
    add_json(command)
