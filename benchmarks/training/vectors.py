"""Trains the table of word vectors that ships with memoryd, from two teachers and a lexicon.

usage: vectors.py FOLDER [--out FOLDER]

Reads what `gather.py` and `encode.py` left in FOLDER and writes word_vectors.npy, word_scales.npy
and word_vocabulary.txt, by default into memoryd/recall/data/. Numpy alone, one thread, some
minutes; no random numbers. The same input gives the same words and, on another machine, the same
small integers but for a few that are one off.

- The vocabulary: the most frequent words of the texts; of each language, the most frequent words of
  its package descriptions; the most frequent pieces of a multilingual table (potion), for everyday
  words and for scripts without spaces.
- The space: half of it the main directions of one teacher's vectors of the texts, half the other's.
- A first guess for every word is a linear map of its vector in the multilingual table, fitted so
  that the sum over a text comes close to what the teachers say about it. That is all that rare and
  foreign words have. The rest of the difference is learnt word by word (ridge regression by
  conjugate gradients): first for English from the teachers, then for the other languages from
  translations, whose English half says where the foreign half belongs.
"""

import argparse
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memoryd.recall.rules.word_pieces import pieces_of
from memoryd.text.terms import is_unspaced, spoken_words

OUT = Path(__file__).parents[2] / "memoryd/recall/data"
TEACHERS = {"minilm": 96, "bge": 96}
ENGLISH_WORDS, LANGUAGE_WORDS, EVERYDAY_PIECES, UNSPACED_PIECES = 19_000, 1_700, 5_500, 4_500
LANGUAGE_TEXTS = 6_000
UNSPACED_LANGUAGES = ("ja", "zh_CN")
# The more texts a word is in, the more its own vector may differ from the first guess.
ENGLISH_RIDGE, FOREIGN_RIDGE = 1.0, 1.0
STEPS = 14
# Words that say little have short vectors; the mean length is what `relevance` expects.
MEAN_LENGTH = 8.0

Matrix = NDArray[np.float32]


class Potion:
    """The multilingual table: its pieces and their vectors."""

    def __init__(self, folder: Path) -> None:
        self.pieces = (folder / "pieces.txt").read_text("utf-8").split("\n")
        self.vectors = np.load(folder / "vectors.npy").astype(np.float32)
        self._rows: dict[str, int] = {}
        for row, piece in enumerate(self.pieces[: len(self.vectors)]):
            self._rows.setdefault(piece, row)

    def vector_of(self, surfaces: Iterable[str]) -> Matrix:
        """The vector of a word, by the spelling that needs the fewest and commonest pieces."""
        cuts = (self._cut(text) for word in surfaces for text in (word, word.capitalize()))
        _, rows = min(cuts, default=(0.0, []))
        return np.asarray(self.vectors[rows].sum(axis=0), np.float32)

    def _cut(self, word: str) -> tuple[float, list[int]]:
        text = word if is_unspaced(word) else f"▁{word}"
        costs, cuts = [0.0], [0]
        for end in range(1, len(text) + 1):
            options = [(costs[end - 1] + 30.0, end - 1)]
            for start in range(max(0, end - 20), end):
                row = self._rows.get(text[start:end])
                if row is not None:
                    options.append((costs[start] + 6.0 + math.log(row + 20), start))
            cost, cut = min(options)
            costs.append(cost)
            cuts.append(cut)
        rows, end = [], len(text)
        while end > 0:
            row = self._rows.get(text[cuts[end] : end])
            rows += [] if row is None else [row]
            end = cuts[end]
        return costs[-1], rows[::-1]


class Bags:
    """Texts as bags of words: a sparse matrix, multiplied from both sides."""

    def __init__(self, texts: Sequence[Sequence[int]], columns: int) -> None:
        counts = [Counter(text) for text in texts]
        self.rows = np.repeat(np.arange(len(texts)), [len(each) for each in counts])
        self.columns = np.array([word for each in counts for word in each], np.intp)
        self.values = np.array([times for each in counts for times in each.values()], np.float32)
        self.shape = (len(texts), columns)
        self._by_column = np.argsort(self.columns, kind="stable")

    def scale_rows(self, factors: Matrix) -> None:
        self.values = self.values * factors[self.rows]

    def times(self, table: Matrix) -> Matrix:
        return self._sums(self.rows, self.columns, self.values, table, self.shape[0])

    def transposed_times(self, table: Matrix) -> Matrix:
        order = self._by_column
        columns, rows = self.columns[order], self.rows[order]
        return self._sums(columns, rows, self.values[order], table, self.shape[1])

    @staticmethod
    def _sums(
        targets: NDArray[np.intp],
        sources: NDArray[np.intp],
        values: Matrix,
        table: Matrix,
        size: int,
    ) -> Matrix:
        """Sums rows of the table by target; `targets` are sorted. A block at a time."""
        out = np.zeros((size, table.shape[1]), np.float32)
        starts = np.flatnonzero(np.r_[True, targets[1:] != targets[:-1]])
        for first in range(0, len(starts), 8192):
            block = starts[first : first + 8192]
            last = first + 8192
            end = starts[last] if last < len(starts) else len(targets)
            part = table[sources[block[0] : end]] * values[block[0] : end, np.newaxis]
            out[targets[block]] = np.add.reduceat(part, block - block[0], axis=0)
        return out


