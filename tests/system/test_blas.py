"""NumPy's products stay in one thread, and only in our own process."""

import subprocess
import sys

import pytest

CODE = """
import os
from memoryd.system.blas import use_one_thread
use_one_thread(os.environ)
import numpy
many = numpy.ones((2_000, 2_000), numpy.float32)
many @ many
print(len(os.listdir("/proc/self/task")), os.environ.get("OPENBLAS_NUM_THREADS"))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_a_product_starts_no_thread_and_programs_that_we_start_are_not_told() -> None:
    env = {"PATH": "/usr/bin:/bin"}
    ran = subprocess.run(
        [sys.executable, "-c", CODE], env=env, capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == ["1", "None"]


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_what_the_person_has_set_is_left() -> None:
    env = {"PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "2"}
    ran = subprocess.run(
        [sys.executable, "-c", CODE], env=env, capture_output=True, text=True, check=True
    )
    assert ran.stdout.split()[1] == "2"
