"""Builds the wheel and the sdist, and tries both where nothing else is: `make dist`.

- Built twice, each must come out the same, byte for byte: its times are those of the last commit.
- The wheel is installed with pip, uv and pipx, on every Python from 3.11 to 3.13 that this machine
  has, also those of pyenv that no shell knows; one that is missing is named as skipped. The sdist
  is installed with pip on the first of them. Versions can be named: `... distribution 3.12 3.13`.
- Each time the command is used in a new home: version, manual page, a page of the documentation,
  settings, plugin, hooks. Then the package is removed, and a hook must still let a prompt pass.
- uv knows nothing of pip's settings: places for packages that pip is told of are told to uv too.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support.running import ROOT, environment, make_home

DIST = ROOT / "dist"
VERSIONS = ("3.11", "3.12", "3.13")
SHIPPED = (
    "share/man/man1/memoryd.1",
    "share/memoryd/systemd/memoryd.service",
    "share/memoryd/launchd/memoryd.plist",
    "share/memoryd/.claude-plugin/marketplace.json",
    "share/memoryd/plugin/.claude-plugin/plugin.json",
    "share/memoryd/plugin/.claude-plugin/icon.png",
    "share/memoryd/plugin/.mcp.json",
    "share/memoryd/plugin/skills/remember/SKILL.md",
    "share/memoryd/docs/models.md",
    "share/memoryd/nvim/plugin/memoryd.lua",
    "share/memoryd/nvim/lua/memoryd/init.lua",
    "share/memoryd/nvim/doc/memoryd.txt",
    "share/memoryd/emacs/memoryd.el",
)
# What pip calls a place for packages, and what uv calls it.
PLACES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
}


class Installed(NamedTuple):
    """A package in an environment of its own, and how that is removed again."""

    environment: Path
    command: Path
    removal: Sequence[str]


class Installers:
    """pip, uv and pipx, with nothing of this machine's own in them."""

    def __init__(self, folder: Path, python: Path) -> None:
        self.folder = folder
        self.uv, self.pipx = str(python.with_name("uv")), str(python.with_name("pipx"))
        self.env = (
            dict(os.environ)
            | uv_places(python)
            | {
                "UV_TOOL_DIR": str(folder / "uv"),
                "UV_TOOL_BIN_DIR": str(folder / "uv-bin"),
                "UV_PYTHON_DOWNLOADS": "never",
                "UV_INDEX_STRATEGY": "unsafe-best-match",  # all places alike, as pip does
                "PIPX_HOME": str(folder / "pipx"),
                "PIPX_BIN_DIR": str(folder / "pipx-bin"),
                "PIPX_MAN_DIR": str(folder / "pipx-man"),
                "PIPX_DEFAULT_BACKEND": "pip",
            }
        )

    def python(self, version: str) -> str | None:
        """The path of this version's interpreter, if there is one."""
        kept = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
        for found in sorted(kept.glob(f"{version}.*/bin/python{version}")):
            return str(found)
        done = subprocess.run(
            [self.uv, "python", "find", "--no-project", "--system", version],
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.strip() or None

    def pip_install(self, package: Path, python: str) -> Installed:
        place = self.folder / "pip"
        shutil.rmtree(place, ignore_errors=True)
        run([python, "-m", "venv", str(place)], self.env)
        own = place / "bin/python"
        pip(own, "install", str(package))
        words = [str(own), "-m", "pip", "uninstall", "--quiet", "--yes", "memoryd"]
        return Installed(place, place / "bin/memoryd", words)

    def uv_install(self, package: Path, python: str) -> Installed:
        run([self.uv, "tool", "install", "--quiet", "--python", python, str(package)], self.env)
        removal = [self.uv, "tool", "uninstall", "--quiet", "memoryd"]
        return Installed(self.folder / "uv/memoryd", self.folder / "uv-bin/memoryd", removal)

    def pipx_install(self, package: Path, python: str) -> Installed:
        run([self.pipx, "install", "--python", python, str(package)], self.env)
        place = self.folder / "pipx/venvs/memoryd"
        removal = [self.pipx, "uninstall", "memoryd"]
        return Installed(place, self.folder / "pipx-bin/memoryd", removal)


def main() -> int:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        folder = Path(made)
        builder = new_environment(folder / "builder")
        pip(builder, "install", "hatchling>=1.27,<2", "uv", "pipx")
        built = [build(builder, folder / name) for name in ("first", "second")]
        assert built[0] == built[1], f"two builds differ: {built}"
        for name, digest in built[0].items():
            print(f"{digest[:12]}  {name}: both builds are the same")
        try_all(Installers(folder, builder), [folder / "first" / name for name in built[0]])
        DIST.mkdir(exist_ok=True)
        for name in built[0]:
            shutil.copy(folder / "first" / name, DIST / name)
    print(f"wrote {DIST}")
    return 0


def try_all(installers: Installers, packages: Sequence[Path]) -> None:
    """Every installer on every Python that is here."""
    (wheel,) = (one for one in packages if one.suffix == ".whl")
    (sdist,) = (one for one in packages if one.suffix == ".gz")
    found = {version: installers.python(version) for version in sys.argv[1:] or VERSIONS}
    assert any(found.values()), "there is no Python to try it on"
    is_first = True
    for version, python in found.items():
        if python is None:
            print(f"skipped Python {version}: it is not on this machine, nor known to pyenv or uv")
            continue
        check(installers.pip_install(wheel, python), installers, f"{version} pip wheel")
        check(installers.uv_install(wheel, python), installers, f"{version} uv wheel")
        check(installers.pipx_install(wheel, python), installers, f"{version} pipx wheel")
        if is_first:
            check(installers.pip_install(sdist, python), installers, f"{version} pip sdist")
        is_first = False


def new_environment(folder: Path) -> Path:
    """The interpreter of an environment with nothing but pip in it."""
    venv.create(folder, with_pip=True)
    return folder / "bin/python"


def pip(python: Path, *words: str) -> None:
    quiet = ("--quiet", "--disable-pip-version-check")
    run([str(python), "-m", "pip", *words, *quiet], os.environ)


def uv_places(python: Path) -> dict[str, str]:
    """Where pip gets packages, in uv's words, unless uv has been told otherwise."""
    listed = run([str(python), "-m", "pip", "config", "list"], os.environ)
    return {name: value for name, value in told_to_pip(listed) if name not in os.environ}


def told_to_pip(listed: str) -> Iterator[tuple[str, str]]:
    for line in listed.splitlines():
        key, _, value = line.partition("=")
        name = key.rpartition(".")[2]
        if name in PLACES and key.startswith(("global.", "install.")):
            yield PLACES[name], " ".join(value.strip("'\"").split())


def build(python: Path, folder: Path) -> dict[str, str]:
    """The hash of each file, by name."""
    committed = run(["git", "log", "-1", "--format=%ct"], os.environ).strip()
    env = os.environ | {"SOURCE_DATE_EPOCH": committed}
    words = ["-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", str(folder)]
    run([str(python), *words], env)
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
    }


