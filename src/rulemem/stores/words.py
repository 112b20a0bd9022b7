"""Full text: an inverted file ranked by BM25 within one scope and kind.

Plain rows instead of the full-text engine of the database, for four reasons: document
frequencies are counted inside the scope, so that nobody's ranking depends on what others store;
removed words leave at once instead of when segments are merged; a query is a list of terms and
never a query language; and another engine ranks the same.

Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond".
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Sequence

from rulemem.lexical import terms
from rulemem.ports import IndexKind
from rulemem.stores.transaction import Scoped
from rulemem.types import Hit

_K1 = 1.2  # how soon repeats of a term stop counting
_B = 0.75  # how much long documents are held back, 0..1


def add(tx: Scoped, kind: IndexKind, item: int, text: str) -> None:
    """Index the text of an item that is not indexed yet."""
    found = terms(text)
    counted = Counter(found)
    tx.run("add_document", kind=kind, item=item, length=len(found), terms=sorted(counted))
    tx.run_many(
        "add_posting",
        (
            {"kind": kind, "term": term, "item": item, "occurrences": n, "length": len(found)}
            for term, n in sorted(counted.items())
        ),
    )


def remove(tx: Scoped, kind: IndexKind, items: Sequence[int]) -> None:
    """Take items out of the index."""
    tx.run("delete_documents", kind=kind, items=items)


def match(tx: Scoped, kind: IndexKind, query: str, limit: int) -> list[Hit]:
    """Rank the documents that share a term with the query, the best first.

    Exact, yet it rarely reads the long lists of common terms whole: terms are taken from the
    rarest on, and once those that are left could not lift a new document into the result, they
    are looked up only for the documents that are still in the race (MaxScore).
    """
    totals = tx.row("text_totals", kind=kind)
    weights = _weigh(tx, kind, sorted(set(terms(query))), totals["documents"] if totals else 0)
    if totals is None or not weights or limit < 1:
        return []
    constants = {"k1": _K1, "b": _B, "average": totals["words"] / totals["documents"]}
    scores: dict[int, float] = {}
    left = sum(weight * (_K1 + 1) for _, weight in weights)  # the most that is still to be had
    needed = 0.0  # what a document must reach to be in the result
    for term, weight in weights:
        if left < needed:
            scores = {item: s for item, s in scores.items() if s + left >= needed}
            among = list(scores)
            rows = tx.rows("score_term_among", kind=kind, term=term, items=among, **constants)
        else:
            rows = tx.rows("score_term", kind=kind, term=term, **constants)
        for item, score in rows:
            scores[item] = scores.get(item, 0.0) + weight * score
        left -= weight * (_K1 + 1)
        if len(scores) >= limit:
            needed = heapq.nlargest(limit, scores.values())[-1]
    best = heapq.nsmallest(limit, ((-score, item) for item, score in scores.items()))
    return [Hit(item=item, score=-negative) for negative, item in best]


def _weigh(
    tx: Scoped, kind: IndexKind, asked: list[str], documents: int
) -> list[tuple[str, float]]:
    """Return the terms that occur with their weight (IDF, above 0), the rarest first."""
    return [
        (row["term"], math.log1p((documents - row["documents"] + 0.5) / (row["documents"] + 0.5)))
        for row in tx.rows("term_frequencies", kind=kind, terms=asked)
    ]
