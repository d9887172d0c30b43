"""Encodes a sample of the gathered texts with a teacher, for `vectors.py`.

usage: encode.py FOLDER TEACHER

Reads FOLDER/texts.tsv and FOLDER/teachers/ of `gather.py`; writes FOLDER/TEACHER.txt (one text a
line) and FOLDER/TEACHER.npy (a unit row for each line, as float16), chunk by chunk: a run that is
stopped leaves whole chunks. TEACHER is bge or minilm. One thread, some minutes on a quiet machine.
"""

import argparse
import random
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
import tokenizers
from numpy.typing import NDArray

SAMPLE = {"package": 26_000, "gloss": 24_000, "manual": 9_000, "readme": 9_000}
# The larger teacher takes four times as long for each.
TEXTS = {"minilm": 68_000, "bge": 30_000}
SEED = 15
CHUNK, BATCH = 2_048, 64
LONGEST_TOKENS = 40


def sample_of(folder: Path) -> list[str]:
    by_kind = defaultdict(list)
    for line in (folder / "texts.tsv").read_text("utf-8").splitlines():
        kind, _, text = line.partition("\t")
        by_kind[kind].append(text)
    chosen = []
    for kind, wanted in SAMPLE.items():
        random.Random(SEED).shuffle(by_kind[kind])
        chosen += by_kind[kind][:wanted]
    chosen = sorted(set(chosen))
    random.Random(SEED).shuffle(chosen)
    return chosen


class Teacher:
    def __init__(self, folder: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        (model,) = folder.glob("*.onnx")
        self._session = onnxruntime.InferenceSession(str(model), options)
        self._tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(LONGEST_TOKENS)
        self._names = [each.name for each in self._session.get_inputs()]
        self._takes_first = folder.name == "bge"

    def encode(self, texts: list[str]) -> NDArray[np.float16]:
        rows = np.zeros((len(texts), 384), np.float16)
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        for start in range(0, len(order), BATCH):
            some = order[start : start + BATCH]
            rows[some] = self._encode_batch([texts[at] for at in some])
        return rows

    def _encode_batch(self, texts: list[str]) -> NDArray[np.float32]:
        own = [each.ids for each in self._tokenizer.encode_batch(texts)]
        ids = np.zeros((len(own), max(map(len, own))), np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(own):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (output, *_) = self._session.run(None, {name: feed[name] for name in self._names})
        weights = mask[:, :, np.newaxis].astype(np.float32)
        pooled = output[:, 0] if self._takes_first else (output * weights).sum(1) / weights.sum(1)
        return np.asarray(pooled / np.linalg.norm(pooled, axis=1, keepdims=True), np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("teacher", choices=TEXTS)
    options = parser.parse_args()
    folder, name = options.folder, options.teacher
    texts = sample_of(folder)[: TEXTS[name]]
    teacher = Teacher(folder / "teachers" / name)
    done: list[NDArray[np.float16]] = []
    began = time.monotonic()
    for start in range(0, len(texts), CHUNK):
        done.append(teacher.encode(texts[start : start + CHUNK]))
        rows = np.concatenate(done)
        np.save(folder / f"{name}.npy", rows)
        (folder / f"{name}.txt").write_text("\n".join(texts[: len(rows)]), "utf-8")
        print(name, len(rows), round(time.monotonic() - began), "s", flush=True)


if __name__ == "__main__":
    main()
