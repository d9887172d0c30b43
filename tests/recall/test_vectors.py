"""Word vectors from the files that ship, and sentence vectors from a folder, on small data."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memoryd.base.errors import Unavailable
from memoryd.recall.sentence_encoder import SentenceEncoder
from memoryd.recall.word_vectors import WordVectors

TINY_ENCODER = Path(__file__).parents[1] / "data/tiny_encoder"

# Merges are made in the order of the rows, so the order here is part of the example.
PIECES = ["<unk>", "<0xE7>", "<0x8C>", "<0xAB>", "▁", *"acdghinotk"]
PIECES += ["at", "▁c", "▁cat", "▁k", "it", "▁kit", "▁dog", "og", "▁d"]


def table() -> np.ndarray[Any, np.dtype[np.int8]]:
    rows = np.zeros((len(PIECES), 4), np.int8)
    rows[PIECES.index("▁cat"), 0] = 100
    rows[PIECES.index("▁dog"), 1] = 100
    rows[1:4, 2] = 100
    rows[:, 3] = 25
    return rows


def written(folder: Path) -> Path:
    """A folder with a table and its pieces."""
    folder.mkdir()
    np.save(folder / "piece_vectors.npy", table())
    np.save(folder / "piece_scales.npy", np.full(len(PIECES), 0.01, np.float32))
    (folder / "piece_words.txt").write_text("".join(f"{piece}\n" for piece in PIECES))
    return folder


def pieces(vectors: WordVectors, word: str) -> list[str]:
    return [PIECES[row] for row in vectors.pieces_of(word)]


def test_a_word_is_cut_by_the_merges_that_come_first(tmp_path: Path) -> None:
    vectors = WordVectors.open(written(tmp_path / "p"))
    assert pieces(vectors, "cat") == ["▁cat"]
    assert pieces(vectors, "kitcat") == ["▁kit", "c", "at"]
    # The row of "og" comes before that of "▁d", and "▁dog" needs no other way.
    assert pieces(vectors, "dog") == ["▁dog"]


def test_a_character_without_a_piece_is_spelled_in_bytes(tmp_path: Path) -> None:
    vectors = WordVectors.open(written(tmp_path / "p"))
    assert pieces(vectors, "猫") == ["▁", "<0xE7>", "<0x8C>", "<0xAB>"]
    assert pieces(vectors, "\ud800") == ["▁"]


def test_texts_that_share_words_are_alike_and_vectors_have_length_one(tmp_path: Path) -> None:
    vectors = WordVectors.open(written(tmp_path / "p"))
    cat, cats, dog = (vectors.vector_of(text) for text in ("the cat", "A cat!", "a dog"))
    assert cat is not None
    assert cats is not None
    assert dog is not None
    assert float(cat @ cats) == pytest.approx(1)
    assert float(cat @ dog) < 0.2
    assert float(np.linalg.norm(dog)) == pytest.approx(1)


def test_a_text_without_words_has_no_vector(tmp_path: Path) -> None:
    vectors = WordVectors.open(written(tmp_path / "p"))
    assert vectors.vector_of("") is None
    assert vectors.vector_of("what is it, then?") is None


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / "piece_vectors.npy").unlink(),
        lambda folder: (folder / "piece_vectors.npy").write_bytes(b"short"),
        lambda folder: np.save(folder / "piece_vectors.npy", table()[1:]),
        lambda folder: np.save(folder / "piece_vectors.npy", table().astype(np.float16)),
        lambda folder: np.save(folder / "piece_scales.npy", np.ones((2, 2), np.float32)),
        lambda folder: np.save(folder / "piece_scales.npy", np.ones(len(PIECES))),
        lambda folder: (folder / "piece_words.txt").unlink(),
        lambda folder: (folder / "piece_words.txt").write_text("{}"),
    ],
)
def test_a_broken_table_of_pieces_is_reported_as_unavailable(
    tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    folder = written(tmp_path / "p")
    spoil(folder)
    with pytest.raises(Unavailable, match="cannot be read"):
        WordVectors.open(folder)


def test_loading_vectors_imports_no_package_of_models(tmp_path: Path) -> None:
    code = (
        "import sys; from memoryd.recall.embeddings import Embeddings;"
        f"Embeddings(None, {str(tmp_path)!r}).load();"
        "assert not {'tokenizers', 'onnxruntime'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_vectors_that_ship_know_what_is_similar() -> None:
    vectors = WordVectors.open()
    texts = ("the children went to school", "kids in a classroom", "restart the postgres server")
    children, kids, server = (vectors.vector_of(text) for text in texts)
    assert children is not None
    assert kids is not None
    assert server is not None
    assert float(children @ kids) > 0.3 > float(children @ server)


def test_the_merges_lead_to_every_whole_word_of_the_vocabulary_that_ships() -> None:
    vectors = WordVectors.open()
    words = [piece[1:] for piece in vectors._vocabulary if piece.startswith("▁") and piece != "▁"]
    assert len(words) > 10_000
    assert [word for word in words if len(vectors._cut(word)) != 1] == []


class CountingCache(dict[bytes, bytes]):
    """A cache that counts what is put into it."""

    puts = 0

    def put(self, key: bytes, value: bytes) -> None:
        self.puts += 1
        self[key] = value


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tokenizers")
    return Path(shutil.copytree(TINY_ENCODER, tmp_path / "encoder"))


def test_sentences_of_one_meaning_are_similar(folder: Path) -> None:
    encoder = SentenceEncoder.open(folder)
    rows = encoder.encode(["cat", "kitten", "database port"], CountingCache())
    assert rows.shape == (3, 8)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-3)
    assert float(rows[0] @ rows[1]) == pytest.approx(1, abs=1e-2)
    assert float(rows[0] @ rows[2]) < 0.5
    assert np.allclose(encoder.encode_query("cat"), rows[0], atol=1e-2)


def test_padding_does_not_change_a_vector(folder: Path) -> None:
    encoder = SentenceEncoder.open(folder)
    (alone,) = encoder.encode(["cat"], CountingCache())
    beside, _ = encoder.encode(
        ["cat", "deploy release database postgres port tea"], CountingCache()
    )
    assert np.allclose(alone, beside, atol=1e-3)


def test_a_text_is_encoded_once_and_then_cached(folder: Path) -> None:
    encoder, cache = SentenceEncoder.open(folder), CountingCache()
    first = encoder.encode([f"cat {'tea ' * n}" for n in range(20)], cache)
    again = encoder.encode([f"cat {'tea ' * n}" for n in range(20)], cache)
    assert cache.puts == 20
    assert np.array_equal(first, again)


def test_another_model_does_not_use_the_cache_of_the_first(folder: Path) -> None:
    cache = CountingCache()
    SentenceEncoder.open(folder).encode(["cat"], cache)
    changed = (folder / "model.onnx").read_bytes() + b"\x32\x00"
    (folder / "model.onnx").write_bytes(changed)
    SentenceEncoder.open(folder).encode(["cat"], cache)
    assert cache.puts == 2


def test_other_settings_do_not_use_the_cache_of_the_first(folder: Path) -> None:
    cache = CountingCache()
    SentenceEncoder.open(folder).encode(["cat dog tea"], cache)
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 3}))
    SentenceEncoder.open(folder).encode(["cat dog tea"], cache)
    assert cache.puts == 2


def test_an_incomplete_cache_entry_is_made_again(folder: Path) -> None:
    encoder, cache = SentenceEncoder.open(folder), CountingCache()
    first = encoder.encode(["cat", "dog"], cache)
    key = next(iter(cache))
    for damaged in (b"", cache[key][:-2], cache[key] * 2):
        cache[key] = damaged
        assert np.array_equal(encoder.encode(["cat", "dog"], cache), first)
    assert cache.puts == 5


@pytest.mark.parametrize(
    "config",
    [{"pooling_mode_cls_token": True, "word_embedding_dimension": 8}, {"pooling_mode": "cls"}],
)
def test_the_folder_says_how_to_pool(folder: Path, config: dict[str, object]) -> None:
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text(json.dumps(config))
    cat, dog = SentenceEncoder.open(folder).encode(["cat", "dog"], CountingCache())
    assert np.allclose(cat, dog, atol=1e-3)


def test_the_folder_says_what_goes_before_a_query_and_how_much_is_read(folder: Path) -> None:
    (folder / "config_sentence_transformers.json").write_text(
        json.dumps({"prompts": {"query": "query "}, "similarity_fn_name": "cosine"})
    )
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 3}))
    encoder = SentenceEncoder.open(folder)
    (query,) = encoder.encode(["query"], CountingCache())
    assert np.allclose(encoder.encode_query("cat dog deploy"), query, atol=1e-2)


def test_a_quantised_model_in_the_onnx_folder_is_preferred(folder: Path) -> None:
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx/model_quantized.onnx")
    (folder / "onnx/model.onnx").write_bytes(b"not read")
    assert SentenceEncoder.open(folder).encode_query("cat").shape == (8,)


def test_unrelated_sentences_give_the_base_cosine(folder: Path) -> None:
    # The tiny model knows none of their words, so they are all the same to it.
    assert SentenceEncoder.open(folder).unrelated_cosine == pytest.approx(0.95)


def test_any_text_can_be_encoded(folder: Path) -> None:
    encoder = SentenceEncoder.open(folder)
    assert encoder.encode(["", "\ud800 \x00", "tea " * 5000], CountingCache()).shape == (3, 8)


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_an_incomplete_folder_is_reported_as_unavailable(folder: Path, missing: str) -> None:
    (folder / missing).unlink()
    with pytest.raises(Unavailable) as caught:
        SentenceEncoder.open(folder)
    assert "model_dir" in caught.value.hint


def test_a_file_that_is_not_a_model_is_reported_as_unavailable(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(b"no model at all")
    with pytest.raises(Unavailable, match="cannot be used"):
        SentenceEncoder.open(folder)


def test_without_its_packages_the_encoder_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(Unavailable) as caught:
        SentenceEncoder.open(TINY_ENCODER)
    assert "memoryd[encoder]" in caught.value.hint
