"""Recall with a sentence encoder from a folder, and with folders that have no working one."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from tests.support.running import Daemon, Peer
from tests.support.thinning import thinned

TINY_ENCODER = Path(__file__).parents[1] / "data/tiny_encoder"
TABLE_BEGINS = b"tableJ\xc0\x03"  # its 14 rows of 8 numbers follow, 448 bytes
FACTS = {
    "Kittens": "A kitten sleeps on the postgres server.",
    "Deploys": "We deploy each release on Tuesdays.",
    "Breaks": "There is tea at four.",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tokenizers")
    return Path(shutil.copytree(TINY_ENCODER, tmp_path / "encoder"))


@pytest.fixture
def cwd(tmp_path: Path) -> str:
    project = tmp_path / "app"
    project.mkdir()
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    return str(project)


@contextmanager
def with_encoder(home: Path, folder: Path, cwd: str) -> Iterator[Peer]:
    settings = home / ".config/memoryd/config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(f"[recall]\nmodel_dir = {json.dumps(str(folder))}\n")
    daemon = Daemon(home).start()
    try:
        with daemon.peer() as peer:
            for name, body in FACTS.items():
                new = {"name": name, "description": body, "type": "project", "body": body}
                peer.call("memory/save", cwd=cwd, **new)
            yield peer
    finally:
        daemon.end()


def first(peer: Peer, cwd: str, query: str) -> str:
    return str(peer.call("recall", query=query, cwd=cwd)["memories"][0]["name"])


def gone(folder: Path) -> None:
    shutil.rmtree(folder)


def without_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


def garbage(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(bytes(range(256)) * 9)


def cut_short(folder: Path) -> None:
    path = folder / "model.onnx"
    path.write_bytes(path.read_bytes()[:300])


def other_input(folder: Path) -> None:
    path = folder / "model.onnx"
    path.write_bytes(path.read_bytes().replace(b"input_ids", b"input_img"))


def narrow_rows(folder: Path) -> None:
    path = folder / "model.onnx"
    changed = path.read_bytes().replace(b"\x08\x0e\x08\x08", b"\x08\x1c\x08\x04", 1)
    path.write_bytes(changed)


def no_numbers(folder: Path) -> None:
    path = folder / "model.onnx"
    before, begin, table = path.read_bytes().partition(TABLE_BEGINS)
    nothing = np.full(14 * 8, np.nan, np.float32).tobytes()
    path.write_bytes(before + begin + nothing + table[len(nothing) :])


def strange_pooling(folder: Path) -> None:
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text("[not json")


BROKEN = [
    *(gone, without_tokenizer, garbage, cut_short, other_input, narrow_rows, no_numbers),
    strange_pooling,
]


@pytest.mark.parametrize("breaks", thinned(BROKEN, every=3), ids=lambda breaks: breaks.__name__)
def test_a_folder_without_a_model_that_works_is_a_warning_and_recall_goes_on(
    home: Path, folder: Path, cwd: str, breaks: Callable[[Path], None]
) -> None:
    breaks(folder)
    with with_encoder(home, folder, cwd) as peer:
        assert first(peer, cwd, "when do we deploy a release?") == "Deploys"
        (problem,) = peer.call("status")["errors"]
        assert "sentence model" in problem
        assert "model_dir" in problem


def test_a_model_that_works_is_no_warning(home: Path, folder: Path, cwd: str) -> None:
    with with_encoder(home, folder, cwd) as peer:
        assert first(peer, cwd, "when do we deploy a release?") == "Deploys"
        assert peer.call("status")["errors"] == []


def test_a_model_that_fails_on_a_text_is_a_warning_and_recall_goes_on(
    home: Path, folder: Path, cwd: str
) -> None:
    path = folder / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    tokenizer["model"]["vocab"]["tea"] = 99  # the model has no such row
    path.write_text(json.dumps(tokenizer))
    with with_encoder(home, folder, cwd) as peer:
        assert first(peer, cwd, "when do we deploy a release?") == "Deploys"
        assert first(peer, cwd, "at what time is tea?") == "Breaks"
        (problem,) = peer.call("status")["errors"]
        assert "fails on some texts" in problem
