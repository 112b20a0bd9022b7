"""Fact memory M_F: quadruples with their sources and entities.

Without ids, facts come in the order of when they hold (or else were said), undated ones last.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from rulemem.errors import InputError, NotFound
from rulemem.lexical import canonical
from rulemem.stores import vectors, words
from rulemem.stores.records import fact_columns, fact_identity, read_fact, time_text
from rulemem.stores.transaction import Scoped
from rulemem.stores.vectors import StoredEmbedder
from rulemem.types import Fact, FactOutcome


def commit(
    tx: Scoped, facts: Sequence[Fact], rows: NDArray[np.float32], embedder: StoredEmbedder
) -> list[FactOutcome]:
    """Store facts, one outcome per fact; a known one gains sources.

    Raises:
        NotFound: a source turn does not exist (any more); nothing is stored.
    """
    units = vectors.unit_rows(rows, len(facts), embedder)
    for fact in facts:
        if not fact.turn_ids:
            raise InputError(f"The fact {fact.text!r} names no source turn.")
    require(tx, "turn", [id for fact in facts for id in fact.turn_ids])
    outcomes: list[FactOutcome] = []
    new: dict[int, int] = {}  # id -> row of its vector
    for row, fact in enumerate(facts):
        known = tx.value("find_fact", identity=fact_identity(fact))
        id = _add(tx, fact) if known is None else known
        if known is None:
            new[id] = row
        tx.run_many("add_fact_source", ({"fact": id, "turn": turn} for turn in fact.turn_ids))
        outcomes.append(FactOutcome(id=id, outcome="new" if known is None else "duplicate"))
    vectors.add(tx, "fact", list(new), units[list(new.values())], embedder)
    return outcomes


def _add(tx: Scoped, fact: Fact) -> int:
    id = tx.next_id("fact")
    tx.run("add_fact", id=id, **fact_columns(fact))
    for role, name in (("subject", fact.subject), ("object", fact.object)):
        if canonical(name):
            tx.run("link_entity", entity=_entity(tx, name), fact=id, role=role)
    words.add(tx, "fact", id, fact.text)
    return id


def _entity(tx: Scoped, name: str) -> int:
    known = tx.value("find_entity", name_key=canonical(name))
    if known is not None:
        return known
    id = tx.next_id("entity")
    tx.run("add_entity", id=id, name_key=canonical(name), name=name.strip())
    return id


def select(
    tx: Scoped,
    ids: Sequence[int] | None,
    turn_ids: Sequence[int] | None,
    entity: str | None,
) -> list[Fact]:
    """Return the facts that all given filters let through; unknown ids are left out."""
    if ids is not None:
        by_id = {row["id"]: read_fact(row) for row in tx.rows("facts_by_id", ids=ids)}
        found = [by_id[id] for id in ids if id in by_id]
    elif turn_ids is not None:
        found = [read_fact(row) for row in tx.rows("facts_by_turn", turns=turn_ids)]
    elif entity is not None:
        rows = tx.rows("facts_by_entity", name_key=canonical(entity))
        found = [read_fact(row) for row in rows]
    else:
        found = [read_fact(row) for row in tx.rows("facts")]
    sources = None if turn_ids is None else set(turn_ids)
    name = None if entity is None else canonical(entity)
    return [
        fact
        for fact in found
        if (sources is None or sources.intersection(fact.turn_ids))
        and (name is None or name in (canonical(fact.subject), canonical(fact.object)))
    ]


def close(tx: Scoped, closings: Sequence[tuple[int, int, datetime | None]]) -> None:
    """Close facts: (closed id, closing id, valid until)."""
    require(tx, "fact", [id for closed, closing, _ in closings for id in (closed, closing)])
    tx.run_many(
        "close_fact",
        (
            {"id": closed, "closed_by": closing, "valid_until": time_text(until)}
            for closed, closing, until in closings
        ),
    )


def entities(tx: Scoped) -> list[tuple[str, int]]:
    """Return names of entities with the number of their facts, most frequent first."""
    return [(row["name"], row["facts"]) for row in tx.rows("entities")]


def to_learn(tx: Scoped, task: str) -> list[Fact]:
    """Return the facts that a learning task has not seen."""
    return [read_fact(row) for row in tx.rows("facts_to_learn", task=task)]


def mark_learned(tx: Scoped, task: str, ids: Sequence[int]) -> None:
    """Note which facts a task has seen; one that was forgotten meanwhile is passed over."""
    present = tx.values("existing_facts", ids=ids)
    tx.run_many("mark_learned", ({"fact": id, "task": task} for id in present))


def require(tx: Scoped, what: str, ids: Sequence[int]) -> None:
    """Refuse to build on a turn or fact that is not (any more) in the scope.

    Raises:
        NotFound: names the ids that are missing.
    """
    missing = sorted(set(ids).difference(tx.values(f"existing_{what}s", ids=ids)))
    if missing:
        raise NotFound(
            f"No {what} {', '.join(map(str, missing))} in this scope; nothing was stored.",
            hint=f"The {what} may have been forgotten meanwhile: read again, then repeat.",
        )
