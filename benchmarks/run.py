"""Runs every benchmark in this folder, one after the other, each beside its baseline.

usage: benchmarks/run.py [NAME ...]     (the file names without .py; all of them by default)
"""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
# These want a folder, of judged queries or to write to; two take long (`make year`, `make load`).
NOT_BY_THEMSELVES = {"run", "recall_quality", "long_store", "dream_year", "load"}


def main() -> int:
    known = {path.stem for path in HERE.glob("*.py")} - {"run"}
    wanted = sys.argv[1:] or sorted(known - NOT_BY_THEMSELVES)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are: {', '.join(sorted(known))}")
        return 2
    env = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'client'}"}
    failed = 0
    for name in wanted:
        print(f"\n== {name} ==", flush=True)
        failed += subprocess.run(
            [sys.executable, HERE / f"{name}.py"], env=env, check=False
        ).returncode
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
