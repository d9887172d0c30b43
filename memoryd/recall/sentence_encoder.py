"""Sentence vectors: an ONNX sentence encoder from a folder that the user names.

The folder is laid out as sentence-transformers writes it: `tokenizer.json`, a model (quantised if
there is a choice) beside it or in `onnx/`, and optionally the files that say how to pool, how many
tokens to read and what to put before a query. Its two packages are an optional extra, and loading
takes a while: `open` and `encode` belong in a worker thread and may be called from several.

A model is tested before it is used, and may still fail on another text, for example one longer than
it was made for: whatever is wrong with it raises `Unavailable`, and recall goes on without it.
"""

import hashlib
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, TypeGuard, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from memoryd.base.errors import Unavailable
from memoryd.recall.rules.byte_rows import Matrix, Vector

_MODEL_FILES = (
    "model_quantized.onnx",
    "onnx/model_quantized.onnx",
    "model.onnx",
    "onnx/model.onnx",
)
_EXTRA_HINT = "install memoryd[encoder], or remove recall.model_dir from config.toml"
_FOLDER_HINT = "recall.model_dir needs model.onnx and tokenizer.json of a sentence encoder"
_MODEL_HINT = "set another model in recall.model_dir; recall works without its vectors meanwhile"
_LEAST_DIMENSIONS = 8
_BATCH = 8
_THREADS = 1  # we are a background job on a laptop
_LONGEST_TOKENS = 512
_USUAL_TOKENS = 256
_UNRELATED = (
    "The cat slept on the warm windowsill all afternoon.",
    "Quarterly revenue fell short of what analysts had expected.",
    "Run the database migration before deploying the new release.",
    "Preheat the oven and whisk the eggs with sugar.",
    "The glacier retreated by forty metres in a decade.",
    "She learnt to play the cello when she was nine.",
    "A null pointer is dereferenced when the cache is empty.",
    "The treaty was signed after three years of war.",
)


class VectorCache(Protocol):
    """Keeps vectors beyond the process; it may lose any of them at any time."""

    def get(self, key: bytes) -> bytes | None: ...

    def put(self, key: bytes, value: bytes) -> None: ...


class _Pooling(msgspec.Struct):
    pooling_mode_cls_token: bool = False
    pooling_mode: str = "mean"

    @property
    def takes_first_token(self) -> bool:
        return self.pooling_mode_cls_token or self.pooling_mode == "cls"


class _Reading(msgspec.Struct):
    max_seq_length: int | None = None


class _Prompting(msgspec.Struct):
    prompts: dict[str, str] = {}


_Kind = TypeVar("_Kind", _Pooling, _Reading, _Prompting)


class _Session(Protocol):
    """The part of an onnxruntime session that is used; the package is optional."""

    def get_inputs(self) -> Sequence[Any]: ...

    def run(self, outputs: None, feed: dict[str, NDArray[np.int64]], /) -> list[Matrix]: ...


class _Tokenizer(Protocol):
    """The part of a tokenizer that is used."""

    def encode_batch(self, texts: list[str], /) -> Sequence[Any]: ...

    def no_padding(self) -> None: ...

    def enable_truncation(self, max_length: int) -> None: ...


