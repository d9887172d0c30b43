"""What the benchmarks share: CPU of a process, slopes, and tables of rows beside their baselines.

Each benchmark has plain functions that return numbers by name, for one size, and `table` prints
them for several. The slope is that of the logarithms: 0 does not grow, 1 grows as the size does.
"""

import math
import os
import resource
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

SETTLED_SECONDS = 300.0

Numbers = dict[str, float]
"""Figures of one size by name; the name ends in the unit."""


def cpu_seconds(pid: int) -> float:
    """What all its threads have used, also those that have ended: other programs do not count."""
    clock_of_process = (~pid << 3) | 2  # as Linux numbers the CPU clocks of other processes
    return time.clock_gettime(clock_of_process)


def cpu_seconds_with_children(pid: int) -> float:
    """Also what the programs used that it has started and waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    of_children = int(fields[13]) + int(fields[14])
    return cpu_seconds(pid) + of_children / os.sysconf("SC_CLK_TCK")


def rest(pid: int) -> None:
    """Waits until the daemon has done what it does in the background, and kept its shelves."""
    deadline = time.monotonic() + SETTLED_SECONDS
    before, quiet = cpu_seconds(pid), 0
    while quiet < 14 and time.monotonic() < deadline:
        time.sleep(0.5)
        now = cpu_seconds(pid)
        quiet = quiet + 1 if now - before < 0.03 else 0
        before = now


def cpu_of_children(work: Callable[[], object]) -> float:
    """Milliseconds of CPU that processes used which were started and waited for meanwhile."""

    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    before = spent()
    work()
    return (spent() - before) * 1e3


def milliseconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1e3


def resident_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def late(times: Sequence[float], share: float = 0.99) -> float:
    """The percentile of some times."""
    return sorted(times)[max(0, math.ceil(len(times) * share) - 1)]


def slope(sizes: Sequence[float], values: Sequence[float]) -> float | None:
    """Of the line through the logarithms; None where there is none."""
    if len(sizes) < 2 or min(values) <= 0:
        return None
    xs, ys = [math.log(size) for size in sizes], [math.log(value) for value in values]
    return statistics.linear_regression(xs, ys).slope


def columns(at_each: Mapping[int, Numbers]) -> dict[str, list[float]]:
    """The figures by name, a value for each size that has them all."""
    names = list(next(iter(at_each.values()), {}))
    return {name: [numbers[name] for numbers in at_each.values()] for name in names}


def table(title: str, at_each: Mapping[int, Numbers]) -> None:
    print(f"{title:<32}" + "".join(f"{size:>12,}" for size in at_each) + f"{'slope':>8}")
    for name, values in columns(at_each).items():
        found = slope(list(at_each), values)
        shown = "-" if found is None else f"{found:.2f}"
        print(f"{name:<32}" + "".join(f"{value:>12.2f}" for value in values) + f"{shown:>8}")
