"""Recompute all vectors with another embedder while the store stays in use.

New vectors are written beside the old ones, a batch per transaction, and nobody sees them until
one last transaction makes the new embedder current and drops the old vectors. An interrupted run
continues where it stopped; what is added, edited or forgotten meanwhile is caught up with.
"""

from __future__ import annotations

from rulemem.ports import Embedder
from rulemem.stores import vectors
from rulemem.stores.records import read_turn
from rulemem.stores.transaction import Row, Scoped, Transactions
from rulemem.stores.vectors import StoredEmbedder, VectorKind

_BATCH = 256
_KINDS: tuple[VectorKind, ...] = ("turn", "window", "fact", "key", "head")


def reembed(
    transactions: Transactions, current: StoredEmbedder, embedder: Embedder
) -> tuple[StoredEmbedder, int]:
    """Return the new embedder of the store and how many vectors were computed in this run."""
    if (embedder.name, embedder.dimension) == (current.name, current.dimension):
        return current, 0
    with transactions.writing(None) as tx:
        vectors.require_current(tx, current)
        target = find_or_add(tx, embedder.name, embedder.dimension, current=False)
    computed = 0
    while True:
        for scope in _scopes(transactions):
            for kind in _KINDS:
                computed += _embed_beside(transactions, scope, kind, (current, target), embedder)
        with transactions.writing(None) as tx:
            if tx.value("count_without", current=current.id, embedder=target.id):
                continue  # something was added since
            tx.run("delete_vectors_of_other_embedders", embedder=target.id)
            tx.run("delete_other_embedders", embedder=target.id)
            tx.run("make_embedder_current", embedder=target.id)
            return target, computed


def find_or_add(tx: Scoped, name: str, dimension: int, *, current: bool) -> StoredEmbedder:
    """Return an embedder of the store, adding it when it is not known."""
    id = tx.value("find_embedder", name=name, dimension=dimension)
    if id is None:
        id = tx.value("add_embedder", name=name, dimension=dimension, current=int(current))
    assert id is not None
    return StoredEmbedder(id=id, name=name, dimension=dimension)


def _scopes(transactions: Transactions) -> list[str]:
    with transactions.reading(None) as tx:
        return [row["name"] for row in tx.rows("list_scopes")]


def _embed_beside(
    transactions: Transactions,
    scope: str,
    kind: VectorKind,
    pair: tuple[StoredEmbedder, StoredEmbedder],
    embedder: Embedder,
) -> int:
    """Write the new vectors of one kind beside the old ones; return how many."""
    current, target = pair
    computed = after = 0
    while True:
        with transactions.reading(scope) as tx:
            rows = tx.rows(
                f"reembed_{kind}",
                current=current.id,
                embedder=target.id,
                after=after,
                limit=_BATCH,
            )
        if not rows:
            return computed
        texts = [_text(kind, row) for row in rows]
        units = vectors.unit_rows(embedder.embed(texts), len(texts), target)
        with transactions.writing(scope, create=False) as tx:
            tx.run_many(
                "add_vector_beside",
                (
                    {"embedder": target.id, "source": row["source"], "vector": vectors.pack(unit)}
                    for row, unit in zip(rows, units, strict=True)
                ),
            )
        after = rows[-1]["source"]
        computed += len(rows)


def _text(kind: VectorKind, row: Row) -> str:
    text: str = read_turn(row).line if kind == "turn" else row["text"]
    return text
