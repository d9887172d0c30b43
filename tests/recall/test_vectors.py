"""Word vectors from a package's files, and sentence vectors from a folder, on small data."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.base.errors import Unavailable
from memoryd.recall.sentence_encoder import SentenceEncoder
from memoryd.recall.word_vectors import WordVectors, installed_folder, sum_of_rows

TINY_ENCODER = Path(__file__).parents[1] / "data/tiny_encoder"

# Merges are made in the order of the rows, so the order here is part of the example.
PIECES = ["<unk>", "<0xE7>", "<0x8C>", "<0xAB>", "▁", *"acdghinotk"]
PIECES += ["at", "▁c", "▁cat", "▁k", "it", "▁kit", "▁dog", "og", "▁d"]


def table() -> np.ndarray[Any, np.dtype[np.float16]]:
    rows = np.zeros((len(PIECES), 4), np.float16)
    rows[PIECES.index("▁cat"), 0] = 1
    rows[PIECES.index("▁dog"), 1] = 1
    rows[1:4, 2] = 1
    rows[:, 3] = 0.25
    return rows


def package(folder: Path, header: bytes | None = None, body: bytes | None = None) -> Path:
    """A folder laid out as the package with the vectors is."""
    (folder / "weights").mkdir(parents=True)
    (folder / "tokenizers").mkdir()
    rows = table()
    data = rows.tobytes() if body is None else body
    tensor = {"dtype": "F16", "shape": list(rows.shape), "data_offsets": [0, rows.nbytes]}
    head = json.dumps({"embedding.weight": tensor}).encode() if header is None else header
    (folder / "weights/l2_supercat_256.safetensors").write_bytes(
        len(head).to_bytes(8, "little") + head + data
    )
    vocabulary = {piece: row for row, piece in enumerate(PIECES)}
    (folder / "tokenizers/l2_supercat_tokenizer_config.json").write_text(
        json.dumps({"version": "1.0", "model": {"vocab": vocabulary, "merges": ["a t"]}})
    )
    return folder


def pieces(vectors: WordVectors, word: str) -> list[str]:
    return [PIECES[row] for row in vectors.pieces_of(word)]


def test_a_word_is_cut_by_the_merges_that_come_first(tmp_path: Path) -> None:
    vectors = WordVectors.open(package(tmp_path / "p"))
    assert pieces(vectors, "cat") == ["▁cat"]
    assert pieces(vectors, "kitcat") == ["▁kit", "c", "at"]
    # The row of "og" comes before that of "▁d", and "▁dog" needs no other way.
    assert pieces(vectors, "dog") == ["▁dog"]


def test_a_character_without_a_piece_is_spelled_in_bytes(tmp_path: Path) -> None:
    vectors = WordVectors.open(package(tmp_path / "p"))
    assert pieces(vectors, "猫") == ["▁", "<0xE7>", "<0x8C>", "<0xAB>"]
    assert pieces(vectors, "\ud800") == ["▁"]


def test_texts_that_share_words_are_alike_and_vectors_have_length_one(tmp_path: Path) -> None:
    vectors = WordVectors.open(package(tmp_path / "p"))
    cat, cats, dog = (vectors.vector_of(text) for text in ("the cat", "A cat!", "a dog"))
    assert cat is not None
    assert cats is not None
    assert dog is not None
    assert float(cat @ cats) == pytest.approx(1)
    assert float(cat @ dog) < 0.2
    assert float(np.linalg.norm(dog)) == pytest.approx(1)


def test_a_text_without_words_has_no_vector(tmp_path: Path) -> None:
    vectors = WordVectors.open(package(tmp_path / "p"))
    assert vectors.vector_of("") is None
    assert vectors.vector_of("what is it, then?") is None


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: shutil.rmtree(folder / "weights"),
        lambda folder: (folder / "weights/l2_supercat_256.safetensors").write_bytes(b""),
        lambda folder: (folder / "tokenizers/l2_supercat_tokenizer_config.json").write_text("{"),
        lambda folder: (folder / "tokenizers/l2_supercat_tokenizer_config.json").write_text("{}"),
    ],
)
def test_a_broken_package_is_reported_as_unavailable(
    tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    folder = package(tmp_path / "p")
    spoil(folder)
    with pytest.raises(Unavailable, match="cannot be read"):
        WordVectors.open(folder)


@pytest.mark.parametrize(
    ("header", "body"),
    [
        (b"{}", None),
        (b"[]", None),
        (b'{"w": {"dtype": "I8", "shape": [2, 2], "data_offsets": [0, 4]}}', None),
        (b'{"w": {"dtype": "F16", "shape": [9], "data_offsets": [0, 4]}}', None),
        (b'{"w": {"dtype": "F16", "shape": [9000, 9000], "data_offsets": [0, 4]}}', None),
        (None, b"short"),
    ],
)
def test_a_table_of_another_shape_is_reported_as_unavailable(
    tmp_path: Path, header: bytes | None, body: bytes | None
) -> None:
    with pytest.raises(Unavailable, match="cannot be read"):
        WordVectors.open(package(tmp_path / "p", header, body))


def test_a_header_that_claims_to_be_huge_is_not_read(tmp_path: Path) -> None:
    folder = package(tmp_path / "p")
    (folder / "weights/l2_supercat_256.safetensors").write_bytes(b"\xff" * 8)
    with pytest.raises(Unavailable):
        WordVectors.open(folder)


def test_looking_for_the_package_does_not_import_it() -> None:
    code = (
        "import sys; from memoryd.recall.word_vectors import installed_folder; installed_folder();"
        "assert not {'wordllama', 'tokenizers', 'onnxruntime'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_installed_vectors_know_what_is_similar() -> None:
    folder = installed_folder()
    if folder is None:
        pytest.skip("the package with the vectors has no wheel for this machine")
    vectors = WordVectors.open(folder)
    texts = ("the children went to school", "kids in a classroom", "restart the postgres server")
    children, kids, server = (vectors.vector_of(text) for text in texts)
    assert children is not None
    assert kids is not None
    assert server is not None
    assert float(children @ kids) > 0.3 > float(children @ server)


finite_halves = st.floats(-65504, 65504, width=16)


@given(st.lists(st.lists(finite_halves, min_size=3, max_size=3), min_size=1, max_size=6))
def test_float16_rows_add_up_as_in_numpy(rows: list[list[float]]) -> None:
    halves = np.array(rows, np.float16)
    singles = halves.astype(np.float32)
    expected = singles.sum(axis=0)
    assert np.array_equal(sum_of_rows(halves), expected)
    assert np.array_equal(sum_of_rows(singles), expected)


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
