"""The hook's bytecode: Python compiles a script at every start, the launcher runs what is compiled.

`install` writes it, and the daemon at its start if it is not of this source: after an update, which
may have brought none, no prompt waits for it.
"""

import os
from importlib.util import MAGIC_NUMBER, cache_from_source

SOURCE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "hook.py")  # noqa: PTH118, PTH120 - the daemon starts without pathlib
HEAD_BYTES = 16


def renew(source: str = SOURCE) -> bool:
    """Compiles the hook unless that was done; returns whether it did. A failure costs only time."""
    try:
        if is_current(source):
            return False
        import py_compile  # noqa: PLC0415 - rarely needed

        mode = py_compile.PycInvalidationMode.TIMESTAMP  # the only one without reading the source
        return bool(py_compile.compile(source, quiet=2, invalidation_mode=mode))
    except OSError:
        return False


def is_current(source: str) -> bool:
    """Whether the bytecode is of this interpreter and of the source as it is now."""
    of_source = os.stat(source)  # noqa: PTH116 - see above
    try:
        with open(cache_from_source(source), "rb") as compiled:  # noqa: PTH123 - see above
            head = compiled.read(HEAD_BYTES)
    except FileNotFoundError:
        return False
    numbers = (0, int(of_source.st_mtime), of_source.st_size)  # 0: compared by time and size
    return head == MAGIC_NUMBER + b"".join(
        (number & 0xFFFFFFFF).to_bytes(4, "little") for number in numbers
    )