class SentenceEncoder:
    def __init__(self, folder: Path, model: Path, session: _Session, tokenizer: _Tokenizer) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._inputs = [each.name for each in session.get_inputs()]
        self._pooling = _settings(folder / "1_Pooling/config.json", _Pooling)
        prompts = _settings(folder / "config_sentence_transformers.json", _Prompting).prompts
        self._query_prompt = prompts.get("query", "")
        reading = _settings(folder / "sentence_bert_config.json", _Reading)
        tokens = min(reading.max_seq_length or _USUAL_TOKENS, _LONGEST_TOKENS)
        tokenizer.no_padding()
        tokenizer.enable_truncation(tokens)
        self.identity = _digest(model, folder / "tokenizer.json", self._pooling, tokens)
        unrelated = self._run(_UNRELATED)
        self._bytes_per_row = unrelated.shape[1] * np.dtype(np.float16).itemsize
        self.unrelated_cosine = _mean_cosine(unrelated)

    @classmethod
    def open(cls, folder: Path) -> "SentenceEncoder":
        """Loads the encoder in `folder` and tests it; `Unavailable` if that fails."""
        try:
            runtime = importlib.import_module("onnxruntime")
            tokenizers = importlib.import_module("tokenizers")
        except ImportError as error:
            raise Unavailable("the sentence encoder is not installed", _EXTRA_HINT) from error
        model = next((folder / name for name in _MODEL_FILES if (folder / name).is_file()), None)
        if model is None:
            raise Unavailable(f"no sentence model in {folder}", _FOLDER_HINT)
        try:
            options = runtime.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = _THREADS
            session = runtime.InferenceSession(
                str(model), options, providers=["CPUExecutionProvider"]
            )
            tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
            return cls(folder, model, session, tokenizer)
        except Exception as error:
            # The runtime raises its own classes for whatever a file may hold.
            raise Unavailable(f"the sentence model {model} cannot be used", _FOLDER_HINT) from error

    def encode_query(self, text: str) -> Vector:
        """The unit vector of a query. Takes some milliseconds: not for the event loop."""
        (vector,) = self._run([self._query_prompt + _without_surrogates(text)])
        return np.asarray(vector, np.float32)

    def encode(self, texts: Sequence[str], cache: VectorCache) -> Matrix:
        """A unit row for each text, from the cache if it is there, otherwise made and cached."""
        texts = [_without_surrogates(text) for text in texts]
        keys = [hashlib.sha256(self.identity + text.encode()).digest() for text in texts]
        cached = {at: cache.get(key) for at, key in enumerate(keys)}
        rows_by_text = {at: value for at, value in cached.items() if self._is_intact(value)}
        missing = [at for at in cached if at not in rows_by_text]
        # Texts of similar length together: a batch is as long as its longest.
        missing.sort(key=lambda at: len(texts[at]))
        for start in range(0, len(missing), _BATCH):
            batch = missing[start : start + _BATCH]
            for at, row in zip(batch, self._run([texts[at] for at in batch]), strict=True):
                rows_by_text[at] = row.astype(np.float16).tobytes()
                cache.put(keys[at], rows_by_text[at])
        joined = b"".join(rows_by_text[at] for at in cached)
        return np.frombuffer(joined, np.float16).astype(np.float32).reshape(len(texts), -1)

    def _is_intact(self, value: bytes | None) -> TypeGuard[bytes]:
        """Whether a cached row is complete: a power cut leaves empty files."""
        return value is not None and len(value) == self._bytes_per_row

    def _run(self, texts: Sequence[str]) -> Matrix:
        try:
            rows = self._rows_of(texts)
        except Exception as error:
            # The runtime raises its own classes for whatever a model may do.
            raise Unavailable("the sentence model fails on some texts", _MODEL_HINT) from error
        if not _are_vectors(rows, len(texts)):
            raise Unavailable("the sentence model does not return vectors", _MODEL_HINT)
        return rows

    def _rows_of(self, texts: Sequence[str]) -> Matrix:
        tokens = [each.ids for each in self._tokenizer.encode_batch(list(texts))]
        ids = np.zeros((len(tokens), max(map(len, tokens))), np.int64)
        mask = np.zeros_like(ids)
        for row, own in enumerate(tokens):
            ids[row, : len(own)] = own
            mask[row, : len(own)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        output = self._session.run(None, {name: feed[name] for name in self._inputs})[0]
        return _unit_rows(self._pooled(output, mask))

    def _pooled(self, output: Matrix, mask: NDArray[np.int64]) -> Matrix:
        if output.ndim == 2:
            return output  # already pooled
        if self._pooling.takes_first_token:
            return output[:, 0]
        weights = mask[:, :, np.newaxis].astype(np.float32)
        return np.asarray((output * weights).sum(axis=1) / weights.sum(axis=1), np.float32)


def _are_vectors(rows: Matrix, texts: int) -> bool:
    """Whether these are vectors, not the few numbers of a classifier, and without NaN."""
    is_table = rows.ndim == 2 and len(rows) == texts and rows.shape[1] >= _LEAST_DIMENSIONS
    return is_table and bool(np.isfinite(rows).all())


def _mean_cosine(unrelated: Matrix) -> float:
    """The cosine a model gives for unrelated texts; for some models it is 0.6."""
    pairs = np.triu_indices(len(unrelated), 1)
    return float(np.clip((unrelated @ unrelated.T)[pairs].mean(), 0.0, 0.95))


def _digest(model: Path, tokenizer: Path, pooling: _Pooling, tokens: int) -> bytes:
    """What a vector depends on besides its text."""
    parts = hashlib.sha256(f"{pooling} {tokens}".encode())
    for path in (model, tokenizer):
        with path.open("rb") as file:
            parts.update(hashlib.file_digest(file, "sha256").digest())
    return parts.digest()


def _without_surrogates(text: str) -> str:
    """The text without lone surrogates, which no tokenizer accepts."""
    return text.encode("utf-8", "replace").decode()


def _unit_rows(rows: Matrix) -> Matrix:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, 1e-12), np.float32)


def _settings(path: Path, kind: type[_Kind]) -> _Kind:
    """An optional file of the folder; without it, the defaults."""
    return msgspec.json.decode(path.read_bytes(), type=kind) if path.is_file() else kind()
