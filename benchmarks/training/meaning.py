"""Makes memoryd/recall/data/meaning_*: a table of what words mean, learnt from a sentence encoder.

usage: meaning.py FOLDER

Reads what `teach.py` wrote to FOLDER. A text's vector is the sum of its words' vectors; the table
is such that the sum points where the encoder's vector of the text does, beyond what all texts have
in common, in the 256 directions in which texts differ most. A word begins as the encoder's vector
of the word alone, the longer the rarer it is, and is then moved lesson by lesson (Adagrad, seed
fixed). The rows are kept as bytes, each with its scale.

The same vectors give the same bytes with the same numpy on the same kind of machine; elsewhere sums
are rounded in another order, and a row may point some thousandths aside. Texts gathered on another
day give another table of the same use: `recall_quality.py` tells.
"""

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tables import save_lines, save_table
from teach import LINES_A_FILE

from memoryd.text.terms import spoken_words, term_of

DIMENSIONS = 256
EPOCHS = 8
HELD_OUT = 2_000
_BATCH = 256
_STEP = 0.05
_SEED = 1

Matrix = NDArray[np.float32]
Numbers = NDArray[np.intp]


def taught(folder: Path, name: str) -> tuple[list[str], Matrix]:
    """The lines of a file, and the encoder's vectors of them."""
    lines = (folder / f"{name}.txt").read_text("utf-8").split("\n")
    files = (len(lines) + LINES_A_FILE - 1) // LINES_A_FILE
    rows = [np.load(folder / "taught" / f"{name}-{at:04}.npy") for at in range(files)]
    return lines, np.concatenate(rows)[: len(lines)].astype(np.float32)


def unit_rows(rows: Matrix) -> Matrix:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, 1e-9), np.float32)


def main_directions(rows: Matrix) -> Matrix:
    _, directions = np.linalg.eigh(rows.T @ rows / np.float32(len(rows)))
    return np.asarray(directions[:, ::-1][:, :DIMENSIONS], np.float32)


class Learner:
    """The table while it is learnt; `lessons` are rows of words, `targets` where they point."""

    def __init__(self, table: Matrix, lessons: list[list[int]], targets: Matrix) -> None:
        self.table = table
        self._lessons = [np.array(lesson, np.intp) for lesson in lessons]
        self._targets = targets
        self._moved = np.full(len(table), 1e-3, np.float32)

    def likeness(self, which: Numbers) -> float:
        """The mean cosine of these lessons' sums with their targets."""
        _, _, sums = self._sums(which)
        return float((unit_rows(sums) * self._targets[which]).sum(1).mean())

    def learn(self, which: Numbers, step: float) -> None:
        words, lengths, sums = self._sums(which)
        is_now, should_be = unit_rows(sums), self._targets[which]
        pull = should_be - (is_now * should_be).sum(1, keepdims=True) * is_now
        of_words = np.repeat(pull / np.sqrt(lengths, dtype=np.float32)[:, np.newaxis], lengths, 0)
        order = np.argsort(words, kind="stable")
        in_order = words[order]
        starts = np.flatnonzero(np.r_[True, in_order[1:] != in_order[:-1]])
        rows, pulls = in_order[starts], np.add.reduceat(of_words[order], starts, axis=0)
        self._moved[rows] += (pulls**2).sum(1)
        scale = np.float32(step) / np.sqrt(self._moved[rows])
        self.table[rows] += scale[:, np.newaxis] * pulls

    def _sums(self, which: Numbers) -> tuple[Numbers, Numbers, Matrix]:
        lessons = [self._lessons[at] for at in which]
        lengths = np.array([len(lesson) for lesson in lessons], np.intp)
        words = np.concatenate(lessons)
        starts = np.r_[0, np.cumsum(lengths)[:-1]]
        return words, lengths, np.add.reduceat(self.table[words], starts, axis=0)


def trained(folder: Path) -> tuple[list[str], Matrix]:
    words, of_words = taught(folder, "words")
    texts, of_texts = taught(folder, "lessons")
    number = {word: at for at, word in enumerate(words)}
    lessons = [[number[word] for word in spoken_words(text) if word in number] for text in texts]
    mean = of_texts.mean(0)
    directions = main_directions(of_texts - mean)
    holders = np.zeros(len(words), np.float32)
    for lesson in lessons:
        holders[list(set(lesson))] += 1
    rarity = np.log((len(lessons) + 1) / (holders + 1))
    start = unit_rows((of_words - of_words.mean(0)) @ directions)
    start *= (rarity / rarity.max())[:, np.newaxis].astype(np.float32)
    learner = Learner(start, lessons, unit_rows((of_texts - mean) @ directions))
    dice = np.random.default_rng(_SEED)
    usable = np.array([at for at, lesson in enumerate(lessons) if len(lesson) > 1], np.intp)
    dice.shuffle(usable)
    held_out, usable = usable[:HELD_OUT], usable[HELD_OUT:]
    print(f"{len(usable)} lessons, likeness {learner.likeness(held_out):.4f} before", flush=True)
    for epoch in range(EPOCHS):
        dice.shuffle(usable)
        for at in range(0, len(usable), _BATCH):
            learner.learn(usable[at : at + _BATCH], _STEP * (1 - epoch / EPOCHS))
        print(f"epoch {epoch + 1}: likeness {learner.likeness(held_out):.4f}", flush=True)
    return words, learner.table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    words, table = trained(parser.parse_args().folder)
    save_table("meaning", words, table)
    # The words come in the order of their use.
    stems = [term_of(word) for word in words]
    first = {stem: at for at, stem in reversed([*enumerate(stems)])}
    save_lines("meaning_stems.txt", [s if first[s] == at else "" for at, s in enumerate(stems)])


if __name__ == "__main__":
    main()
