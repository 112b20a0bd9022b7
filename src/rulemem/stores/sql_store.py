"""`ports.Store` over named queries, whatever the engine that runs them.

One method is one transaction: it is opened here, and the rooms (`turns.py`, `facts.py`, ...) do
the work. An engine brings its `Transactions` and its SQL.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from rulemem.errors import InputError
from rulemem.ports import Embedder, IndexKind, Store
from rulemem.stores import facts as fact_room
from rulemem.stores import ledger, reembedding, removal, words
from rulemem.stores import rules as rule_room
from rulemem.stores import turns as turn_room
from rulemem.stores import vectors as vector_room
from rulemem.stores.transaction import Transactions
from rulemem.stores.vectors import Matrices, StoredEmbedder
from rulemem.types import (
    Answer,
    Cost,
    Fact,
    FactOutcome,
    HeadKey,
    Hit,
    Receipt,
    Rule,
    RuleStatus,
    Turn,
    TurnOutcome,
    TurnState,
)


class SqlStore(Store):
    """Fact memory and rule memory in a database. Each method is described in `ports.Store`."""

    def __init__(self, transactions: Transactions, embedder: StoredEmbedder) -> None:
        self._transactions = transactions
        self._embedder = embedder
        self._matrices = Matrices()

    # --- turns -----------------------------------------------------------------------------
    def add_turns(self, scope: str, turns: Sequence[Turn]) -> list[TurnOutcome]:
        with self._transactions.writing(scope, create=bool(turns)) as tx:
            return turn_room.add(tx, turns)

    def turns(
        self,
        scope: str,
        *,
        ids: Sequence[int] | None = None,
        conversation: str | None = None,
        state: TurnState | None = None,
    ) -> list[Turn]:
        with self._transactions.reading(scope) as tx:
            return turn_room.select(tx, ids, conversation, state)

    def mark_turns(
        self, scope: str, ids: Sequence[int], state: TurnState, reason: str = ""
    ) -> None:
        with self._transactions.writing(scope, create=False) as tx:
            tx.run("mark_turns", ids=ids, state=state, reason=reason)

    def predecessors(self, scope: str, ids: Sequence[int]) -> dict[int, int]:
        with self._transactions.reading(scope) as tx:
            return turn_room.predecessors(tx, ids)

    def speakers(self, scope: str) -> list[str]:
        with self._transactions.reading(scope) as tx:
            return [row["speaker"] for row in tx.rows("speakers")]

    # --- index -----------------------------------------------------------------------------
    def turns_without_vectors(self, scope: str) -> list[Turn]:
        with self._transactions.reading(scope) as tx:
            return turn_room.without_vectors(tx)

    def index_turns(
        self,
        scope: str,
        ids: Sequence[int],
        windows: Sequence[str],
        turn_vectors: NDArray[np.float32],
        window_vectors: NDArray[np.float32],
    ) -> None:
        if len(ids) != len(windows):
            raise InputError(f"{len(ids)} turns with {len(windows)} windows: one each is due.")
        pairs = list(zip(ids, windows, strict=True))
        with self._transactions.writing(scope, create=False) as tx:
            turn_room.index(tx, pairs, turn_vectors, window_vectors, self._embedder)

    def match_text(self, scope: str, kind: IndexKind, query: str, limit: int) -> list[Hit]:
        with self._transactions.reading(scope) as tx:
            return words.match(tx, kind, query, limit)

    def nearest(
        self, scope: str, kind: IndexKind, vectors: NDArray[np.float32], limit: int
    ) -> list[list[Hit]]:
        queries = vector_room.unit_rows(vectors, len(vectors), self._embedder)
        with self._transactions.reading(scope) as tx:
            vector_room.require_current(tx, self._embedder)
            items, rows = self._matrices.current(tx, kind, self._embedder)
        return vector_room.rank(items, rows, queries, limit)

    # --- facts -----------------------------------------------------------------------------
    def commit_facts(
        self,
        scope: str,
        facts: Sequence[Fact],
        vectors: NDArray[np.float32],
        extracted_turns: Sequence[int],
    ) -> list[FactOutcome]:
        with self._transactions.writing(scope, create=False) as tx:
            outcomes = fact_room.commit(tx, facts, vectors, self._embedder)
            tx.run("mark_turns", ids=extracted_turns, state="extracted", reason="")
            return outcomes

    def facts(
        self,
        scope: str,
        *,
        ids: Sequence[int] | None = None,
        turn_ids: Sequence[int] | None = None,
        entity: str | None = None,
    ) -> list[Fact]:
        with self._transactions.reading(scope) as tx:
            return fact_room.select(tx, ids, turn_ids, entity)

    def close_facts(self, scope: str, closings: Sequence[tuple[int, int, datetime | None]]) -> None:
        with self._transactions.writing(scope, create=False) as tx:
            fact_room.close(tx, closings)

    def entities(self, scope: str) -> list[tuple[str, int]]:
        with self._transactions.reading(scope) as tx:
            return fact_room.entities(tx)

    # --- rules -----------------------------------------------------------------------------
    def facts_to_learn(self, scope: str, task: str) -> list[Fact]:
        with self._transactions.reading(scope) as tx:
            return fact_room.to_learn(tx, task)

    def commit_rules(
        self,
        scope: str,
        rules: Sequence[Rule],
        key_vectors: NDArray[np.float32],
        head_vectors: NDArray[np.float32],
        *,
        task: str = "",
        learned_facts: Sequence[int] = (),
    ) -> list[int]:
        with self._transactions.writing(scope, create=bool(rules)) as tx:
            ids = rule_room.commit(tx, rules, key_vectors, head_vectors, self._embedder)
            fact_room.mark_learned(tx, task, learned_facts)
            return ids

    def rules(
        self,
        scope: str,
        *,
        ids: Sequence[int] | None = None,
        status: RuleStatus | None = None,
    ) -> list[Rule]:
        with self._transactions.reading(scope) as tx:
            return rule_room.select(tx, ids, status)

    def nearest_heads(
        self, scope: str, vector: NDArray[np.float32], limit: int, status: RuleStatus
    ) -> list[Hit]:
        query = vector_room.unit_rows(np.atleast_2d(vector), 1, self._embedder)
        with self._transactions.reading(scope) as tx:
            vector_room.require_current(tx, self._embedder)
            allowed = tx.values("rule_ids_in_status", status=status)
            items, rows = self._matrices.current(tx, "head", self._embedder)
        items, rows = vector_room.mask(items, rows, allowed)
        return vector_room.rank(items, rows, query, limit)[0]

    def set_rule_status(self, scope: str, id: int, status: RuleStatus) -> None:
        with self._transactions.writing(scope, create=False) as tx:
            rule_room.set_status(tx, id, status)

    def keys(self, scope: str, ids: Sequence[int]) -> list[HeadKey]:
        with self._transactions.reading(scope) as tx:
            return rule_room.keys(tx, ids)

    # --- answers, costs, housekeeping --------------------------------------------------------
    def save_answer(self, scope: str, answer: Answer) -> int:
        with self._transactions.writing(scope) as tx:
            return ledger.save_answer(tx, answer)

    def answer(self, scope: str, id: int) -> Answer:
        with self._transactions.reading(scope) as tx:
            return ledger.read_answer(tx, id)

    def add_cost(self, scope: str, stage: str, cost: Cost) -> None:
        with self._transactions.writing(scope) as tx:
            ledger.add_cost(tx, stage, cost)

    def costs(self, scope: str) -> dict[str, Cost]:
        with self._transactions.reading(scope) as tx:
            return ledger.costs(tx)

    def counts(self, scope: str) -> dict[str, int]:
        with self._transactions.reading(scope) as tx:
            return ledger.counts(tx)

    def scopes(self) -> list[str]:
        with self._transactions.reading(None) as tx:
            return [row["name"] for row in tx.rows("list_scopes")]

    def forget(
        self,
        scope: str,
        *,
        turn_ids: Sequence[int] | None = None,
        conversation: str | None = None,
        session: str | None = None,
    ) -> Receipt:
        with self._transactions.writing(scope, create=False) as tx:
            if turn_ids is None and conversation is None and session is None:
                receipt = removal.forget_scope(tx)
            else:
                receipt = removal.forget_turns(tx, turn_ids, conversation, session)
        self._matrices.drop(tx.scope)
        return receipt

    def reembed(self, embedder: Embedder) -> int:
        target, computed = reembedding.reembed(self._transactions, self._embedder, embedder)
        self._embedder = target
        self._matrices = Matrices()
        return computed
