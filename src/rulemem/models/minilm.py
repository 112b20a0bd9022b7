"""all-MiniLM-L6-v2 in numpy: BERT encoder, mean pooling, unit vectors. No torch.

Texts are sorted by length and packed end to end, without padding: linear layers see one matrix of
tokens, attention sees the texts of equal length together. So there is no mask, and a vector does
not depend on what else is in the batch (beyond float32 rounding).

This module does not know where its two files come from; `registry` does.
"""

from __future__ import annotations

import itertools
import json
import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rulemem.errors import ModelUnavailable

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Floats = NDArray[np.float32]

_DIMENSION = 384
_LAYERS = 6
_HEADS = 12
_MAX_TOKENS = 256  # the length that the model was published with
_BATCH_TEXTS = 64
_BATCH_TOKENS = 1024  # activations of a batch stay within a few MB
_GELU_BLOCK = 1 << 14  # elements; two float32 blocks fit a core's cache
_NORM_EPSILON = np.float32(1e-12)

# erf(x / sqrt 2) = tanh(x p(x^2)), p fitted by us to atanh(erf(x / sqrt 2)) / x on |x| < 5.6 for
# the least greatest error of the tanh (6e-8); constant beyond, where tanh is 1 in float32.
_ERF_POLYNOMIAL = (
    0.797884941,
    0.0363330844,
    -3.25947502e-05,
    -5.53063141e-05,
    3.96477259e-06,
    -1.32266229e-07,
    1.7562759e-09,
)
_ERF_LIMIT = np.float32(32)  # x^2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layer:
    """Weights of one encoder layer, (inputs, outputs), scaled as `_read_layer` says."""

    qkv: Floats
    qkv_bias: Floats
    mix: Floats
    mix_bias: Floats
    mix_norm: tuple[Floats, Floats]
    up: Floats
    up_bias: Floats
    down: Floats
    down_bias: Floats
    down_norm: tuple[Floats, Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Network:
    """All weights that the sentence vector needs."""

    words: Floats
    positions: Floats  # with the type embedding of a single segment added
    norm: tuple[Floats, Floats]
    layers: tuple[_Layer, ...]


class MiniLMEmbedder:
    """Sentence vectors of all-MiniLM-L6-v2; equal to the published model within float32.

    Files are read at the first call. Safe to call from several threads.

    Source: RuleMem uses all-MiniLM-L6-v2 as e(.).
    """

    name = "minilm-l6-v2"
    dimension = _DIMENSION

    def __init__(self, model_path: Path, tokenizer_path: Path) -> None:
        self._model_path = model_path
        self._tokenizer_path = tokenizer_path
        self._lock = threading.Lock()
        self._loaded: tuple[_Network, Tokenizer] | None = None

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return unit vectors, shape (len(texts), 384), in the order of the texts.

        A text is cut after 256 tokens. The empty text has a vector, too.

        Raises:
            ModelUnavailable: a file is missing or is not this model.
        """
        vectors = np.empty((len(texts), _DIMENSION), np.float32)
        if not texts:
            return vectors
        network, tokenizer = self._load()
        # A lone surrogate cannot be tokenised: it becomes "?".
        clean = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        tokens = [encoding.ids for encoding in tokenizer.encode_batch(clean)]
        for batch in _batches([len(ids) for ids in tokens]):
            vectors[batch] = _encode(network, [tokens[index] for index in batch])
        return vectors

    def _load(self) -> tuple[_Network, Tokenizer]:
        with self._lock:
            if self._loaded is None:
                self._loaded = (
                    _read_network(self._model_path),
                    _read_tokenizer(self._tokenizer_path),
                )
            return self._loaded


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield indices, shortest first, in batches bounded in texts and tokens."""
    batch: list[int] = []
    tokens = 0
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) == _BATCH_TEXTS or tokens + lengths[index] > _BATCH_TOKENS):
            yield batch
            batch, tokens = [], 0
        batch.append(index)
        tokens += lengths[index]
    if batch:
        yield batch


