"""Vectors: rows in the database, ranked by exact cosine over a matrix held in memory.

One matrix per scope and kind, loaded when it is first asked for. Before each use it is compared
with the database: newer rows are appended, and when rows were removed, those that are gone are
dropped. So it follows this process, other threads and other processes alike, at the price of
what changed.

Source: models.md, "Vectors" (exact, one transaction with the facts; the paper used ChromaDB).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rulemem.errors import InputError, SchemaMismatch
from rulemem.ports import IndexKind
from rulemem.stores.transaction import Scoped
from rulemem.types import Hit

VectorKind = IndexKind | Literal["head"]
"""What has a vector: whatever is indexed, and the heads of rules."""

_STORED = np.dtype("<f4")
_HELD_FLOATS = 1 << 28  # matrices beyond this (1 GiB) are dropped, the longest unused first


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEmbedder:
    """The embedder that the vectors of a store come from."""

    id: int
    name: str
    dimension: int


@dataclass(slots=True)
class Matrix:
    """The vectors of one scope and kind. Rows below `count` never change in place."""

    ids: NDArray[np.int64]
    items: NDArray[np.int64]
    rows: NDArray[np.float32]
    count: int = 0
    newest: int = 0  # highest vector id that was seen
    removals: int = 0  # removals in the database when it was last read
    lock: Lock = field(default_factory=Lock)

    def follow(self, tx: Scoped, kind: VectorKind, embedder: int) -> None:
        """Catch up with the database. The caller holds the lock."""
        state = tx.row("vector_state", kind=kind, embedder=embedder)
        assert state is not None
        seen = (state["removals"], state["newest"])
        if seen <= (self.removals, self.newest):  # equal, or this view is older than the matrix
            return
        if state["removals"] > self.removals:
            self._drop_missing(tx.values("vector_ids", kind=kind, embedder=embedder))
        self._append(tx, kind, embedder)
        self.removals = state["removals"]
        self.newest = max(self.newest, state["newest"])

    def _drop_missing(self, present: list[int]) -> None:
        kept = np.isin(self.ids[: self.count], np.array(present, dtype=np.int64))
        # Boolean indexing copies, so that a search under way keeps the rows that it holds.
        self.ids = self.ids[: self.count][kept]
        self.items = self.items[: self.count][kept]
        self.rows = self.rows[: self.count][kept]
        self.count = len(self.ids)

    def _append(self, tx: Scoped, kind: VectorKind, embedder: int) -> None:
        new = tx.rows("vectors_after", kind=kind, embedder=embedder, newest=self.newest)
        if not new:
            return
        end = self.count + len(new)
        if end > len(self.ids):
            room = max(end, self.count + self.count // 2)  # adding one rarely copies all
            self.ids = _grown(self.ids, self.count, room)
            self.items = _grown(self.items, self.count, room)
            self.rows = _grown(self.rows, self.count, room)
        self.ids[self.count : end] = [row["id"] for row in new]
        self.items[self.count : end] = [row["item"] for row in new]
        packed = b"".join(row["vector"] for row in new)
        self.rows[self.count : end] = np.frombuffer(packed, _STORED).reshape(len(new), -1)
        self.count = end


class Matrices:
    """The matrices of a store. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._held: OrderedDict[tuple[int, VectorKind, int], Matrix] = OrderedDict()

    def current(
        self, tx: Scoped, kind: VectorKind, embedder: StoredEmbedder
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the items and their unit vectors, as the transaction sees them or newer."""
        key = (tx.scope, kind, embedder.id)
        with self._lock:
            matrix = self._held.setdefault(key, _empty(embedder.dimension))
            self._held.move_to_end(key)
        with matrix.lock:
            matrix.follow(tx, kind, embedder.id)
            found = matrix.items[: matrix.count], matrix.rows[: matrix.count]
        self._drop_unused()
        return found

    def drop(self, scope: int) -> None:
        """Let go of a scope that was forgotten."""
        with self._lock:
            for key in [key for key in self._held if key[0] == scope]:
                del self._held[key]

    def _drop_unused(self) -> None:
        with self._lock:
            held = sum(matrix.rows.size for matrix in self._held.values())
            while held > _HELD_FLOATS and len(self._held) > 1:
                held -= self._held.popitem(last=False)[1].rows.size


def add(
    tx: Scoped,
    kind: VectorKind,
    items: Sequence[int],
    vectors: NDArray[np.float32],
    embedder: StoredEmbedder,
) -> None:
    """Store the vectors of items, in place of what they had."""
    require_current(tx, embedder)
    remove(tx, kind, items)
    rows = unit_rows(vectors, len(items), embedder)
    tx.run_many(
        "add_vector",
        (
            {"embedder": embedder.id, "kind": kind, "item": item, "vector": pack(row)}
            for item, row in zip(items, rows, strict=True)
        ),
    )


def remove(tx: Scoped, kind: VectorKind, items: Sequence[int]) -> None:
    """Remove the vectors of items."""
    tx.run("delete_vectors", kind=kind, items=items)


def rank(
    items: NDArray[np.int64], rows: NDArray[np.float32], queries: NDArray[np.float32], limit: int
) -> list[list[Hit]]:
    """Rank items by cosine, one list per query; equal scores in order of the item."""
    scores = queries @ rows.T
    return [_best(items, row, limit) for row in scores]


def unit_rows(
    vectors: NDArray[np.float32], count: int, embedder: StoredEmbedder
) -> NDArray[np.float32]:
    """Return vectors scaled to unit length, after checking that they can be what they should be.

    Raises:
        InputError: not one finite row per item.
        SchemaMismatch: another dimension than that of the store.
    """
    given = np.asarray(vectors, dtype=np.float32)
    if given.size == 0 == count:
        return np.empty((0, embedder.dimension), np.float32)
    if given.ndim != 2 or len(given) != count:
        raise InputError(
            f"{count} vectors are due, got an array of shape {given.shape}",
            hint="The embedder must return one row per text.",
        )
    if given.shape[1] != embedder.dimension:
        raise SchemaMismatch(
            f"The store holds vectors of {embedder.name!r} with {embedder.dimension} dimensions, "
            f"got {given.shape[1]}.",
            hint="Use that embedder, or run `rulemem reembed`.",
        )
    if not np.isfinite(given).all():
        raise InputError("A vector holds NaN or infinity.", hint="Check the embedder.")
    lengths = np.linalg.norm(given, axis=1, keepdims=True)
    unit = given / np.where(lengths == 0, 1, lengths)
    return unit.astype(np.float32)


def pack(row: NDArray[np.float32]) -> bytes:
    """Return a vector as it is stored."""
    return row.astype(_STORED).tobytes()


def require_current(tx: Scoped, embedder: StoredEmbedder) -> None:
    """Refuse to mix vectors after another process has recomputed them with another embedder."""
    row = tx.row("current_embedder")
    if row is None or row["id"] != embedder.id:
        now = repr(row["name"]) if row else "none"
        raise SchemaMismatch(
            f"The store was opened with embedder {embedder.name!r}; its vectors are now of {now}.",
            hint="Open it again with that embedder.",
        )


def mask(
    items: NDArray[np.int64], rows: NDArray[np.float32], allowed: Collection[int]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Keep only the rows of some items."""
    kept = np.isin(items, np.fromiter(allowed, dtype=np.int64, count=len(allowed)))
    return items[kept], rows[kept]


def _best(items: NDArray[np.int64], scores: NDArray[np.float32], limit: int) -> list[Hit]:
    if limit < 1 or not len(items):
        return []
    if limit < len(items):
        threshold = np.partition(scores, -limit)[-limit]
        chosen = np.flatnonzero(scores >= threshold)  # all that tie at the end, so that ids decide
    else:
        chosen = np.arange(len(items))
    order = chosen[np.lexsort((items[chosen], -scores[chosen]))][:limit]
    return [Hit(item=int(items[i]), score=float(scores[i])) for i in order]


def _empty(dimension: int) -> Matrix:
    return Matrix(
        ids=np.empty(0, np.int64),
        items=np.empty(0, np.int64),
        rows=np.empty((0, dimension), np.float32),
    )


def _grown(array: NDArray[Any], count: int, room: int) -> NDArray[Any]:
    bigger = np.empty((room, *array.shape[1:]), array.dtype)
    bigger[:count] = array[:count]
    return bigger
