"""Exact likelihoods of given text with a GGUF model, in process.

Continuations that share the beginning of their text are decoded as one token tree, so a body that
three conditions have in common is paid once. Scoring is serialised by a lock; scoring beside
generation on the same cores slows both several times, so callers take turns.

Source: RuleMem, Rule Validation via RPC (the l_M of both equations). Mean nats per token is
Assumption ADR-0001.
"""

from __future__ import annotations

import ctypes as c
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rulemem.errors import InputError, ModelUnavailable
from rulemem.models import _llama_c
from rulemem.ports import Continuation

MAX_SEQUENCES = 24
MAX_TOKENS = 1536


@dataclass(slots=True)
class _Node:
    """One token of the tree, with the sequences that run through it."""

    token: int
    position: int
    sequences: list[int] = field(default_factory=list)
    wants_logits: bool = False
    row: int = -1


class LlamaLikelihood:
    """Score continuations with a local GGUF model."""

    def __init__(self, path: Path, *, name: str, threads: int = 2) -> None:
        """Bind to a model file; it is loaded at the first call.

        Args:
            path: a GGUF file.
            name: how the model is named in verdicts.
            threads: CPU threads for decoding.
        """
        self.name = name
        self._path = path
        self._threads = threads
        self._lock = threading.Lock()
        self._library: c.CDLL | None = None
        self._model: int | None = None
        self._context: int | None = None
        self._vocabulary: int | None = None
        self._vocabulary_size = 0

    def nll(self, items: Sequence[Continuation]) -> list[float]:
        """Mean negative log-likelihood of each continuation, nats per token, in order.

        Raises:
            InputError: an empty prefix or continuation.
            ModelUnavailable: the model cannot be loaded or the text is too long for it.
        """
        for item in items:
            if not item.prefix or not item.text.strip():
                raise InputError(f"Cannot score {item!r}: prefix and text must not be empty.")
        with self._lock:
            self._load()
            tokens = [(self._tokens(i.prefix, start=True), self._tokens(i.text)) for i in items]
            scores: list[float] = []
            for batch in _batches(tokens):
                scores.extend(self._score(batch))
            return scores

    def close(self) -> None:
        """Free the model; the next call loads it again."""
        with self._lock:
            if self._library is None:
                return
            self._library.llama_free(self._context)
            self._library.llama_model_free(self._model)
            self._library = self._model = self._context = None

    def _load(self) -> None:
        if self._library is not None:
            return
        if not self._path.is_file():
            raise ModelUnavailable(
                f"No model file at {str(self._path)!r}.", hint="Run: rulemem models fetch."
            )
        library = _llama_c.load_library()
        library.llama_backend_init()
        library.llama_log_set(_llama_c.silence, None)
        model = library.llama_model_load_from_file(
            str(self._path).encode(), library.llama_model_default_params()
        )
        if not model:
            raise ModelUnavailable(f"{str(self._path)!r} cannot be loaded as a GGUF model.")
        params = library.llama_context_default_params()
        params.n_ctx = params.n_batch = MAX_TOKENS
        params.n_seq_max = MAX_SEQUENCES
        params.n_outputs_max = params.n_outputs_max_per_seq = MAX_TOKENS
        params.n_threads = params.n_threads_batch = self._threads
        params.kv_unified = True
        context = library.llama_init_from_model(model, params)
        if not context:
            library.llama_model_free(model)
            raise ModelUnavailable(f"No context for {str(self._path)!r}: not enough memory?")
        self._library, self._model, self._context = library, model, context
        self._vocabulary = library.llama_model_get_vocab(model)
        self._vocabulary_size = library.llama_vocab_n_tokens(self._vocabulary)

    def _tokens(self, text: str, *, start: bool = False) -> list[int]:
        assert self._library is not None
        data = text.encode("utf-8", "replace")
        buffer = (c.c_int32 * (len(data) + 8))()
        count = self._library.llama_tokenize(
            self._vocabulary, data, len(data), buffer, len(buffer), start, False
        )
        return list(buffer[:count])

    def _score(self, batch: Sequence[tuple[list[int], list[int]]]) -> Iterator[float]:
        assert self._library is not None
        nodes, paths = _tree(batch)
        self._library.llama_memory_clear(self._library.llama_get_memory(self._context), True)
        status = self._library.llama_decode(self._context, _c_batch(nodes))
        if status != 0:
            raise ModelUnavailable(
                f"llama_decode failed with status {status} on {len(nodes)} tokens."
            )
        logits: dict[int, NDArray[np.float64]] = {}
        for (prefix, text), path in zip(batch, paths, strict=True):
            total = 0.0
            for offset, token in enumerate(text):
                row = path[len(prefix) - 1 + offset].row
                if row not in logits:
                    logits[row] = self._log_probabilities(row)
                total -= float(logits[row][token])
            yield total / len(text)

    def _log_probabilities(self, row: int) -> NDArray[np.float64]:
        assert self._library is not None
        pointer = self._library.llama_get_logits_ith(self._context, row)
        values = np.ctypeslib.as_array(pointer, shape=(self._vocabulary_size,)).astype(np.float64)
        top = values.max()
        return np.asarray(values - top - np.log(np.exp(values - top).sum()), dtype=np.float64)


