"""What sentences mean: an ONNX sentence encoder from a folder that the user names.

The folder is laid out as sentence-transformers writes it: `tokenizer.json`, a model (quantised if
there is a choice) beside it or below `onnx/`, and optionally the files that say how to pool, how
much to read and what to put before a query. Its two packages are an optional extra, and loading
takes a while: `open` and `encode` belong in a worker thread, and may be called from several.

A model is tried before it is used, and may still fail on some text that was not tried, say one
longer than it was made for: whatever is wrong with it is `Unavailable`, and never an end.
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
from memoryd.recall.rules.vectors import Matrix, Vector

_MODEL_FILES = (
    "model_quantized.onnx",
    "onnx/model_quantized.onnx",
    "model.onnx",
    "onnx/model.onnx",
)
_EXTRA_HINT = "install memoryd[encoder], or remove recall.model_dir from config.toml"
_FOLDER_HINT = "recall.model_dir needs model.onnx and tokenizer.json of a sentence encoder"
_MODEL_HINT = "name another model in recall.model_dir; recall goes without its vectors meanwhile"
_FEWEST_DIMENSIONS = 8
_BATCH = 8
_THREADS = 1  # a background job on somebody's laptop
_LONGEST_TOKENS = 512
_USUAL_TOKENS = 256
_STRANGERS = (
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
    """Where vectors outlive the process; it may forget any of them at any time."""

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
        self._identity = _digest(model, folder / "tokenizer.json", self._pooling, tokens)
        strangers = self._run(_STRANGERS)
        self._bytes_a_row = strangers.shape[1] * np.dtype(np.float16).itemsize
        self.unrelated_cosine = _mean_cosine(strangers)

    @classmethod
    def open(cls, folder: Path) -> "SentenceEncoder":
        """Loads the encoder in `folder` and tries it; `Unavailable` where that fails."""
        try:
            runtime = importlib.import_module("onnxruntime")
            tokenizers = importlib.import_module("tokenizers")
        except ImportError as fault:
            raise Unavailable("the sentence encoder is not installed", _EXTRA_HINT) from fault
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
        except Exception as fault:
            # The runtime raises classes of its own for whatever a file may hold.
            raise Unavailable(f"the sentence model {model} cannot be used", _FOLDER_HINT) from fault

    def encode_query(self, text: str) -> Vector:
        """The unit vector of a query, some milliseconds of work: not for the event loop."""
        (vector,) = self._run([self._query_prompt + _sound(text)])
        return np.asarray(vector, np.float32)

    def encode(self, texts: Sequence[str], cache: VectorCache) -> Matrix:
        """A unit row for each text, from the cache where it has them, else made and put there."""
        texts = [_sound(text) for text in texts]
        keys = [hashlib.sha256(self._identity + text.encode()).digest() for text in texts]
        asked = {at: cache.get(key) for at, key in enumerate(keys)}
        kept = {at: value for at, value in asked.items() if self._is_whole(value)}
        missing = [at for at in asked if at not in kept]
        # Texts of like length together: a batch is as long as its longest.
        missing.sort(key=lambda at: len(texts[at]))
        for start in range(0, len(missing), _BATCH):
            batch = missing[start : start + _BATCH]
            for at, row in zip(batch, self._run([texts[at] for at in batch]), strict=True):
                kept[at] = row.astype(np.float16).tobytes()
                cache.put(keys[at], kept[at])
        rows = np.frombuffer(b"".join(kept[at] for at in asked), np.float16).astype(np.float32)
        return rows.reshape(len(texts), -1)

    def _is_whole(self, value: bytes | None) -> TypeGuard[bytes]:
        """Whether a row came out of the cache as it went in: a power cut leaves files empty."""
        return value is not None and len(value) == self._bytes_a_row

    def _run(self, texts: Sequence[str]) -> Matrix:
        try:
            rows = self._rows_of(texts)
        except Exception as fault:
            # The runtime raises classes of its own for whatever a model may do.
            raise Unavailable("the sentence model fails on some texts", _MODEL_HINT) from fault
        if not _are_vectors(rows, len(texts)):
            raise Unavailable("the sentence model gives no vectors of its texts", _MODEL_HINT)
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
            return output  # the model pools by itself
        if self._pooling.takes_first_token:
            return output[:, 0]
        weights = mask[:, :, np.newaxis].astype(np.float32)
        return np.asarray((output * weights).sum(axis=1) / weights.sum(axis=1), np.float32)


def _are_vectors(rows: Matrix, texts: int) -> bool:
    """Not the one or two numbers of a model that compares or classifies, nor what is no number."""
    is_table = rows.ndim == 2 and len(rows) == texts and rows.shape[1] >= _FEWEST_DIMENSIONS
    return is_table and bool(np.isfinite(rows).all())


def _mean_cosine(strangers: Matrix) -> float:
    """What a model gives for texts that have nothing in common; some give 0.6."""
    pairs = np.triu_indices(len(strangers), 1)
    return float(np.clip((strangers @ strangers.T)[pairs].mean(), 0.0, 0.95))


def _digest(model: Path, tokenizer: Path, pooling: _Pooling, tokens: int) -> bytes:
    """What a vector depends on beside its text."""
    parts = hashlib.sha256(f"{pooling} {tokens}".encode())
    for path in (model, tokenizer):
        with path.open("rb") as file:
            parts.update(hashlib.file_digest(file, "sha256").digest())
    return parts.digest()


def _sound(text: str) -> str:
    """The text without the lone surrogates that no tokenizer takes."""
    return text.encode("utf-8", "replace").decode()


def _unit_rows(rows: Matrix) -> Matrix:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, 1e-12), np.float32)


def _settings(path: Path, kind: type[_Kind]) -> _Kind:
    """An optional file of the folder; its absence means the usual values."""
    return msgspec.json.decode(path.read_bytes(), type=kind) if path.is_file() else kind()
