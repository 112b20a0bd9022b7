"""Turns: stored once per identity, searchable at once, edited in place.

Embedding and extraction come later and are tracked here: `embedded` and `state`. What hangs on
an edited turn is removed by `removal.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rulemem.stores import removal, vectors, words
from rulemem.stores.records import read_turn, turn_columns
from rulemem.stores.transaction import Row, Scoped
from rulemem.stores.vectors import StoredEmbedder
from rulemem.types import Turn, TurnOutcome, TurnState

_CONTENT = ("speaker", "text", "caption", "said_at")


def add(tx: Scoped, turns: Sequence[Turn]) -> list[TurnOutcome]:
    """Store turns with their full text, one outcome per turn."""
    return [_add_one(tx, turn) for turn in turns]


def _add_one(tx: Scoped, turn: Turn) -> TurnOutcome:
    columns = turn_columns(turn)
    stored = tx.row("find_turn", conversation=turn.conversation, key=turn.key)
    if stored is None:
        id = tx.next_id("turn")
        tx.run("add_turn", id=id, **columns)
        words.add(tx, "turn", id, turn.line)
        return TurnOutcome(id=id, outcome="new")
    id = stored["id"]
    if all(stored[name] == columns[name] for name in _CONTENT):
        return TurnOutcome(id=id, outcome="unchanged")
    removal.remove_derived(tx, [id])
    words.remove(tx, "turn", [id])
    vectors.remove(tx, "turn", [id])
    tx.run("edit_turn", id=id, **columns)
    words.add(tx, "turn", id, turn.line)
    return TurnOutcome(id=id, outcome="edited")


def select(
    tx: Scoped,
    ids: Sequence[int] | None,
    conversation: str | None,
    state: TurnState | None,
) -> list[Turn]:
    """Return the turns that all given filters let through; unknown ids are left out."""
    if ids is not None:
        by_id = {row["id"]: read_turn(row) for row in tx.rows("turns_by_id", ids=ids)}
        turns = [by_id[id] for id in ids if id in by_id]
    else:
        turns = [read_turn(row) for row in _rows(tx, conversation, state)]
    return [
        turn
        for turn in turns
        if conversation in (None, turn.conversation) and state in (None, turn.state)
    ]


def _rows(tx: Scoped, conversation: str | None, state: TurnState | None) -> list[Row]:
    """Read by the filter that leaves least, so that each has its index."""
    if conversation is not None:
        return tx.rows("turns_of_conversation", conversation=conversation)
    if state is not None:
        return tx.rows("turns_in_state", state=state)
    return tx.rows("turns")


def predecessors(tx: Scoped, ids: Sequence[int]) -> dict[int, int]:
    """Return the turn before each of these within its session, where there is one."""
    return {row["turn"]: row["predecessor"] for row in tx.rows("predecessors", ids=ids)}


def without_vectors(tx: Scoped) -> list[Turn]:
    """Return the turns that are not embedded, or not any more."""
    return [read_turn(row) for row in tx.rows("turns_to_embed")]


def index(
    tx: Scoped,
    turns: Sequence[tuple[int, str]],
    turn_vectors: NDArray[np.float32],
    window_vectors: NDArray[np.float32],
    embedder: StoredEmbedder,
) -> None:
    """Add vectors and windows of turns, given as (id, text of the window).

    A turn that was forgotten meanwhile is passed over: there is nothing left to index.
    """
    turn_rows = vectors.unit_rows(turn_vectors, len(turns), embedder)
    window_rows = vectors.unit_rows(window_vectors, len(turns), embedder)
    present = set(tx.values("existing_turns", ids=[id for id, _ in turns]))
    last = {id: row for row, (id, _) in enumerate(turns) if id in present}
    ids, chosen = list(last), list(last.values())
    tx.run("delete_windows", turns=ids)
    tx.run_many("add_window", ({"turn": id, "text": turns[last[id]][1]} for id in ids))
    for id in ids:
        words.add(tx, "window", id, turns[last[id]][1])
    vectors.add(tx, "turn", ids, turn_rows[chosen], embedder)
    vectors.add(tx, "window", ids, window_rows[chosen], embedder)
    tx.run("mark_embedded", ids=ids)
