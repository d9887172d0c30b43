"""The Bash tool: runs a simple reading command without a shell, confined by the kernel.

- Every path is checked as Read checks it, and resolved: the command never follows a link.
- Commands that print contents never open a file themselves. They get the text on standard input,
  read through handles and already masked, so that no race, option or count reveals what Read would
  not. Commands that list names can read only below the open roots, if the kernel can confine them.
- Programs are taken from the system's own folders, never from PATH.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from memoryd.agent.rules import access
from memoryd.agent.rules.access import Denied
from memoryd.agent.rules.bash_parser import BashCommand, parse_command
from memoryd.agent.view import ResolvedPath, View
from memoryd.system.landlock import Fence
from memoryd.system.subprocesses import Finished, run_child
from memoryd.text.decode import decoded
from memoryd.text.masking.mask import presentable
from memoryd.text.shorten import cut_at_line

COMMAND_SECONDS: Final = 5.0
OUTPUT_LIMIT_BYTES: Final = 40_000
PROGRAM_FOLDERS: Final = ("/usr/bin", "/bin", "/run/current-system/sw/bin")
# What a program needs to start.
SYSTEM_FOLDERS: Final = ("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/nix/store")


def run_command(view: View, line: str) -> str:
    """What the command prints, masked."""
    command = parse_command(line)
    paths = [_from_root(view, path) for path in command.paths]
    if command.prints:
        return presentable(_print(view, command, paths))
    return presentable(_list(view, command, paths or [view.project_root]))


def _print(view: View, command: BashCommand, paths: Sequence[str]) -> str:
    """Runs the command on each text separately, and puts each output under its file's name."""
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
            parts.append(_output(command, finished, given if len(paths) > 1 else ""))
    return _shown("".join(parts) or "no matches")


def _list(view: View, command: BashCommand, paths: Sequence[str]) -> str:
    after = list(command.after)
    for at in command.newer:
        after[at] = view.resolve(_from_root(view, after[at])).path
    resolved = [view.resolve(path) for path in paths]
    if command.name == "find" or "-R" in command.options:
        _check_open_below(view, resolved)
    # find takes its paths first; the others take them last, after `--`.
    names = [_shown_path(view, one) for one in resolved]
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
    return _shown(_output(command, finished, "") or "no matches")


def _handles(view: View, opened: ExitStack) -> Iterator[int]:
    """Handles on the roots that exist and can be opened."""
    for root in view.roots:
        if root.kind != "closed":
            with suppress(Denied):
                yield opened.enter_context(view.folder(root, "")).handle


def _check_open_below(view: View, resolved: Sequence[ResolvedPath]) -> None:
    closed = [root.path for root in view.roots if root.kind == "closed"]
    if any(access.is_beneath(folder, one.path) for folder in closed for one in resolved):
        raise Denied("outside", "a folder below that is closed; use Glob, which leaves it out")


def _output(command: BashCommand, finished: Finished, path: str) -> str:
    """The output, under the file's name if there are several; Denied if the command failed."""
    text = decoded(finished.output)
    if finished.ended == "deadline":
        if not text:
            raise Denied("too-slow", "the command took too long; ask for less")
        text += "[cut: it took too long]\n"
    elif finished.ended == "output-limit":
        text += "\n[cut: ask for less]\n"
    elif finished.status not in {0, 1} or (finished.status and command.name == "stat"):
        raise Denied("bad-command", f"{command.name} failed; check path and options")
    if text and path and command.name != "cat":
        return f"==> {path} <==\n{text}"
    return text


def _shown(text: str) -> str:
    return cut_at_line(text, OUTPUT_LIMIT_BYTES, "[cut: ask for less]")


def _from_root(view: View, path: str) -> str:
    """The path as the command would resolve it, starting in the project's root."""
    plain = access.normalized_path(path)
    return plain if plain.startswith("/") else os.path.normpath(f"{view.project_root}/{plain}")


def _shown_path(view: View, resolved: ResolvedPath) -> str:
    """Relative if possible, so that find's own patterns (`-path './src/*'`) work."""
    if not access.is_beneath(resolved.path, view.project_root):
        return resolved.path
    below = os.path.relpath(resolved.path, view.project_root)
    return below if below == "." else f"./{below}"


def _program(name: str) -> str:
    for folder in PROGRAM_FOLDERS:
        path = f"{folder}/{name}"
        if os.access(path, os.X_OK):
            return path
    raise Denied("bad-command", f"{name} is not on this machine; use Read, Grep and Glob")


@contextmanager
def _fence(readable: Sequence[int]) -> Iterator[Fence]:
    """Nothing can be written; only the system's programs and the given folders can be read."""
    with ExitStack() as opened:
        handles = list(readable)
        for path in SYSTEM_FOLDERS:
            if Path(path).exists():
                handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                opened.callback(os.close, handle)
                handles.append(handle)
        yield Fence(readable=tuple(handles))
