"""Asks a sentence encoder what words and texts mean, for `meaning.py` to learn from.

usage: teach.py FOLDER MODEL_DIR

Reads FOLDER/texts.tsv of `gather.py`. Writes FOLDER/words.txt (the words to be learnt, the most
used first) and FOLDER/lessons.txt (texts of at most 32 words, in a fixed random order), and for
each 2,000 lines of them a file of vectors in FOLDER/taught. What is there already is not made
again, so the script may be stopped and started.

MODEL_DIR has `model_quantized.onnx` and `tokenizer.json` of the encoder. The table that ships was
taught by all-MiniLM-L6-v2 (Apache-2.0) alone, which knows paraphrases better than bge-small: with
its vectors on both sides .70 of the paraphrased prompts found their memory among five, with bge's
.52, with both .68. The encoder is not part of memoryd, and is not needed to use the table.
"""

import argparse
import random
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
from numpy.typing import NDArray
from tokenizers import Tokenizer

from memoryd.text.terms import spoken_words

LINES_A_FILE = 2_000
MOST_WORDS = 28_000
MOST_LESSONS = 72_000
LESSONS = {"readme": 7_000, "manual": 18_000, "package": 35_000, "gloss": 50_000}
WEIGHT_OF_KIND = {"package": 1.0, "manual": 1.5, "readme": 1.5, "gloss": 0.6}
LESSON_WORDS = 32
LEAST_TEXTS = 4
_BATCH = 32
_MOST_TOKENS = 48
_SEED = 3

Matrix = NDArray[np.float32]


class Teacher:
    def __init__(self, folder: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            str(folder / "model_quantized.onnx"), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_MOST_TOKENS)
        self._inputs = [each.name for each in self._session.get_inputs()]

    def vectors_of(self, texts: Sequence[str]) -> Matrix:
        """A unit row for each text; texts of similar length go through together."""
        tokens = [each.ids for each in self._tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(tokens)), key=lambda at: len(tokens[at]))
        batches = (order[start : start + _BATCH] for start in range(0, len(order), _BATCH))
        rows = np.concatenate([self._batch([tokens[at] for at in batch]) for batch in batches])
        found = np.empty_like(rows)
        found[order] = rows
        return found

    def _batch(self, tokens: Sequence[Sequence[int]]) -> Matrix:
        ids = np.zeros((len(tokens), max(map(len, tokens))), np.int64)
        mask = np.zeros_like(ids)
        for row, own in enumerate(tokens):
            ids[row, : len(own)] = own
            mask[row, : len(own)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        output = self._session.run(None, {name: feed[name] for name in self._inputs})[0]
        mean = (output * mask[:, :, np.newaxis]).sum(1) / mask.sum(1, keepdims=True)
        return np.asarray(mean / np.linalg.norm(mean, axis=1, keepdims=True), np.float32)


def choose(folder: Path) -> None:
    """Writes which words and which texts are taught."""
    texts: defaultdict[str, list[str]] = defaultdict(list)
    holders: defaultdict[str, Counter[str]] = defaultdict(Counter)
    with (folder / "texts.tsv").open(encoding="utf-8") as file:
        for line in file:
            kind, _, text = line.rstrip("\n").partition("\t")
            texts[kind].append(text)
            holders[kind].update(dict.fromkeys(spoken_words(text), 1))
    share: defaultdict[str, float] = defaultdict(float)
    for kind, counts in holders.items():
        for word, count in counts.items():
            share[word] += WEIGHT_OF_KIND[kind] * count / len(texts[kind])
    words = [
        word
        for word, _ in sorted(share.items(), key=lambda item: (-item[1], item[0]))
        if re.fullmatch("[a-z][a-z0-9]{1,20}", word)
        and sum(counts[word] for counts in holders.values()) >= LEAST_TEXTS
    ]
    (folder / "words.txt").write_text("\n".join(words[:MOST_WORDS]), encoding="utf-8")
    dice = random.Random(_SEED)
    lessons: list[str] = []
    for kind, wanted in LESSONS.items():
        dice.shuffle(texts[kind])
        lessons += [" ".join(text.split()[:LESSON_WORDS]) for text in texts[kind][:wanted]]
    dice.shuffle(lessons)
    (folder / "lessons.txt").write_text("\n".join(lessons[:MOST_LESSONS]), encoding="utf-8")


def teach(folder: Path, teacher: Teacher, name: str) -> None:
    lines = (folder / f"{name}.txt").read_text("utf-8").split("\n")
    (folder / "taught").mkdir(exist_ok=True)
    for number, start in enumerate(range(0, len(lines), LINES_A_FILE)):
        path = folder / "taught" / f"{name}-{number:04}.npy"
        if not path.exists():
            vectors = teacher.vectors_of(lines[start : start + LINES_A_FILE])
            aside = path.with_suffix(".tmp.npy")
            np.save(aside, vectors.astype(np.float16))
            aside.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("model_dir", type=Path)
    options = parser.parse_args()
    if not (options.folder / "words.txt").exists():
        choose(options.folder)
    teacher = Teacher(options.model_dir)
    for name in ("words", "lessons"):
        teach(options.folder, teacher, name)


if __name__ == "__main__":
    main()
