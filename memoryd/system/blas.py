"""NumPy's products stay in the thread that asks for them.

OpenBLAS, which NumPy is built with, starts a thread for each core. They wait for the next product
in a loop that keeps their cores busy, and a product that finds one busy takes 20 ms instead of one.
Ours are small.
"""

import os
from collections.abc import Mapping

_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


def use_one_thread(env: Mapping[str, str]) -> None:
    """Before NumPy is loaded, and before any thread starts. What the person has set is left."""
    if not any(name in env for name in _VARIABLES):
        os.putenv(_VARIABLES[0], "1")  # and not `os.environ`: the programs we start do not get it
