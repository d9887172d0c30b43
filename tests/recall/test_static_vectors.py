"""The table of meanings that ships, and both tables of static vectors together."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.base.errors import Unavailable
from memoryd.recall.byte_table import DATA, ByteTable
from memoryd.recall.embeddings import Embeddings
from memoryd.recall.meaning_table import MeaningTable
from memoryd.recall.rules.relevance import ENOUGH_SUBSTANCE
from memoryd.recall.rules.word_list import WordList
from memoryd.recall.static_vectors import StaticVectors
from memoryd.recall.word_vectors import WordVectors
from memoryd.text.terms import term_of

WORDS = ("boat", "ship", "sail", "paint", "painting")


def table() -> MeaningTable:
    rows = np.array([[9, 0, 0, 0], [8, 1, 0, 0], [7, 2, 0, 0], [0, 0, 9, 0], [0, 0, 0, 9]], np.int8)
    table = ByteTable(WordList("\n".join(WORDS)), np.full(len(WORDS), 0.1, np.float32), rows)
    return MeaningTable(table, WordList("boat\nship\nsail\npaint\n\n"))


def written(folder: Path) -> Path:
    folder.mkdir()
    np.save(folder / "meaning_vectors.npy", np.ones((2, 4), np.int8))
    np.save(folder / "meaning_scales.npy", np.array([0.1, 0.25], np.float32))
    (folder / "meaning_words.txt").write_text("boat\nship\n")
    (folder / "meaning_stems.txt").write_text("boat\nship\n")
    return folder


def likeness(vectors: MeaningTable | StaticVectors, one: str, other: str) -> float:
    first, second = vectors.vector_of(one), vectors.vector_of(other)
    assert first is not None
    assert second is not None
    return float(first @ second)


def test_words_about_the_same_thing_are_alike() -> None:
    vectors = table()
    assert likeness(vectors, "the boat", "a ship") > 0.9 > likeness(vectors, "the boat", "paint")


def test_another_form_of_a_word_has_its_vector() -> None:
    assert likeness(table(), "sailing", "sail") == pytest.approx(1.0)


def test_a_form_that_the_table_has_is_taken_before_its_stem() -> None:
    assert likeness(table(), "paint", "painting") == pytest.approx(0.0)


def test_a_name_nobody_has_heard_of_is_like_itself_only() -> None:
    vectors = MeaningTable.open()
    assert likeness(vectors, "zqwortlix", "Zqwortlix") == pytest.approx(1.0)
    assert abs(likeness(vectors, "zqwortlix", "vrumbexol")) < 0.3
    assert abs(likeness(vectors, "zqwortlix", "database")) < 0.3


def test_the_stems_that_ship_are_those_of_their_words() -> None:
    stems = (DATA / "meaning_stems.txt").read_text("utf-8").splitlines()
    seen: set[str] = set()
    for word, stem in zip(ByteTable.open(DATA, "meaning").words, stems, strict=True):
        assert stem == ("" if term_of(word) in seen else term_of(word))
        seen.add(term_of(word))


def test_a_text_without_words_has_no_vector() -> None:
    assert table().vector_of("and then, to the ...") is None


@given(st.text())
def test_any_text_has_a_unit_vector_or_none(text: str) -> None:
    vector = table().vector_of(text)
    assert vector is None or float(vector @ vector) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / "meaning_vectors.npy").unlink(),
        lambda folder: (folder / "meaning_vectors.npy").write_bytes(b""),
        lambda folder: (folder / "meaning_vectors.npy").write_bytes(b"\x93NUMPY"),
        lambda folder: np.save(folder / "meaning_vectors.npy", np.ones((2, 4))),
        lambda folder: np.save(folder / "meaning_vectors.npy", np.ones((3, 4), np.int8)),
        lambda folder: np.save(folder / "meaning_vectors.npy", np.ones(2, np.int8)),
        lambda folder: np.save(folder / "meaning_scales.npy", np.ones(3, np.float32)),
        lambda folder: (folder / "meaning_scales.npy").unlink(),
        lambda folder: (folder / "meaning_words.txt").write_text("boat\nboat\n"),
        lambda folder: (folder / "meaning_words.txt").write_bytes(b"\xff\xfe\nship\n"),
        lambda folder: (folder / "meaning_stems.txt").write_text("boat\n"),
        lambda folder: (folder / "meaning_stems.txt").unlink(),
    ],
)
def test_a_broken_table_is_reported_as_unavailable(
    tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    folder = written(tmp_path / "table")
    MeaningTable.open(folder)
    spoil(folder)
    with pytest.raises(Unavailable, match="cannot be read"):
        MeaningTable.open(folder)


@pytest.mark.parametrize(
    ("one", "like", "unlike"),
    [
        ("the server crashed", "an outage of the service", "colour of the button"),
        ("change my password", "credentials to log in", "invoice numbers"),
        ("too many requests", "rate limit", "date of birth"),
    ],
)
def test_the_table_that_ships_knows_what_developers_mean(one: str, like: str, unlike: str) -> None:
    vectors = MeaningTable.open()
    assert likeness(vectors, one, like) > likeness(vectors, one, unlike)


def test_both_tables_together_give_a_mean_of_what_they_say() -> None:
    words, meanings = WordVectors.open(), MeaningTable.open()
    texts = ("rotate the signing key", "certificates expire in May")
    of_words = float(words.vector_of(texts[0]) @ words.vector_of(texts[1]))  # type: ignore[operator]  # both have words
    of_meanings = likeness(meanings, *texts)
    mean = likeness(StaticVectors(words, meanings), *texts)
    assert mean == pytest.approx(0.6 * of_words + 0.4 * of_meanings, abs=1e-3)


def test_one_table_stands_alone() -> None:
    alone = StaticVectors(None, table())
    assert likeness(alone, "boat", "ship") > 0.9
    assert alone.question("boat").substance == ENOUGH_SUBSTANCE
    assert alone.question("and then").substance == 0.0
    assert StaticVectors(None, None).question("boat").word_vector is None


def test_what_ships_is_loaded_without_a_complaint(tmp_path: Path) -> None:
    embeddings = Embeddings(None, str(tmp_path))
    embeddings.load()
    assert embeddings.problems == []
    assert embeddings.static.meanings is not None
