"""The bytecode that a hook runs follows its source."""

import os
import py_compile
import shutil
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from memoryd_client import compiled_hook


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return Path(shutil.copy(compiled_hook.SOURCE, tmp_path / "hook.py"))


def test_bytecode_that_is_missing_is_written(source: Path) -> None:
    assert compiled_hook.renew(str(source))
    assert compiled_hook.is_current(str(source))
    assert not compiled_hook.renew(str(source))


def test_bytecode_of_another_version_is_replaced(source: Path) -> None:
    compiled_hook.renew(str(source))
    source.write_text(source.read_text() + "\n# another version\n")
    assert compiled_hook.renew(str(source))
    assert compiled_hook.is_current(str(source))


def test_bytecode_of_another_time_is_replaced(source: Path) -> None:
    compiled_hook.renew(str(source))
    os.utime(source, (1, 1))
    assert compiled_hook.renew(str(source))


def test_bytecode_that_is_checked_by_hash_is_replaced(source: Path) -> None:
    """Such a file makes each start read and hash the source."""
    mode = py_compile.PycInvalidationMode.CHECKED_HASH
    py_compile.compile(str(source), invalidation_mode=mode)
    assert compiled_hook.renew(str(source))


@pytest.mark.parametrize("garbage", [b"", b"garbage", b"\0" * 16])
def test_damaged_bytecode_is_replaced(source: Path, garbage: bytes) -> None:
    compiled = Path(cache_from_source(str(source)))
    compiled.parent.mkdir()
    compiled.write_bytes(garbage)
    assert compiled_hook.renew(str(source))


def test_what_python_compiles_itself_is_current(source: Path) -> None:
    py_compile.compile(str(source), invalidation_mode=py_compile.PycInvalidationMode.TIMESTAMP)
    assert not compiled_hook.renew(str(source))


def test_a_place_that_cannot_be_written_is_left_alone(source: Path) -> None:
    (source.parent / "__pycache__").write_text("a file where the folder should be")
    assert not compiled_hook.renew(str(source))


def test_a_missing_hook_stops_nobody(tmp_path: Path) -> None:
    assert not compiled_hook.renew(str(tmp_path / "none.py"))
