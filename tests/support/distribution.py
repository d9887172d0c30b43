"""Builds the wheel and the sdist, and tries both where nothing else is: `make dist`.

- Built twice, each must come out the same, byte for byte: its times are those of the last commit.
- Both are installed with pip into new environments, and the command is used in a new home: version,
  manual page, plugin, hooks. Then the package is removed, and a hook must still let a prompt pass.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.running import ROOT, environment, make_home

DIST = ROOT / "dist"
SHIPPED = (
    "share/man/man1/memoryd.1",
    "share/memoryd/systemd/memoryd.service",
    "share/memoryd/launchd/memoryd.plist",
    "share/memoryd/.claude-plugin/marketplace.json",
    "share/memoryd/plugin/.claude-plugin/plugin.json",
    "share/memoryd/plugin/.mcp.json",
    "share/memoryd/plugin/skills/remember/SKILL.md",
)


def main() -> int:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        builder = new_environment(folder / "builder")
        pip(builder, "install", "hatchling>=1.27,<2")
        built = [build(builder, folder / name) for name in ("first", "second")]
        assert built[0] == built[1], f"two builds differ: {built}"
        print("both builds are the same")
        for name in built[0]:
            check(folder / "first" / name, folder / f"try-{name}")
            print(f"{built[0][name][:12]}  {name}: installed, used and removed")
        DIST.mkdir(exist_ok=True)
        for name in built[0]:
            shutil.copy(folder / "first" / name, DIST / name)
    print(f"wrote {DIST}")
    return 0


def new_environment(folder: Path) -> Path:
    """The interpreter of an environment with nothing but pip in it."""
    venv.create(folder, with_pip=True)
    return folder / "bin/python"


def pip(python: Path, *words: str) -> None:
    quiet = ("--quiet", "--disable-pip-version-check")
    run([str(python), "-m", "pip", *words, *quiet], os.environ)


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


def check(package: Path, folder: Path) -> None:
    """Installs a package, uses it, and removes it before its hooks are."""
    folder.mkdir()
    python = new_environment(folder / "env")
    pip(python, "install", str(package))
    for name in SHIPPED:
        assert (folder / "env" / name).is_file(), f"{package.name} has no {name}"
    env = environment(make_home(folder))
    command = str(python.with_name("memoryd"))
    assert run([command, "--version"], env).startswith("memoryd ")
    assert ".TH" in run([command, "manual"], env)
    run([command, "config", "get"], env)  # loads the daemon's own rules
    run([command, "install", "--hooks", "claude-code"], env)
    settings = Path(env["HOME"]) / ".claude/settings.json"
    hook = json.loads(settings.read_text())["hooks"]["Stop"][0]["hooks"][0]["command"]
    assert run(["/bin/sh", "-c", hook], env) == ""
    pip(python, "uninstall", "--yes", "memoryd")
    assert run(["/bin/sh", "-c", hook], env) == ""
    leftover = Path(env["HOME"]) / ".local/share/memoryd/bin/memoryd-uninstall"
    run(["/bin/sh", str(leftover), "--yes"], env)
    assert not settings.exists()


def run(command: Sequence[str], env: Mapping[str, str]) -> str:
    done = subprocess.run(
        command, cwd=ROOT, env=env, input="", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