def solved(bags: Bags, wanted: Matrix, ridge: float) -> Matrix:
    """The table that, multiplied by the bags, comes closest to what is wanted."""

    def applied(table: Matrix) -> Matrix:
        return bags.transposed_times(bags.times(table)) + np.float32(ridge) * table

    table = np.zeros((bags.shape[1], wanted.shape[1]), np.float32)
    left = bags.transposed_times(wanted)
    direction, size = left.copy(), (left * left).sum(axis=0)
    for _ in range(STEPS):
        moved = applied(direction)
        step = size / np.maximum((direction * moved).sum(axis=0), 1e-12)
        table += step * direction
        left -= step * moved
        new_size = (left * left).sum(axis=0)
        direction = left + (new_size / np.maximum(size, 1e-12)) * direction
        size = new_size
    return table


def unit_rows(rows: Matrix) -> Matrix:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def main_directions(rows: Matrix, count: int) -> Matrix:
    """The directions in which centred rows differ most."""
    centred = (rows - rows.mean(axis=0)).astype(np.float64)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    found = vectors[:, ::-1][:, :count]
    signs = np.sign(found[np.abs(found).argmax(axis=0), np.arange(count)])
    return (found * signs).astype(np.float32)


def words_of(text: str) -> list[str]:
    return spoken_words(text)


def vocabulary_of(folder: Path, potion: Potion) -> tuple[list[str], dict[str, set[str]], int]:
    """The words, how each is really spelled, and how many of them are English."""
    english: Counter[str] = Counter()
    for line in (folder / "texts.tsv").read_text("utf-8").splitlines():
        english.update(set(words_of(line.partition("\t")[2])))
    foreign, surfaces = foreign_words(folder)
    words = dict.fromkeys(
        word
        for word, _ in sorted(english.items(), key=lambda item: (-item[1], item[0]))
        if word.isalnum() and not word[0].isdigit() and not is_unspaced(word)
    )
    words = dict.fromkeys(list(words)[:ENGLISH_WORDS])
    count = len(words)
    for counts in foreign.values():
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        new = [word for word, _ in ranked if word.isalpha() and word not in words]
        words |= dict.fromkeys(new[:LANGUAGE_WORDS])
    everyday = unspaced = 0
    for piece in potion.pieces:
        for word in words_of(piece.removeprefix("▁")):
            if word in words or not word.isalpha():
                continue
            if is_unspaced(word) and unspaced < UNSPACED_PIECES:
                unspaced += 1
            elif not piece.startswith("▁") or len(word) < 4 or everyday >= EVERYDAY_PIECES:
                continue
            elif is_of_europe(word):
                everyday += 1
            else:
                continue
            words[word] = None
            surfaces[word].add(piece.removeprefix("▁"))
    return list(words), surfaces, count


def is_of_europe(word: str) -> bool:
    return all("a" <= char <= "z" or "а" <= char <= "я" for char in word)  # noqa: RUF001 - Cyrillic


def foreign_words(folder: Path) -> tuple[dict[str, Counter[str]], defaultdict[str, set[str]]]:
    """The words of each language with how often they occur, and their spellings."""
    counts: dict[str, Counter[str]] = {}
    surfaces: defaultdict[str, set[str]] = defaultdict(set)
    for line in (folder / "parallel.tsv").read_text("utf-8").splitlines():
        language, _, text = line.split("\t")
        if language not in UNSPACED_LANGUAGES:
            for surface in re.findall(r"[^\W\d_]+", text.lower()):
                for word in words_of(surface):
                    counts.setdefault(language, Counter())[word] += 1
                    surfaces[word].add(surface)
    return counts, surfaces


