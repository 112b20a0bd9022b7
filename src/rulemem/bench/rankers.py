"""Three ways to rank turns by a query: words, vectors, and both. No rules, no facts.

They are the baselines' own and share nothing with the product but the words (`lexical`) and the
embedding model, so that a fault of its store cannot hide in a comparison. What each method
owes is said in `Ranker`.

Source: Robertson and Zaragoza (2009), BM25; Cormack et al. (2009), reciprocal rank fusion.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rulemem.lexical import terms
from rulemem.ports import Embedder

K1, B = 1.5, 0.75
RRF = 60  # added to each rank, so that first places do not decide alone


class Ranker(Protocol):
    """Ranks texts by a query."""

    def index(self, texts: Sequence[str], folder: Path) -> None:
        """Read the texts; `folder` keeps what is dear to compute."""
        ...

    def rank(self, query: str) -> list[tuple[int, float]]:
        """Return place and score of the texts that have to do with a query, best first."""
        ...


class BM25:
    """Okapi's formula over stemmed words; a text without a common word is not ranked."""

    def __init__(self) -> None:
        self._counts: list[Counter[str]] = []
        self._idf: dict[str, float] = {}
        self._mean = 0.0

    def index(self, texts: Sequence[str], folder: Path) -> None:
        self._counts = [Counter(terms(text)) for text in texts]
        having = Counter(term for counts in self._counts for term in counts)
        n = len(texts)
        self._idf = {t: math.log(1 + (n - df + 0.5) / (df + 0.5)) for t, df in having.items()}
        self._mean = sum(counts.total() for counts in self._counts) / max(1, n)

    def rank(self, query: str) -> list[tuple[int, float]]:
        wanted = set(terms(query))
        scores = [self._score(wanted, counts) for counts in self._counts]
        return _ordered([(place, score) for place, score in enumerate(scores) if score > 0])

    def _score(self, wanted: set[str], counts: Counter[str]) -> float:
        length = K1 * (1 - B + B * counts.total() / self._mean) if self._mean else 0.0
        return sum(
            self._idf[term] * counts[term] * (K1 + 1) / (counts[term] + length)
            for term in sorted(wanted & counts.keys())
        )


class Dense:
    """Cosine of sentence vectors; every text is ranked."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: NDArray[np.float32] = np.zeros((0, embedder.dimension), np.float32)

    def index(self, texts: Sequence[str], folder: Path) -> None:
        content = "\x1f".join((self._embedder.name, *texts)).encode()
        path = folder / f"vectors-{hashlib.sha256(content).hexdigest()[:16]}.npy"
        if path.exists():
            self._vectors = np.load(path)
            return
        self._vectors = self._embedder.embed(texts)
        unfinished = path.with_suffix(".part.npy")
        np.save(unfinished, self._vectors)
        unfinished.replace(path)

    def rank(self, query: str) -> list[tuple[int, float]]:
        scores = self._vectors @ self._embedder.embed([query])[0]
        return _ordered(list(enumerate(scores.tolist())))


class Fused:
    """Reciprocal rank fusion of several rankings."""

    def __init__(self, rankers: Sequence[Ranker]) -> None:
        self._rankers = rankers

    def index(self, texts: Sequence[str], folder: Path) -> None:
        for ranker in self._rankers:
            ranker.index(texts, folder)

    def rank(self, query: str) -> list[tuple[int, float]]:
        scores: dict[int, float] = {}
        for ranker in self._rankers:
            for rank, (place, _) in enumerate(ranker.rank(query), start=1):
                scores[place] = scores.get(place, 0.0) + 1 / (RRF + rank)
        return _ordered(list(scores.items()))


def _ordered(scored: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Best first; of equals the earlier text."""
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))
