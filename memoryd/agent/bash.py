"""The Bash tool: runs a simple reading command without a shell, behind the kernel's fence.

- Every path is judged as Read judges it, and must be there under its own name: no link on the way.
- Commands that print contents never open a file themselves. They are given the text on their input,
  read through handles and masked already, so that no race, option or count tells what Read would
  not. Those that list names may read beneath the open roots only, where the kernel can hold them.
- Programs are taken from the system's own folders, never from a PATH that somebody set.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from memoryd.agent.rules import access
from memoryd.agent.rules.access import Denied
from memoryd.agent.rules.bash_parser import Simple, simple_command
from memoryd.agent.view import Sighted, View, shown
from memoryd.system.landlock import Fence
from memoryd.system.subprocesses import Finished, run_child
from memoryd.text.decode import decoded
from memoryd.text.shorten import cut_at_line

COMMAND_SECONDS: Final = 5.0
OUTPUT_LIMIT_BYTES: Final = 40_000
PROGRAM_FOLDERS: Final = ("/usr/bin", "/bin", "/run/current-system/sw/bin")
# What a program needs in order to start at all.
SYSTEM_FOLDERS: Final = ("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/nix/store")


def run_command(view: View, line: str) -> str:
    """What the command prints, told to the model as everything else is."""
    command = simple_command(line)
    paths = [_from_root(view, path) for path in command.paths]
    if command.prints:
        return shown(_print(view, command, paths))
    return shown(_list(view, command, paths or [view.project_root]))


def _print(view: View, command: Simple, paths: Sequence[str]) -> str:
    """Runs the command on each text by itself, and says whose output is whose."""
    deadline = time.monotonic() + COMMAND_SECONDS
    parts: list[str] = []
    with _fence(()) as fence:
        for path, given in zip(paths, command.paths, strict=True):
            text = view.page(path).text
            finished = run_child(
                [_program(command.name), *command.options],
                fence=fence,
                cwd="/",
                seconds=max(deadline - time.monotonic(), 0.01),
                output_limit_bytes=OUTPUT_LIMIT_BYTES,
                feed=[text.encode()],
            )
            parts.append(_said(command, finished, given if len(paths) > 1 else ""))
    return _shown("".join(parts) or "nothing fits")


def _list(view: View, command: Simple, paths: Sequence[str]) -> str:
    after = list(command.after)
    for at in command.newer:
        after[at] = view.resolve(_from_root(view, after[at])).path
    sighted = [view.resolve(path) for path in paths]
    if command.name == "find" or "-R" in command.options:
        _check_open_below(view, sighted)
    # Where find looks comes first; the others take paths last, and after a mark that says so.
    names = [_shown_path(view, one) for one in sighted]
    arguments = [*names, *after] if command.name == "find" else [*command.options, "--", *names]
    with ExitStack() as opened:
        handles = list(_handles(view, opened))
        fence = opened.enter_context(_fence(handles))
        finished = run_child(
            [_program(command.name), *arguments],
            fence=fence,
            cwd=view.project_root,
            seconds=COMMAND_SECONDS,
            output_limit_bytes=OUTPUT_LIMIT_BYTES,
        )
    return _shown(_said(command, finished, "") or "nothing fits")


def _handles(view: View, opened: ExitStack) -> Iterator[int]:
    """Of the roots that are there and can be opened."""
    for root in view.roots:
        if root.kind != "closed":
            with suppress(Denied):
                yield opened.enter_context(view.folder(root, "")).handle


def _check_open_below(view: View, sighted: Sequence[Sighted]) -> None:
    closed = [root.path for root in view.roots if root.kind == "closed"]
    if any(access.is_beneath(folder, one.path) for folder in closed for one in sighted):
        raise Denied("outside", "a folder below that is closed; use Glob, which leaves it out")


def _said(command: Simple, finished: Finished, path: str) -> str:
    """The output, under the file's name where there are several; Denied when there is only a no."""
    text = decoded(finished.output)
    if finished.ended == "deadline":
        if not text:
            raise Denied("too-slow", "the command took too long; ask for less")
        text += "[cut: it took too long]\n"
    elif finished.ended == "output-limit":
        text += "\n[cut: ask for less]\n"
    elif finished.status not in {0, 1} or (finished.status and command.name == "stat"):
        raise Denied("bad-command", f"{command.name} could not do that; check path and options")
    if text and path and command.name != "cat":
        return f"==> {path} <==\n{text}"
    return text


def _shown(text: str) -> str:
    return cut_at_line(text, OUTPUT_LIMIT_BYTES, "[cut: ask for less]")


def _from_root(view: View, path: str) -> str:
    """As the command would see it, which starts at the project's root."""
    plain = access.tidied(path)
    return plain if plain.startswith("/") else os.path.normpath(f"{view.project_root}/{plain}")


def _shown_path(view: View, sighted: Sighted) -> str:
    """Short where it can be, so that find's own patterns (`-path './src/*'`) hold."""
    if not access.is_beneath(sighted.path, view.project_root):
        return sighted.path
    below = os.path.relpath(sighted.path, view.project_root)
    return below if below == "." else f"./{below}"


def _program(name: str) -> str:
    for folder in PROGRAM_FOLDERS:
        path = f"{folder}/{name}"
        if os.access(path, os.X_OK):
            return path
    raise Denied("bad-command", f"{name} is not on this machine; use Read, Grep and Glob")


@contextmanager
def _fence(readable: Sequence[int]) -> Iterator[Fence]:
    """Nothing can be written; what can be read is the system's programs and what is given."""
    with ExitStack() as opened:
        handles = list(readable)
        for path in SYSTEM_FOLDERS:
            if Path(path).exists():
                handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                opened.callback(os.close, handle)
                handles.append(handle)
        yield Fence(readable=tuple(handles))
