"""Writes `requirements.txt`: every package that the daemon runs with, pinned, with its hashes.

usage: client/pin.py     (asks whatever index pip is set up to ask; no address is written)

pip is asked what it would install for every kind of machine that memoryd supports. The first answer
pins the versions, the others only add the hashes of their files.
"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "requirements.txt"
PYTHONS = ("3.11", "3.12", "3.13")
MACHINES = (
    (
        "manylinux_2_28_x86_64",
        "manylinux_2_27_x86_64",
        "manylinux_2_17_x86_64",
        "manylinux1_x86_64",
    ),
    ("manylinux_2_28_aarch64", "manylinux_2_27_aarch64", "manylinux_2_17_aarch64"),
    ("macosx_14_0_arm64", "macosx_11_0_arm64"),
    ("macosx_14_0_x86_64", "macosx_10_12_x86_64"),
)
HEAD = """\
# What the daemon runs with, pinned. Made by `make pins`; how to use it: SECURITY.md.
"""

Pins = dict[str, tuple[str, set[str]]]  # the version and the hashes, by the name of the package


def main() -> int:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    pins: Pins = {}
    for tags in MACHINES:
        for python in PYTHONS:
            problem = ask(wanted, python, tags, pins)
            print(f"Python {python}, {tags[0]}: {problem or f'{len(pins)} packages'}", flush=True)
            TARGET.write_text(HEAD + "".join(map(entry, sorted(pins.items()))))
    if not pins:
        print("nothing was found; is there an index?", file=sys.stderr)
    return 0 if pins else 1


def ask(wanted: list[str], python: str, tags: tuple[str, ...], pins: Pins) -> str:
    """Adds what pip would install there; the problem, if it cannot tell."""
    with tempfile.TemporaryDirectory() as folder:
        report, known = Path(folder, "report.json"), Path(folder, "known.txt")
        known.write_text("".join(f"{name}=={version}\n" for name, (version, _) in pins.items()))
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"]
        command += ["--quiet", "--only-binary=:all:", f"--target={folder}", f"--report={report}"]
        command += [f"--python-version={python}", *(f"--platform={tag}" for tag in tags)]
        done = subprocess.run(  # noqa: S603 - our own words
            [*command, "-c", known, *wanted], capture_output=True, text=True, check=False
        )
        if done.returncode:
            return next(iter(done.stderr.strip().splitlines()[-1:]), "pip failed")
        for one in json.loads(report.read_text())["install"]:
            name = re.sub(r"[-_.]+", "-", one["metadata"]["name"]).lower()
            _, hashes = pins.setdefault(name, (one["metadata"]["version"], set()))
            hashes.add(one["download_info"]["archive_info"]["hashes"]["sha256"])
    return ""


def entry(pin: tuple[str, tuple[str, set[str]]]) -> str:
    name, (version, hashes) = pin
    lines = [f"{name}=={version}", *(f"    --hash=sha256:{one}" for one in sorted(hashes))]
    return " \\\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
