"""The seams: what the stages ask of a model. Batch-first and synchronous.

A list in, a list of equal length out, in the same order. Concurrency, retries and caches live
behind a port, never in front of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rulemem.errors import ModelError


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRequest:
    """One completion to be made."""

    stage: str  # who pays: "extract", "distill", "induce", "head_keys", "answer", "abduce", ...
    prompt: str  # prompt id@version, recorded with everything made from the reply
    system: str  # fixed instructions first, so that a cached prefix is reused
    user: str
    schema: Mapping[str, Any] | None = None  # JSON Schema of the reply; None: plain text
    max_tokens: int = 256
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TextReply:
    """What came back. `text` is untrusted."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    truncated: bool = False  # stopped at max_tokens
    cached: bool = False  # replayed from disk, nothing was paid


class TextModel(Protocol):
    """A language model that writes text."""

    name: str

    def complete(self, requests: Sequence[TextRequest]) -> list[TextReply | ModelError]:
        """Complete each request; a request that fails yields its error in its place."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuation:
    """Text whose likelihood is asked: l_M(text | prefix). The prefix is never empty."""

    prefix: str
    text: str  # begins with the space that separates it from the prefix


class LikelihoodModel(Protocol):
    """A model that scores given text."""

    name: str

    def nll(self, items: Sequence[Continuation]) -> list[float]:
        """Mean negative log-likelihood of each continuation, in nats per token.

        Items that share a prefix are scored together at the price of one prefix.
        """
        ...


class Embedder(Protocol):
    """A sentence embedding model."""

    name: str
    dimension: int

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, shape (len(texts), dimension)."""
        ...