def _batches(
    tokens: Sequence[tuple[list[int], list[int]]],
) -> Iterator[list[tuple[list[int], list[int]]]]:
    """Cut the work where sequences or tokens would exceed one decode."""
    batch: list[tuple[list[int], list[int]]] = []
    size = 0
    for prefix, text in tokens:
        length = len(prefix) + len(text)
        if length > MAX_TOKENS:
            raise ModelUnavailable(
                f"A text of {length} tokens exceeds the scorer's {MAX_TOKENS}.",
                hint="Use fewer or shorter evidence facts.",
            )
        if batch and (len(batch) == MAX_SEQUENCES or size + length > MAX_TOKENS):
            yield batch
            batch, size = [], 0
        batch.append((prefix, text))
        size += length
    if batch:
        yield batch


def _tree(
    batch: Sequence[tuple[list[int], list[int]]],
) -> tuple[list[_Node], list[list[_Node]]]:
    """Merge equal beginnings; return the nodes in decoding order and one path per sequence."""
    children: dict[tuple[int, int], _Node] = {}
    nodes: list[_Node] = []
    paths: list[list[_Node]] = []
    for sequence, (prefix, text) in enumerate(batch):
        path: list[_Node] = []
        parent = -1
        # The last token predicts nothing that is asked for, so it is not decoded.
        for position, token in enumerate([*prefix, *text[:-1]]):
            node = children.get((parent, token))
            if node is None:
                node = _Node(token=token, position=position)
                children[(parent, token)] = node
                nodes.append(node)
            node.sequences.append(sequence)
            node.wants_logits |= position >= len(prefix) - 1
            path.append(node)
            parent = id(node)
        paths.append(path)
    nodes.sort(key=lambda node: node.position)
    for row, node in enumerate(nodes):
        node.row = row
    return nodes, paths


def _c_batch(nodes: Sequence[_Node]) -> _llama_c.Batch:
    count = len(nodes)
    sequences = [(c.c_int32 * len(n.sequences))(*n.sequences) for n in nodes]
    pointers = (c.POINTER(c.c_int32) * count)(*(c.cast(s, c.POINTER(c.c_int32)) for s in sequences))
    return _llama_c.Batch(
        n_tokens=count,
        token=(c.c_int32 * count)(*(n.token for n in nodes)),
        embd=None,
        pos=(c.c_int32 * count)(*(n.position for n in nodes)),
        n_seq_id=(c.c_int32 * count)(*(len(n.sequences) for n in nodes)),
        seq_id=pointers,
        logits=(c.c_int8 * count)(*(int(n.wants_logits) for n in nodes)),
    )
