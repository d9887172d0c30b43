"""What large blocks of memory are made of."""

import subprocess
import sys

import pytest

# The marks that Linux gives to the memory of a large array: `hg` means huge pages.
LARGE_ARRAY = """
from memoryd.system import heap
heap.keep_small()
import numpy
made = numpy.ones(8 << 20, numpy.int8)
at = made.ctypes.data + made.nbytes // 2
for line in open("/proc/self/smaps"):
    words = line.split()
    if "-" in words[0]:
        first, last = (int(end, 16) for end in words[0].split("-"))
    elif words[0] == "VmFlags:" and first <= at < last:
        print(*words[1:])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux says what memory is made of")
def test_a_large_array_has_no_huge_pages() -> None:
    run = subprocess.run(
        (sys.executable, "-c", LARGE_ARRAY), capture_output=True, text=True, check=True, timeout=60
    )
    marks = run.stdout.split()
    assert "wr" in marks
    assert "hg" not in marks