def _encode(network: _Network, texts: Sequence[Sequence[int]]) -> Floats:
    """Encode token ids, sorted by length, to one unit vector per text."""
    spans: list[tuple[int, int, int]] = []  # first row, texts, tokens of each
    start = 0
    for length, group in itertools.groupby(texts, key=len):
        count = len(list(group))
        spans.append((start, count, length))
        start += count * length
    ids = np.fromiter(itertools.chain.from_iterable(texts), np.intp, start)
    places = np.concatenate([np.arange(len(text)) for text in texts])
    x = network.words[ids]
    x += network.positions[places]
    _normalise(x, network.norm)
    for layer in network.layers:
        attended = _attend(x @ layer.qkv + layer.qkv_bias, spans) @ layer.mix
        attended += layer.mix_bias
        x += attended
        _normalise(x, layer.mix_norm)
        wide = x @ layer.up
        wide += layer.up_bias
        _double_gelu(wide)
        x += np.matmul(wide, layer.down, out=attended)
        x += layer.down_bias
        _normalise(x, layer.down_norm)
    pooled = [
        x[row : row + count * length].reshape(count, length, _DIMENSION).mean(axis=1)
        for row, count, length in spans
    ]
    vectors: Floats = np.concatenate(pooled)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def _attend(qkv: Floats, spans: Sequence[tuple[int, int, int]]) -> Floats:
    """Let each text attend to itself; rows of queries, keys and values in, rows out."""
    context = np.empty((len(qkv), _DIMENSION), np.float32)
    for row, count, length in spans:
        rows = slice(row, row + count * length)
        shape = (count, length, 3, _HEADS, _DIMENSION // _HEADS)
        query, key, value = qkv[rows].reshape(shape).transpose(2, 0, 3, 1, 4)
        weights = query @ key.swapaxes(-1, -2)
        weights -= weights.max(axis=-1, keepdims=True)
        np.exp(weights, out=weights)
        weights /= weights.sum(axis=-1, keepdims=True)
        heads = context[rows].reshape(count, length, _HEADS, -1)
        heads[...] = (weights @ value).transpose(0, 2, 1, 3)
    return context


def _normalise(x: Floats, scale_and_shift: tuple[Floats, Floats]) -> None:
    """Layer normalisation of each row, in place."""
    x -= x.mean(axis=1, keepdims=True)
    variance = np.einsum("ij,ij->i", x, x) / np.float32(_DIMENSION)
    x *= (1 / np.sqrt(variance + _NORM_EPSILON))[:, None]
    x *= scale_and_shift[0]
    x += scale_and_shift[1]


def _double_gelu(x: Floats) -> None:
    """Replace x by 2 GELU(x) = x (1 + erf(x / sqrt 2)), block by block in place."""
    flat = x.reshape(-1)
    room = np.empty((2, min(_GELU_BLOCK, flat.size)), np.float32)
    first, *rest = (np.float32(c) for c in reversed(_ERF_POLYNOMIAL))
    for start in range(0, flat.size, _GELU_BLOCK):
        block = flat[start : start + _GELU_BLOCK]
        square, value = room[:, : block.size]
        np.multiply(block, block, out=square)
        np.minimum(square, _ERF_LIMIT, out=square)
        np.multiply(square, first, out=value)
        for coefficient in rest[:-1]:
            value += coefficient
            value *= square
        value += rest[-1]
        value *= block
        np.tanh(value, out=value)
        value += np.float32(1)
        block *= value


def _read_tokenizer(path: Path) -> Tokenizer:
    try:
        from tokenizers import Tokenizer

        text = path.read_text("utf-8")
        if "model" not in json.loads(text):  # tokenizers would raise a bare Exception
            raise ValueError("it holds no tokenizer")
        tokenizer = Tokenizer.from_str(text)
    except ImportError as error:
        raise _missing_package(error) from error
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    tokenizer.enable_truncation(_MAX_TOKENS)
    tokenizer.no_padding()
    return tokenizer


def _read_network(path: Path) -> _Network:
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file
    except ImportError as error:
        raise _missing_package(error) from error
    try:
        tensors = load_file(path)
        return _Network(
            words=tensors["embeddings.word_embeddings.weight"],
            positions=tensors["embeddings.position_embeddings.weight"]
            + tensors["embeddings.token_type_embeddings.weight"][0],
            norm=_read_norm(tensors, "embeddings.LayerNorm"),
            layers=tuple(_read_layer(tensors, f"encoder.layer.{n}") for n in range(_LAYERS)),
        )
    except (OSError, SafetensorError, KeyError) as error:
        raise _unreadable(path, error) from error


def _read_layer(tensors: dict[str, Floats], prefix: str) -> _Layer:
    """Fuse query, key and value; fold the attention scale and the half of GELU into weights."""
    scale = np.float32(1 / math.sqrt(_DIMENSION // _HEADS))
    qkv = [tensors[f"{prefix}.attention.self.{part}.weight"] for part in ("query", "key", "value")]
    bias = [tensors[f"{prefix}.attention.self.{part}.bias"] for part in ("query", "key", "value")]
    mix, up, down = f"{prefix}.attention.output", f"{prefix}.intermediate", f"{prefix}.output"
    return _Layer(
        qkv=np.ascontiguousarray(np.concatenate([qkv[0] * scale, *qkv[1:]]).T),
        qkv_bias=np.concatenate([bias[0] * scale, *bias[1:]]),
        mix=np.ascontiguousarray(tensors[f"{mix}.dense.weight"].T),
        mix_bias=tensors[f"{mix}.dense.bias"],
        mix_norm=_read_norm(tensors, f"{mix}.LayerNorm"),
        up=np.ascontiguousarray(tensors[f"{up}.dense.weight"].T),
        up_bias=tensors[f"{up}.dense.bias"],
        down=np.ascontiguousarray(tensors[f"{down}.dense.weight"].T) * np.float32(0.5),
        down_bias=tensors[f"{down}.dense.bias"],
        down_norm=_read_norm(tensors, f"{down}.LayerNorm"),
    )


def _read_norm(tensors: dict[str, Floats], prefix: str) -> tuple[Floats, Floats]:
    return tensors[f"{prefix}.weight"], tensors[f"{prefix}.bias"]


def _missing_package(error: ImportError) -> ModelUnavailable:
    return ModelUnavailable(
        f"The MiniLM embedder needs {error.name!r}.", hint="Run `pip install rulemem`."
    )


def _unreadable(path: Path, error: Exception) -> ModelUnavailable:
    return ModelUnavailable(
        f"Cannot read {str(path)!r} as a file of all-MiniLM-L6-v2: {error}.",
        hint="Run `rulemem models fetch minilm-l6-v2`.",
    )