class Cutter:
    """Texts as rows of the table, cut as the daemon cuts them."""

    def __init__(self, words: Sequence[str]) -> None:
        self._rows = {word: row for row, word in enumerate(words)}
        self._cut: dict[str, list[int]] = {}

    def rows_of(self, text: str) -> list[int]:
        found = []
        for word in words_of(text):
            if word not in self._cut:
                pieces = [word] if word in self._rows else pieces_of(word, self._rows)
                self._cut[word] = [self._rows[piece] for piece in pieces]
            found += self._cut[word]
        return found


def taught(folder: Path, cutter: Cutter, guesses: Matrix) -> Matrix:
    """The table as the teachers would have it, for the words of their texts."""
    halves = []
    for teacher, dimensions in TEACHERS.items():
        rows = np.load(folder / f"{teacher}.npy").astype(np.float32)
        texts = (folder / f"{teacher}.txt").read_text("utf-8").split("\n")[: len(rows)]
        known = [(row, cut) for row, text in enumerate(texts) if (cut := cutter.rows_of(text))]
        rows = rows[[row for row, _ in known]]
        target = unit_rows((rows - rows.mean(axis=0)) @ main_directions(rows, dimensions))
        bags = Bags([cut for _, cut in known], len(guesses))
        lengths = np.linalg.norm(bags.times(guesses), axis=1)
        bags.scale_rows((1 / np.maximum(lengths, 1e-3)).astype(np.float32))
        first = bags.times(guesses)
        mapped = np.linalg.solve(
            first.T @ first + 1.0 * np.eye(first.shape[1], dtype=np.float32), first.T @ target
        )
        table = guesses @ mapped
        table += solved(bags, target - bags.times(table), ENGLISH_RIDGE)
        reached = unit_rows(bags.times(table))
        print(
            teacher, len(known), "texts, cosine", round(float((reached * target).sum(1).mean()), 3)
        )
        halves.append(table)
    return np.concatenate(halves, axis=1)


def translations(folder: Path) -> Iterator[tuple[str, str]]:
    taken: Counter[str] = Counter()
    for line in (folder / "parallel.tsv").read_text("utf-8").splitlines():
        language, ours, theirs = line.split("\t")
        taken[language] += 1
        if taken[language] <= LANGUAGE_TEXTS:
            yield ours, theirs


def translated(folder: Path, cutter: Cutter, table: Matrix, english: int) -> None:
    """Moves the words of other languages to where their translations are."""
    pairs = [
        (ours, theirs)
        for one, other in translations(folder)
        if (ours := cutter.rows_of(one)) and (theirs := cutter.rows_of(other))
    ]
    target = unit_rows(Bags([ours for ours, _ in pairs], len(table)).times(table))
    bags = Bags([theirs for _, theirs in pairs], len(table))
    lengths = np.linalg.norm(bags.times(table), axis=1)
    bags.scale_rows((1 / np.maximum(lengths, 1e-3)).astype(np.float32))
    # What English words say is known; only the others may move.
    bags.values = np.where(bags.columns < english, 0, bags.values)
    whole = Bags([theirs for _, theirs in pairs], len(table))
    whole.scale_rows((1 / np.maximum(lengths, 1e-3)).astype(np.float32))
    missing = target - whole.times(table)
    table[english:] += solved(bags, missing, FOREIGN_RIDGE)[english:]
    reached = unit_rows(whole.times(table))
    print(len(pairs), "translations, cosine", round(float((reached * target).sum(1).mean()), 3))


def save(out: Path, words: Sequence[str], table: Matrix) -> None:
    lengths = np.linalg.norm(table, axis=1)
    table = table * np.float32(MEAN_LENGTH / lengths.mean())
    scales = (np.abs(table).max(axis=1) / 127).astype(np.float16)
    scales = np.maximum(scales, np.float16(1e-4))
    small = np.clip(np.rint(table / scales[:, np.newaxis].astype(np.float32)), -127, 127)
    np.save(out / "word_vectors.npy", small.astype(np.int8))
    np.save(out / "word_scales.npy", scales)
    (out / "word_vocabulary.txt").write_text("\n".join(words), "utf-8")
    print(len(words), "words,", small.nbytes // 4 // 1024, "KiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    potion = Potion(options.folder / "teachers/potion")
    words, surfaces, english = vocabulary_of(options.folder, potion)
    spelled: Mapping[str, set[str]] = surfaces
    guesses = np.stack([potion.vector_of(sorted(spelled.get(word) or {word})) for word in words])
    print(len(words), "words,", english, "of them English", flush=True)
    cutter = Cutter(words)
    table = taught(options.folder, cutter, guesses)
    translated(options.folder, cutter, table, english)
    save(options.out, words, table)


if __name__ == "__main__":
    main()
