"""An installation of the client that a test can take apart piece by piece, without harm to ours."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.support.running import ROOT, WAIT_SECONDS, environment

RUN = """
import sys
site, sys.executable = sys.argv.pop(1), sys.argv.pop(1)
sys.path.insert(0, site)
from memoryd_client.entry import main
sys.exit(main())
"""


class Removable:
    """The client in a folder of its own, with an interpreter of its own; both paths have spaces."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.site = home.parent / "site packages"
        self.package = self.site / "memoryd_client"
        self.python = home.parent / "own bin" / "python"
        self.launcher = home / ".local/share/memoryd/bin/memoryd-launch"
        self.uninstaller = self.launcher.with_name("memoryd-uninstall")
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "client/memoryd_client", self.package, ignore=ignored)
        self.python.parent.mkdir()
        self.python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        self.python.chmod(0o755)

    def run(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """`memoryd` of this installation."""
        return self.start([str(self.python), "-c", RUN, str(self.site), str(self.python), *words])

    def uninstall_what_is_left(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.start(["/bin/sh", str(self.uninstaller), *words])

    def start(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            env=environment(self.home),
            input="",
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS,
            check=False,
        )


def remove_package(installed: Removable) -> None:
    shutil.rmtree(installed.package)


def remove_interpreter(installed: Removable) -> None:
    installed.python.unlink()


def remove_script(installed: Removable) -> None:
    (installed.package / "hook.py").unlink()


def remove_launcher(installed: Removable) -> None:
    installed.launcher.unlink()


def take_permissions(installed: Removable) -> None:
    """Root may read a file of mode 0, but nobody may run one."""
    for path in (installed.python, installed.package / "hook.py", installed.launcher):
        path.chmod(0)


def break_interpreter(installed: Removable) -> None:
    """A Python upgrade leaves such things: a program that cannot find its library."""
    installed.python.write_bytes(b"\x7fELF broken")


def garble_launcher(installed: Removable) -> None:
    installed.launcher.write_text("case $1 in ( ' unfinished\n")


BREAKS: Mapping[str, Callable[[Removable], None]] = {
    "package gone": remove_package,
    "interpreter gone": remove_interpreter,
    "script gone": remove_script,
    "launcher gone": remove_launcher,
    "no permission": take_permissions,
    "interpreter broken": break_interpreter,
    "launcher garbled": garble_launcher,
}


def without_path(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name != "PATH"} | {"PATH": ""}