def check(installed: Installed, installers: Installers, name: str) -> None:
    """Uses a package, and removes it before its hooks are."""
    for file in SHIPPED:
        assert (installed.environment / file).is_file(), f"{name}: there is no {file}"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        env = environment(make_home(Path(made)))
        command = str(installed.command)
        assert run([command, "--version"], env).startswith("memoryd ")
        assert ".TH" in run([command, "manual"], env)
        assert "claude-code" in run([command, "manual", "models"], env)
        run([command, "config", "get"], env)  # loads the daemon's own rules
        run([command, "install", "--hooks", "claude-code"], env)
        settings = Path(env["HOME"]) / ".claude/settings.json"
        hook = json.loads(settings.read_text())["hooks"]["Stop"][0]["hooks"][0]["command"]
        assert run(["/bin/sh", "-c", hook], env) == ""
        run(installed.removal, installers.env)
        assert run(["/bin/sh", "-c", hook], env) == ""
        leftover = Path(env["HOME"]) / ".local/share/memoryd/bin/memoryd-uninstall"
        run(["/bin/sh", str(leftover), "--yes"], env)
        assert not settings.exists()
    print(f"Python {name}: installed, used and removed", flush=True)


def run(command: Sequence[str], env: Mapping[str, str]) -> str:
    done = subprocess.run(
        command, cwd=ROOT, env=env, input="", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
