"""`memoryd export` and `memoryd import-archive`: a project's memories as one file, and back."""

import base64
import os
import sys
from pathlib import Path

from memoryd_client.cli.commands import (
    Arguments,
    Commands,
    add_json,
    add_project,
    answer_to,
    project_of,
)
from memoryd_client.cli.render import one_line, print_json, wrapped
from memoryd_client.cli.wording import counted
from memoryd_client.connection.answers import (
    Json,
    is_true_at,
    number_at,
    text_at,
    texts_at,
)
from memoryd_client.connection.call import call
from memoryd_client.connection.failures import LocalFailure

ARCHIVE_SECONDS = 120.0


def export(arguments: Arguments) -> int:
    """Writes the archive, never over another file."""
    path = Path(arguments.file).absolute()
    if path.exists() and not arguments.force:
        raise LocalFailure(f"{path} exists already", "another name, or --force")
    answer = call("archive/export", {"cwd": project_of(arguments)}, timeout_seconds=ARCHIVE_SECONDS)
    write(path, base64.b64decode(text_at(answer, "archive")))
    if arguments.json:
        print_json({key: value for key, value in answer.items() if key != "archive"})
        return 0
    memories = counted(number_at(answer, "memories"), "memory", "memories")
    kept = counted(number_at(answer, "checkpoints"), "checkpoint")
    print(f"{memories} with their history and {kept} are in {one_line(str(path))}")
    print(wrapped("It is a plain tar.gz of Markdown files. It is not encrypted."))
    return 0


def write(path: Path, data: bytes) -> None:
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)
        aside.replace(path)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise LocalFailure(f"cannot write {path}: {error.strerror}") from error


def import_archive(arguments: Arguments) -> int:
    """Shows what would happen, asks, and does it."""
    file = {"path": str(Path(arguments.file).absolute())} if arguments.file else {}
    params = {"cwd": project_of(arguments), "undo": arguments.undo, **file}
    if not arguments.yes:
        preview = call(
            "archive/import", params | {"dry_run": True}, timeout_seconds=ARCHIVE_SECONDS
        )
        if arguments.json:
            print_json(preview)
            return 0
        print_plan(preview, undo=arguments.undo)
        confirm(arguments)
    answer = call("archive/import", params, timeout_seconds=ARCHIVE_SECONDS)
    if arguments.json:
        print_json(answer)
    elif arguments.undo:
        print(wrapped("The import is undone. What you accepted from the inbox stays."))
    else:
        if arguments.yes:
            print_plan(answer, undo=False)
        inbox = " Decide with: memoryd inbox." if texts_at(answer, "waiting") else ""
        print(f"Done.{inbox} Undo: memoryd import-archive --undo")
    return 0


def confirm(arguments: Arguments) -> None:
    if not sys.stdin.isatty():
        what = "--undo" if arguments.undo else one_line(arguments.file)
        raise LocalFailure("nothing was changed", f"to do it: memoryd import-archive {what} --yes")
    if answer_to("Do it? [Y/n] ", "y") not in {"y", "yes"}:
        raise LocalFailure("nothing was changed")


def print_plan(answer: Json, *, undo: bool) -> None:
    if not undo:
        same = "" if is_true_at(answer, "same_project") else ", another project"
        when = text_at(answer, "exported")[:10]
        print(f"from {one_line(text_at(answer, 'project'))}{same}, exported {one_line(when)}")
    lines = (
        ("waiting", "leave the inbox" if undo else "wait in the inbox until you accept them"),
        ("restored", "are removed again" if undo else "were written here before and come back"),
        ("checkpoints", "checkpoints are removed" if undo else "checkpoints"),
        ("left_out", "left out: no memory, or no room in the inbox"),
    )
    for key, words in lines:
        names = texts_at(answer, key)
        if names:
            print(f"{len(names)} {words}")
        for name in names:
            print(f"  {one_line(name)}")
    if known := number_at(answer, "known"):
        print(f"{known:.0f} are here already")
    if other := number_at(answer, "passed_over"):
        print(f"{counted(other, 'other file')} in the archive passed over")


def add_commands(commands: Commands) -> None:
    exporting = commands.add(
        "export",
        export,
        "write this project's memories, history and checkpoints into one archive",
        example="memoryd export shop-memories.tar.gz",
    )
    exporting.add_argument("file", metavar="FILE", help="the archive to write, a tar.gz")
    exporting.add_argument("--force", action="store_true", help="replace a file of that name")
    add_project(exporting)
    add_json(exporting)

    importing = commands.add(
        "import-archive",
        import_archive,
        "take memories from an archive; what is new waits in the inbox",
        example="memoryd import-archive shop-memories.tar.gz",
    )
    importing.add_argument("file", metavar="FILE", nargs="?", help="an archive of memoryd export")
    importing.add_argument("--undo", action="store_true", help="take the last import back")
    importing.add_argument(
        "--yes", action="store_true", help="do not ask; without it, --json only shows the plan"
    )
    add_project(importing)
    add_json(importing)
